import type { ProviderFault, ProviderStats, Repeated } from "./provider-options.ts";

/** The provider's books: what was asked, refused, answered and billed, and which prefixes are cached. */

const keptWords = 20;
/** Places in front of a mark where a kept prefix is looked for. */
const lookback = 20;

export interface Billed {
  /** Digest of the request as it was answered. */
  digest: string;
  input: number;
  cached: number;
  output: number;
  /** `task#round`; absent for an answer that was no work. */
  round?: string;
  /** The text of a task's last answer. */
  final?: string;
}

export interface Ledger {
  requested(): number;
  refused(kind: string, words: string): void;
  failed(fault: ProviderFault): void;
  abandoned(): void;
  counted(): void;
  billed(answer: Billed): void;
  /**
   * Tokens of the longest prefix that an earlier request had too; remembers this one. With `ends` as at a
   * provider that caches where it is told: kept are the prefixes that end there, and each end finds a kept
   * one at most 20 places in front of it.
   */
  cached(chain: readonly string[], sums: readonly number[], ends?: readonly number[]): number;
  stats(): ProviderStats;
}

export function createLedger(): Ledger {
  const totals = {
    requests: 0,
    answered: 0,
    abandoned: 0,
    overflows: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    largestInput: 0,
    plain: 0,
    counted: 0,
  };
  const refusals = new Map<string, number>();
  const faults = new Map<string, number>();
  const completions = new Map<string, number>();
  const bodies = new Map<string, number>();
  const rounds = new Map<string, number>();
  const words: string[] = [];
  const prefixes = new Set<string>();

  return {
    requested: () => ++totals.requests,
    refused(kind, said) {
      if (kind === "overflow") totals.overflows++;
      else bump(refusals, kind);
      words.push(said);
      if (words.length > keptWords) words.shift();
    },
    failed: (fault) => bump(faults, fault.do === "status" ? String(fault.status) : fault.do),
    abandoned: () => void totals.abandoned++,
    counted: () => void totals.counted++,
    billed({ digest, input, cached, output, round, final }) {
      totals.answered++;
      totals.inputTokens += input;
      totals.cachedTokens += cached;
      totals.outputTokens += output;
      totals.largestInput = Math.max(totals.largestInput, input);
      bump(bodies, digest);
      if (round === undefined) totals.plain++;
      else bump(rounds, round);
      if (final !== undefined) bump(completions, final);
    },
    cached(chain, sums, ends) {
      if (ends !== undefined) {
        const found = ends.flatMap((end) => {
          for (let at = end; at >= Math.max(0, end - lookback); at--)
            if (prefixes.has(chain[at] ?? "")) return [sums[at] ?? 0];
          return [];
        });
        for (const end of ends) prefixes.add(chain[end] ?? "");
        return Math.max(0, ...found);
      }
      let deepest = -1;
      while (deepest + 1 < chain.length && prefixes.has(chain[deepest + 1] ?? "")) deepest++;
      for (const link of chain.slice(deepest + 1)) prefixes.add(link);
      return deepest < 0 ? 0 : (sums[deepest] ?? 0);
    },
    stats: () => ({
      ...totals,
      cachedShare: totals.inputTokens === 0 ? 0 : totals.cachedTokens / totals.inputTokens,
      refusals: Object.fromEntries(refusals),
      faults: Object.fromEntries(faults),
      completions: Object.fromEntries(completions),
      words: [...words],
      billed: { distinct: bodies.size, repeated: repeatedIn(bodies) },
      rounds: { distinct: rounds.size, repeated: repeatedIn(rounds) },
    }),
  };
}

function bump(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function repeatedIn(counts: ReadonlyMap<string, number>): Repeated[] {
  return [...counts].filter(([, times]) => times > 1).map(([key, times]) => ({ key, times }));
}

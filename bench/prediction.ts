/**
 * How well the meter foretells the next request: previous total + ratio x price of what was appended, on transcripts with
 * recorded usage. Pairs across a compaction, a change of model, a shrink or images are left out, and so are the files that the
 * manifest calls hand-made: nobody counted their usage.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Part } from "../src/dialects/dialect.ts";
import type { Meter } from "../src/meter/price.ts";
import { foldRatio, noSamples, priorRatio, type RatioState, ratioOf } from "../src/meter/ratio.ts";
import { type Entry, type Reply, readClaudeCode, readMiniSwe, readPi } from "./recorded.ts";

const transcripts = new URL("../../shared/transcripts/", import.meta.url);

/** A pair of requests: what is known before the second, and what its prompt then was. */
interface Pair {
  route: string;
  base: number;
  counted: number;
  actual: number;
}

interface Errors {
  mean: number;
  p95: number;
  worstUnder: number;
}

/** `before`: mean and worst under-count with prior and sums, as measured before this meter was built. */
const formats = [
  { name: "pi", folder: "pi", names: /\.jsonl$/, read: readPi, before: [0.03, -0.9] },
  {
    name: "claude-code",
    folder: "claude-code",
    names: /\.jsonl$/,
    read: readClaudeCode,
    before: [0.33, -10.1],
  },
  {
    name: "miniswe (DeepSeek)",
    folder: "openai-chat",
    names: /miniswe-/,
    read: readMiniSwe,
    before: [0.22, -5.7],
  },
] as const;

/** The recorded files of a folder, by name. */
function filesOf(folder: string, names: RegExp): string[] {
  const manifest = readFileSync(new URL("MANIFEST.tsv", transcripts), "utf8").split("\n");
  const handMade = new Set(
    manifest.filter((row) => row.includes("hand-made")).map((row) => row.split("\t")[0]),
  );
  const all = readdirSync(new URL(folder, transcripts)).map((file) => `${folder}/${file}`);
  return all.filter((file) => names.test(file) && !handMade.has(file));
}

function holdsMedia(parts: readonly Part[]): boolean {
  return parts.some((part) => part.type === "media" || (part.type === "result" && holdsMedia(part.content)));
}

function pairsOf(entries: readonly Entry[], meter: Meter): Pair[] {
  const pairs: Pair[] = [];
  let last: Reply | undefined;
  let appended: Part[][] = [];
  for (const entry of entries) {
    if (entry.type === "break") last = undefined;
    if (entry.type === "appended") appended.push(entry.parts);
    if (entry.type !== "reply") continue;
    if (last?.route === entry.route && last.prompt > 0 && entry.prompt >= last.prompt) {
      // A reply whose reported length cannot be trusted is counted like what was appended.
      const counted = last.output === undefined ? [last.parts, ...appended] : appended;
      if (!counted.some(holdsMedia)) {
        const tokens = counted.reduce((sum, parts) => sum + meter.message(parts).tokens, 0);
        const base = last.prompt + (last.output ?? 0);
        pairs.push({ route: entry.route, base, counted: tokens, actual: entry.prompt });
      }
    }
    last = entry;
    appended = [];
  }
  return pairs;
}

/** Errors in percent of the next prompt. */
function errorsOf(predicted: readonly { pair: Pair; tokens: number }[]): Errors {
  const errors = predicted.map(({ pair, tokens }) => (100 * (tokens - pair.actual)) / pair.actual);
  const sizes = errors.map(Math.abs).sort((a, b) => a - b);
  return {
    mean: sizes.reduce((sum, size) => sum + size, 0) / sizes.length,
    p95: sizes[Math.floor(0.95 * sizes.length)] ?? 0,
    worstUnder: Math.min(0, ...errors),
  };
}

/** The predictions of all pairs in order, each made before its own outcome is taken in. */
function foretell(pairs: readonly Pair[]): { pair: Pair; tokens: number }[] {
  const states = new Map<string, RatioState>();
  return pairs.map((pair) => {
    const state = states.get(pair.route) ?? noSamples;
    const tokens = pair.base + ratioOf(state, priorRatio(pair.route)) * pair.counted;
    states.set(pair.route, foldRatio(state, { reported: pair.actual - pair.base, counted: pair.counted }));
    return { pair, tokens };
  });
}

export function printPredictions(meter: Meter): void {
  console.log(
    "\nThe next request's prompt, predicted; errors in % of it: mean, 95th percentile, worst under-count\n",
  );
  if (!existsSync(transcripts)) {
    console.log("SKIPPED: ../shared/transcripts is not there");
    return;
  }
  const row = (cells: readonly string[]): void => console.log(cells.map((cell) => cell.padEnd(24)).join(""));
  const show = ({ mean, p95, worstUnder }: Errors): string =>
    `${mean.toFixed(2)}  ${p95.toFixed(2)}  ${worstUnder.toFixed(1)}`;
  row(["format", "pairs", "ratio 1", "family prior", "prior + fold", "before (mean, worst)"]);
  for (const { name, folder, names, read, before } of formats) {
    const files = filesOf(folder, names);
    const pairs = files.flatMap((file) =>
      pairsOf(read(readFileSync(new URL(file, transcripts), "utf8")), meter),
    );
    const fixed = (ratio: (pair: Pair) => number): Errors =>
      errorsOf(pairs.map((pair) => ({ pair, tokens: pair.base + ratio(pair) * pair.counted })));
    row([
      name,
      `${pairs.length} of ${files.length} files`,
      show(fixed(() => 1)),
      show(fixed((pair) => priorRatio(pair.route))),
      show(errorsOf(foretell(pairs))),
      before.join("  "),
    ]);
  }
}

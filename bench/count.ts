/**
 * Two tables: the exact counter inside workerd (speed, size, linearity, equality with the oracles), and how well the meter
 * foretells the next request on transcripts with recorded usage. `node bench/count.ts`; ends by itself.
 */
import { fileURLToPath } from "node:url";
import { countTokens as gptCount, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";
import { getEncoding } from "js-tiktoken";
import { unstable_startWorker } from "wrangler";
import { readVocabulary } from "../scripts/pack-vocabulary.ts";
import { createCounter } from "../src/meter/counter.ts";
import { createPieceEnd } from "../src/meter/pieces.ts";
import { createMeter } from "../src/meter/price.ts";
import { everyKind, ordinary } from "../test/meter/corpus.ts";
import { textOf } from "./count-texts.ts";
import type { Counted } from "./count-worker.ts";
import { printPredictions } from "./prediction.ts";

type Ask = <Answer>(path: string) => Promise<Answer>;

const UNITS = 120_000;
/** gpt-tokenizer is quadratic in a piece and js-tiktoken far more so; over these lengths of one piece they are not asked. */
const LONGEST_FOR = { gpt: 1024, js: 32 };

// Keeps a run without network quiet: the emulated request metadata would be fetched.
process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
setMergeCacheSize(0);
const pieceEnd = createPieceEnd();
const jsEncoding = getEncoding("o200k_base");

function longestPiece(text: string): number {
  let longest = 0;
  for (let from = 0; from < text.length; ) {
    const end = pieceEnd(text, from);
    longest = Math.max(longest, end - from);
    from = end;
  }
  return longest;
}

/** What the oracles say about the same text; a kind whose pieces are too long for them is asked about its first units only. */
async function compare(ask: Ask, full: Counted): Promise<{ same: boolean; verdict: string }> {
  const longest = longestPiece(textOf(full.kind, full.units));
  const whole = longest <= LONGEST_FOR.gpt;
  const ours = whole ? full : await countOf(ask, full.kind, LONGEST_FOR.gpt, 0);
  const text = textOf(full.kind, ours.units);
  const oracles = [gptCount(text, { disallowedSpecial: new Set() })];
  if (longest <= LONGEST_FOR.js && full.kind in ordinary)
    oracles.push(jsEncoding.encode(text, [], []).length);
  const same = oracles.every((tokens) => tokens === ours.tokens);
  const extent = whole ? "all" : `first ${LONGEST_FOR.gpt}`;
  return {
    same,
    verdict: same ? `= ${oracles.length} (${extent})` : `${ours.tokens} is not ${oracles.join(", ")}`,
  };
}

function countOf(ask: Ask, kind: string, units: number, ms: number): Promise<Counted> {
  return ask<Counted>(`/count?kind=${encodeURIComponent(kind)}&units=${units}&ms=${ms}`);
}

const speed = (row: Counted): number => row.bytes / row.ms / 1000;
const percent = (value: number): string => `${value < 0 ? "" : "+"}${(100 * value).toFixed(2)} %`;

function printRow(cells: readonly string[]): void {
  const widths = [24, 9, 9, 9, 9, 9];
  console.log(
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[i] ?? 0))).join("  "),
  );
}

async function benchKinds(ask: Ask): Promise<void> {
  console.log(
    `\nIn workerd, ${UNITS} units of each kind (sampled: error of the estimate at 400,000 units)\n`,
  );
  printRow(["kind", "MB/s", "Munits/s", "tokens", "tok/byte", "sampled", "oracles"]);
  let slowest = Number.POSITIVE_INFINITY;
  let differs = 0;
  for (const kind of Object.keys(everyKind)) {
    const row = await countOf(ask, kind, UNITS, 400);
    const large = await countOf(ask, kind, 400_000, 0);
    const { same, verdict } = await compare(ask, row);
    slowest = Math.min(slowest, speed(row));
    if (!same) differs++;
    printRow([
      kind,
      speed(row).toFixed(1),
      (row.units / row.ms / 1000).toFixed(1),
      String(row.tokens),
      (row.tokens / row.bytes).toFixed(3),
      percent(large.priced / large.tokens - 1),
      verdict,
    ]);
  }
  console.log(
    `\nslowest kind ${slowest.toFixed(1)} MB/s (goal 3); ${differs} kinds differ from an oracle (goal 0)`,
  );
}

async function benchLinear(ask: Ask): Promise<void> {
  const prose = await countOf(ask, "prose", 1_000_000, 300);
  const perUnit = (row: Counted): number => row.ms / row.units;
  console.log(
    "\nLinear: time per unit against prose, and against the same text at an eighth of the length\n",
  );
  printRow(["kind", "units", "ms", "x prose", "x itself"]);
  const cases = [
    ['repeated "a"', 1_000_000],
    ['repeated " "', 1_000_000],
    ["han", 24_000],
    ["han", 1_000_000],
    ["base64", 1_000_000],
    ["lone surrogates", 1_000_000],
    ["emoji joined", 1_000_000],
    ['repeated "A"', 8_000_000],
    ['repeated "中"', 8_000_000],
  ] as const;
  for (const [kind, units] of cases) {
    const row = await countOf(ask, kind, units, 300);
    const eighth = await countOf(ask, kind, units / 8, 300);
    const ratios = [perUnit(row) / perUnit(prose), perUnit(row) / perUnit(eighth)].map((ratio) =>
      ratio.toFixed(2),
    );
    printRow([kind, String(units), row.ms.toFixed(1), ...ratios]);
  }
}

async function benchBuild(ask: Ask): Promise<void> {
  const vocabulary = readVocabulary();
  const before = process.memoryUsage().arrayBuffers;
  const count = createCounter(vocabulary);
  const own = process.memoryUsage().arrayBuffers - before;
  count("keep");
  const cold = await ask<{ ms: number }>("/build");
  const warm = await ask<{ ms: number }>("/build");
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  console.log(`built in workerd: ${cold.ms.toFixed(1)} ms cold, ${warm.ms.toFixed(1)} ms again (goal 60)`);
  console.log(`typed arrays: ${mb(own)} + vocabulary ${mb(vocabulary.byteLength)} (goal 10 MB together)`);
}

const worker = await unstable_startWorker({
  config: fileURLToPath(new URL("count.toml", import.meta.url)),
  dev: { server: { port: 0 }, inspector: false, watch: false, logLevel: "error" },
});
try {
  const { href } = await worker.url;
  const ask: Ask = async <Answer>(path: string) =>
    (await (await fetch(new URL(path, href))).json()) as Answer;
  await benchBuild(ask);
  await benchKinds(ask);
  await benchLinear(ask);
} finally {
  await worker.dispose();
}
printPredictions(createMeter(createCounter(readVocabulary())));

/**
 * Measures the built-in summarizer on the transcripts: `node bench/extractive.ts [--window N]`. Each session
 * is played message by message: at the threshold the head is folded into a checkpoint, as the engine does,
 * and at the end it is asked what the last Surface still holds. A path counts as kept when the text holds it,
 * or when folder and name of a file list give it.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkpointCap } from "../src/compaction/checkpoint.ts";
import { extractiveCheckpoint, extractiveText } from "../src/compaction/extractive.ts";
import { type Facts, foldFacts, type SpanNode } from "../src/compaction/facts.ts";
import type { NativeMessage } from "../src/dialects/dialect.ts";
import { createCounter } from "../src/meter/counter.ts";
import { createMeter } from "../src/meter/price.ts";
import { type Kept, kept, namedPaths, parsed, pathsOf, strings } from "./path-recall.ts";
import { readTranscripts, type Transcript } from "./transcript-reader.ts";

const vocabulary = readFileSync(new URL("../src/meter/o200k_base.bin", import.meta.url));
export const count = createCounter(
  vocabulary.buffer.slice(
    vocabulary.byteOffset,
    vocabulary.byteOffset + vocabulary.byteLength,
  ) as ArrayBuffer,
);
const meter = createMeter(count);

export interface Played {
  file: string;
  compactions: number;
  /** Exact tokens of each checkpoint's frame and of its text, and of the spans they stand for. */
  frames: number[];
  texts: number[];
  caps: number[];
  /** Largest fold as JSON, in bytes; milliseconds of folding and writing, one entry per compaction. */
  factsBytes: number;
  foldMs: number[];
  textMs: number[];
  /**
   * Paths in arguments named like paths; those and paths in commands; those and all else that looks like one.
   */
  named: Kept;
  used: Kept;
  all: Kept;
  first200: boolean;
  newestStated: boolean;
}

const RESERVED = 4_096;

/** Plays one session against a window. Undefined when it never reaches the threshold. */
export function play({ file, nodes }: Transcript, window: number): Played | undefined {
  const ceiling = window - Math.min(RESERVED, window / 4);
  const threshold = Math.floor(0.8 * ceiling);
  const enough = Math.floor(0.9 * threshold);
  const retain = Math.min(0.16 * ceiling, threshold / 2);
  const prices = nodes.map(({ message }) => meter.message(message.parts).tokens);
  const open = openAfter(nodes);
  const played: Omit<Played, "named" | "used" | "all" | "first200" | "newestStated"> = {
    file,
    compactions: 0,
    frames: [],
    texts: [],
    caps: [],
    factsBytes: 0,
    foldMs: [],
    textMs: [],
  };
  let facts: Facts | undefined;
  let checkpoint = "";
  let from = 0;
  let held = 0;
  for (let at = 0; at < nodes.length; at++) {
    held += prices[at]!;
    if (held < threshold || open[at] !== 0) continue;
    let cut = at + 1;
    let tail = 0;
    while (cut > from + 1 && tail < retain) tail += prices[--cut]!;
    while (cut > from && open[cut - 1] !== 0) tail += prices[--cut]!;
    if (cut <= from) continue;
    const span = nodes.slice(from, cut);
    const cap = checkpointCap({ maxTokens: 8_192, target: enough, ceiling, envelope: 0, tail, batch: 0 });
    const label = { by: "extractive", from: 1, to: cut, messages: span.length };
    const start = performance.now();
    facts = foldFacts(facts, span);
    const folded = performance.now();
    const framed = extractiveCheckpoint({ facts, cap, count, label });
    played.textMs.push(performance.now() - folded);
    played.foldMs.push(folded - start);
    played.frames.push(framed.tokens);
    played.texts.push(count(extractiveText(facts, cap, count)));
    played.caps.push(cap);
    played.factsBytes = Math.max(played.factsBytes, Buffer.byteLength(JSON.stringify(facts)));
    played.compactions++;
    checkpoint = framed.text;
    from = cut;
    held = framed.tokens + 12 + tail;
  }
  return facts === undefined ? undefined : { ...played, ...judge(nodes, from, facts, checkpoint) };
}

function openAfter(nodes: readonly SpanNode[]): number[] {
  const open = new Set<string>();
  return nodes.map(({ message }) => {
    for (const id of message.results) open.delete(id);
    for (const id of message.calls) open.add(id);
    return open.size;
  });
}

function judge(nodes: readonly SpanNode[], from: number, facts: Facts, checkpoint: string) {
  const tail = nodes
    .slice(from)
    .map(({ message }) => plainText(message))
    .join("\n");
  const first = nodes.map(({ message }) => typed(message)).find((text) => text !== undefined) ?? "";
  const span = nodes.slice(0, from);
  const newest = facts.requests.findLast(({ noise }) => noise === undefined) ?? facts.requests.at(-1);
  return {
    named: kept(nodes, span, namedPaths, checkpoint, tail),
    used: kept(nodes, span, (part) => pathsOf(part, /^(?:command|cmd)$/), checkpoint, tail),
    all: kept(nodes, span, (part) => pathsOf(part, /./), checkpoint, tail),
    first200: checkpoint.includes(first.slice(0, 200)),
    newestStated: newest !== undefined && checkpoint.includes(newest.text.slice(0, 200)),
  };
}

function plainText(message: NativeMessage): string {
  return message.parts
    .map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "call") return strings(parsed(part.args)).join("\n");
      return part.type === "result"
        ? part.content.map((c) => (c.type === "text" ? c.text : "")).join("\n")
        : "";
    })
    .join("\n");
}

function typed(message: NativeMessage): string | undefined {
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return message.role === "user" && text.trim() !== "" ? text : undefined;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / Math.max(1, values.length);
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const percent = (part: number, whole: number): string =>
  whole === 0 ? "-" : `${((100 * part) / whole).toFixed(0)} %`;

function shareOf({ surface, paths }: Kept): number[] {
  return paths > 0 ? [surface / paths] : [];
}

function report(window: number): void {
  const sessions = readTranscripts().flatMap((transcript) => play(transcript, window) ?? []);
  const row = (p: Played): string =>
    [
      p.file.slice(0, 34).padEnd(34),
      `${p.compactions}`.padStart(3),
      `${Math.round(mean(p.frames))}`.padStart(6),
      `${Math.round(mean(p.texts))}`.padStart(6),
      ...(["named", "used", "all"] as const).map((kind) =>
        percent(p[kind].spanKept, p[kind].spanPaths).padStart(6),
      ),
      ...(["named", "used", "all"] as const).map((kind) =>
        percent(p[kind].surface, p[kind].paths).padStart(6),
      ),
      p.first200 ? " yes" : "  NO",
    ].join(" ");
  console.log(`window ${window}: ${sessions.length} sessions that compact`);
  console.log(
    `${"file".padEnd(35)}  n  frame   text    span: named, used, all  Surface: named, used, all  first 200`,
  );
  for (const session of sessions) console.log(row(session));
  const total = (pick: (p: Played) => number): number => sum(sessions.map(pick));
  const kept = (kind: "named" | "used" | "all"): string =>
    `${kind} paths: ${percent(
      total((p) => p[kind].spanKept),
      total((p) => p[kind].spanPaths),
    )} of the span's in the checkpoint, ` +
    `${percent(
      total((p) => p[kind].surface),
      total((p) => p[kind].paths),
    )} of all in the last Surface` +
    ` (mean of sessions ${percent(mean(sessions.flatMap((p) => shareOf(p[kind]))), 1)})`;
  console.log(kept("named"));
  console.log(kept("used"));
  console.log(kept("all"));
  const over = sessions.flatMap((p) => p.frames.filter((tokens, at) => tokens > p.caps[at]!)).length;
  const first = total((p) => (p.first200 ? 1 : 0));
  console.log(
    `first 200 characters of the first request: ${first}/${sessions.length}; over the cap: ${over}`,
  );
  for (const figure of ["frames", "texts", "foldMs", "textMs"] as const) {
    const values = sessions.flatMap((p) => p[figure]);
    const [middle, average, most] = [median(values), mean(values), Math.max(...values)].map((value) =>
      value.toFixed(1),
    );
    console.log(`${figure.padEnd(7)} median ${middle}, mean ${average}, max ${most}`);
  }
  console.log(`facts at most ${Math.max(...sessions.map((p) => p.factsBytes))} bytes`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const at = process.argv.indexOf("--window");
  for (const window of at < 0 ? [32_000, 128_000] : [Number(process.argv[at + 1])]) report(window);
}

/**
 * Measures the built-in summarizer on the transcripts: `node bench/extractive.ts [--window N]`. Each session is played message by
 * message: at the threshold the head is folded into a checkpoint, as the engine does, and at the end it is asked what the last
 * Surface still holds. A path counts as kept when the text holds it, or when folder and name of a file list give it.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkpointCap } from "../src/compaction/checkpoint.ts";
import { extractiveCheckpoint, extractiveText } from "../src/compaction/extractive.ts";
import { type Facts, foldFacts, type SpanNode } from "../src/compaction/facts.ts";
import type { NativeMessage } from "../src/dialects/dialect.ts";
import { createCounter } from "../src/meter/counter.ts";
import { createMeter } from "../src/meter/price.ts";
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
  /** Paths in arguments named like paths; those and paths in commands; those and all else that looks like one. */
  named: Kept;
  used: Kept;
  all: Kept;
  first200: boolean;
  newestStated: boolean;
}

interface Kept {
  paths: number;
  checkpoint: number;
  surface: number;
  /** Of the paths that stand behind the last checkpoint. */
  spanPaths: number;
  spanKept: number;
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

function kept(
  nodes: readonly SpanNode[],
  span: readonly SpanNode[],
  find: (nodes: readonly SpanNode[]) => Set<string>,
  checkpoint: string,
  tail: string,
): Kept {
  const listed = listedPaths(checkpoint);
  const has = (path: string): boolean =>
    checkpoint.includes(path) || listed.some((known) => samePath(known, path));
  const paths = [...find(nodes)];
  const before = [...find(span)];
  return {
    paths: paths.length,
    checkpoint: paths.filter(has).length,
    surface: paths.filter((path) => tail.includes(path) || has(path)).length,
    spanPaths: before.length,
    spanKept: before.filter(has).length,
  };
}

/** The paths that a reader of the file list puts together: folder plus name, below the shared folder unless rooted. */
export function listedPaths(text: string): string[] {
  const list = /## Files\n([\s\S]*?)(?:\n\n|$)/.exec(text)?.[1] ?? "";
  const root = /^\(below (.*)\/ unless rooted\)$/m.exec(list)?.[1] ?? "";
  return list.split("\n").flatMap((line) => {
    if (/^$|^\(.*\)$|^(?:changed|read|searched):$/.test(line)) return [];
    const [, folder = "", names = ""] = /^(?:(.*)\/: )?(.*)$/.exec(line) ?? [];
    return names.split(", ").map((marked) => {
      const path = (folder === "" ? "" : `${folder}/`) + marked.replace(/ \((?:new|deleted)\)$/, "");
      return root === "" || path.startsWith("/") ? path : `${root}/${path.replace(/^\.\//, "")}`;
    });
  });
}

function samePath(known: string, path: string): boolean {
  const plain = path
    .replace(/^file:\/\//, "")
    .replace(/^\.\//, "")
    .replace(/\/$/, "");
  return known === plain || known.endsWith(`/${plain}`) || known.startsWith(`${plain}/`);
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

function calls(nodes: readonly SpanNode[]): { args: string }[] {
  return nodes.flatMap(({ message }) =>
    message.parts.flatMap((part) => (part.type === "call" ? [part] : [])),
  );
}

/** Values of arguments that are named like paths. */
function namedPaths(nodes: readonly SpanNode[]): Set<string> {
  const found = new Set<string>();
  for (const { args } of calls(nodes)) {
    for (const [key, value] of Object.entries(parsed(args))) {
      if (/^(?:file_?path|path|file|filename|notebook_path)$/i.test(key) && typeof value === "string")
        found.add(value);
    }
  }
  return found;
}

const looksLikeFile =
  /(?<![\w:/.@"'`|(-])(?:~|\.{1,2})?\/?(?:[\w.@+-]+\/)+[\w@+-][\w.@+-]*\.[A-Za-z]{1,5}\b(?![/(])/g;

/**
 * Named paths, and all that looks like one (folders, a name, an ending, no quote in front: most of those are imports) in the
 * arguments of these keys, scripts and contents too.
 */
function pathsOf(nodes: readonly SpanNode[], keys: RegExp): Set<string> {
  const found = namedPaths(nodes);
  for (const { args } of calls(nodes)) {
    for (const [key, value] of Object.entries(parsed(args))) {
      if (!keys.test(key)) continue;
      for (const text of strings(value)) for (const [path] of text.matchAll(looksLikeFile)) found.add(path);
    }
  }
  return found;
}

function parsed(args: string): Record<string, unknown> {
  try {
    return JSON.parse(args) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / Math.max(1, values.length);
const percent = (part: number, whole: number): string =>
  whole === 0 ? "-" : `${((100 * part) / whole).toFixed(0)} %`;

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
    "file                                 n  frame   text    span: named, used, all  Surface: named, used, all  first 200",
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
    ` (mean of sessions ${percent(mean(sessions.flatMap((p) => (p[kind].paths > 0 ? [p[kind].surface / p[kind].paths] : []))), 1)})`;
  console.log(kept("named"));
  console.log(kept("used"));
  console.log(kept("all"));
  const frames = sessions.flatMap((p) => p.frames);
  const texts = sessions.flatMap((p) => p.texts);
  const over = sessions.flatMap((p) => p.frames.filter((tokens, at) => tokens > p.caps[at]!)).length;
  console.log(
    `first 200 characters of the first request: ${total((p) => (p.first200 ? 1 : 0))}/${sessions.length}; over the cap: ${over}`,
  );
  console.log(
    `tokens: frame mean ${mean(frames).toFixed(0)} max ${Math.max(...frames)}, text alone mean ${mean(texts).toFixed(0)} max ${Math.max(...texts)}; facts at most ${Math.max(...sessions.map((p) => p.factsBytes))} bytes`,
  );
  console.log(
    `ms per compaction: fold mean ${mean(sessions.flatMap((p) => p.foldMs)).toFixed(2)}, text and frame mean ${mean(sessions.flatMap((p) => p.textMs)).toFixed(2)} max ${Math.max(...sessions.flatMap((p) => p.textMs)).toFixed(1)}`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const at = process.argv.indexOf("--window");
  for (const window of at < 0 ? [32_000, 128_000] : [Number(process.argv[at + 1])]) report(window);
}

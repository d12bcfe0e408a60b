/**
 * Checkers of the house: each takes files (path -> text) as plain data and answers what is wrong, one
 * sentence each.
 */
import { posix } from "node:path";

export type Files = ReadonlyMap<string, string>;

export interface Layer {
  /** What belongs to it; the first layer that matches a file has it. */
  readonly files: RegExp;
  /** Layers it may import from, besides itself. */
  readonly may: readonly string[];
}

export interface Edge {
  from: string;
  to: string;
}

/** Source without comments, as far as a formatter's layout shows them; strings stay. */
function codeOf(text: string): string {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, "")
    .split("\n")
    .map((line) => (/^\s*(\/\/|\*)/.test(line) ? "" : line.replace(/\s\/\/ .*$/, "")))
    .join("\n");
}

/** Specifiers of all static and dynamic imports and of re-exports. */
export function importsOf(text: string): string[] {
  const code = codeOf(text);
  const statics = code.matchAll(/^\s*(?:import|export)\s+(?:[^"';]*?\sfrom\s*)?["']([^"']+)["']/gm);
  const dynamics = code.matchAll(/\bimport\(\s*["'`]([^"'`]+)["'`]/g);
  return [...statics, ...dynamics].map((match) => match[1] ?? "");
}

/**
 * Imports between the files; what is not among them (packages, other folders) comes back as it was written.
 */
export function edgesOf(files: Files): Edge[] {
  const edges: Edge[] = [];
  for (const [from, text] of files) {
    for (const specifier of importsOf(text)) {
      const to = specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : specifier;
      edges.push({ from, to });
    }
  }
  return edges;
}

function layerOf(path: string, layers: Readonly<Record<string, Layer>>): string | undefined {
  return Object.keys(layers).find((name) => layers[name]?.files.test(path));
}

/** Imports that point the wrong way, and files without a place. `free` may be imported from anywhere. */
export function wrongArrows(
  files: Files,
  layers: Readonly<Record<string, Layer>>,
  free: ReadonlySet<string>,
): string[] {
  const wrong: string[] = [];
  for (const path of files.keys()) {
    if (!free.has(path) && layerOf(path, layers) === undefined) wrong.push(`${path} belongs to no layer`);
  }
  for (const { from, to } of edgesOf(files)) {
    if (!to.includes("/") || free.has(to) || !/^(src|test|cli|bench|scripts)\//.test(to)) continue;
    const target = layerOf(to, layers);
    const source = layerOf(from, layers);
    const own = free.has(from) ? [] : [source, ...(layers[source ?? ""]?.may ?? [])];
    if (target === undefined || !own.includes(target)) {
      wrong.push(`${from} imports ${to}: ${source ?? "a free file"} -> ${target ?? "outside src"}`);
    }
  }
  return wrong;
}

/** One cycle of imports as a list of files, its first file again at the end; undefined when there is none. */
export function cycleIn(files: Files): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const path of files.keys()) next.set(path, []);
  for (const { from, to } of edgesOf(files)) if (files.has(to)) next.get(from)?.push(to);
  const done = new Set<string>();
  for (const start of next.keys()) {
    const path: string[] = [];
    const stack: [string, boolean][] = [[start, false]];
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      const [file, leaving] = top;
      if (leaving) {
        done.add(file);
        path.pop();
      } else if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
      else if (!done.has(file)) {
        path.push(file);
        stack.push([file, true]);
        for (const child of next.get(file) ?? []) stack.push([child, false]);
      }
    }
  }
  return undefined;
}

const impure: readonly (readonly [string, RegExp])[] = [
  ["await", /\bawait\b/],
  ["async", /\basync\b/],
  ["a clock", /\bDate\.now\b|\bnew Date\(|\bperformance\.now\b/],
  ["a timer", /\bset(Timeout|Interval)\b/],
  ["randomness", /\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b|\brandomBytes\b/],
  ["the network", /(?<!\.)\bfetch\(/],
  ["the runtime", /cloudflare:workers/],
  ["storage", /\bctx\.storage\b|\bSqlStorage\b/],
];

/** What a pure file may not know: clock, randomness, network, runtime, storage, waiting. */
export function impurities(files: Files, isPure: (path: string) => boolean): string[] {
  const found: string[] = [];
  for (const [path, text] of files) {
    if (!isPure(path)) continue;
    const code = codeOf(text).split("\n");
    for (const [what, pattern] of impure) {
      const line = code.findIndex((candidate) => pattern.test(candidate));
      if (line >= 0) found.push(`${path} knows ${what}`);
    }
  }
  return found;
}

export function tooLong(files: Files, limit: number): string[] {
  return [...files]
    .map(([path, text]) => ({ path, lines: text.split("\n").length - (text.endsWith("\n") ? 1 : 0) }))
    .filter(({ lines }) => lines > limit)
    .map(({ path, lines }) => `${path} has ${lines} lines`);
}

/**
 * Rules without a test and tests of rules that are not written down. A rule stands at the start of a line:
 * `- [M3] …`.
 */
export function ruleGaps(spec: string, tests: Files): string[] {
  const written = new Set<string>();
  const gaps: string[] = [];
  for (const [, rule = ""] of spec.matchAll(/^\s*(?:[-*|]\s*)?(?:\*\*|`)?\[([LBPMCTOVGW]\d+)\]/gm)) {
    if (written.has(rule)) gaps.push(`SPEC.md writes [${rule}] twice`);
    written.add(rule);
  }
  const tested = new Map<string, string>();
  for (const [path, text] of tests) {
    for (const [, rule = ""] of text.matchAll(/["'`\]\s]\[([LBPMCTOVGW]\d+)\]/g)) tested.set(rule, path);
  }
  for (const rule of written) if (!tested.has(rule)) gaps.push(`[${rule}] of SPEC.md has no test`);
  for (const [rule, path] of tested)
    if (!written.has(rule)) gaps.push(`[${rule}] of ${path} is not in SPEC.md`);
  return gaps;
}

/** Files that name a place of one machine. */
export function machinePaths(files: Files, places: readonly string[]): string[] {
  return [...files].flatMap(([path, text]) =>
    places.filter((place) => text.includes(place)).map((place) => `${path} names ${place}`),
  );
}

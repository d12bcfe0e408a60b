/** Which file paths of a session a text still holds: for the bench of the built-in summary, and its test. */
import type { SpanNode } from "../src/compaction/facts.ts";

export interface Kept {
  paths: number;
  checkpoint: number;
  surface: number;
  /** Of the paths that stand behind the last checkpoint. */
  spanPaths: number;
  spanKept: number;
}

export function kept(
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

/**
 * The paths that a reader of the file list puts together: folder plus name, below the shared folder unless
 * rooted.
 */
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

function calls(nodes: readonly SpanNode[]): { args: string }[] {
  return nodes.flatMap(({ message }) =>
    message.parts.flatMap((part) => (part.type === "call" ? [part] : [])),
  );
}

/** Values of arguments that are named like paths. */
export function namedPaths(nodes: readonly SpanNode[]): Set<string> {
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
 * Named paths, and all that looks like one (folders, a name, an ending, no quote in front: most of those are
 * imports) in the arguments of these keys, scripts and contents too.
 */
export function pathsOf(nodes: readonly SpanNode[], keys: RegExp): Set<string> {
  const found = namedPaths(nodes);
  for (const { args } of calls(nodes)) {
    for (const [key, value] of Object.entries(parsed(args))) {
      if (!keys.test(key)) continue;
      for (const text of strings(value)) for (const [path] of text.matchAll(looksLikeFile)) found.add(path);
    }
  }
  return found;
}

export function parsed(args: string): Record<string, unknown> {
  try {
    return JSON.parse(args) as Record<string, unknown>;
  } catch {
    return {};
  }
}

export function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

/**
 * The ledger of files: each path once, with the strongest thing done to it and when it was last touched. Kept
 * as a tree of operation, folder and name, which is a third of the size of a list of paths.
 */
import { normalPath } from "./paths.ts";

export const fileOperations = ["created", "written", "deleted", "read", "searched"] as const;
export type FileOperation = (typeof fileOperations)[number];

export interface FileTouch {
  path: string;
  operation: FileOperation;
}

export interface FileFact extends FileTouch {
  seq: number;
}

/** operation -> folder ("" for none) -> name -> seq of the last touch. */
export type FileTree = Partial<Record<FileOperation, Record<string, Record<string, number>>>>;

const MAX_FILES = 256;
const MAX_BYTES = 8_192;

const utf8 = new TextEncoder();

/** The files of a tree, the least recently touched first. */
export function filesOf(tree: FileTree): FileFact[] {
  const files: FileFact[] = [];
  for (const operation of fileOperations) {
    for (const [folder, names] of Object.entries(tree[operation] ?? {})) {
      for (const [name, seq] of Object.entries(names)) {
        files.push({ path: pathOf(folder, name), operation, seq });
      }
    }
  }
  return files.sort((a, b) => a.seq - b.seq || (a.path < b.path ? -1 : 1));
}

export class FileLedger {
  readonly #files = new Map<string, { operation: FileOperation; seq: number }>();

  constructor(tree: FileTree) {
    for (const { path, operation, seq } of filesOf(tree)) this.#files.set(path, { operation, seq });
  }

  /** Notes a touch. A path that is none is dropped whole. */
  touch({ path: raw, operation }: FileTouch, seq: number): void {
    const path = normalPath(raw);
    if (path === undefined) return;
    const before = this.#files.get(path)?.operation;
    this.#files.delete(path);
    this.#files.set(path, { operation: stronger(before, operation), seq });
  }

  /**
   * The newest that fit, and how many do not. Files that were only looked at go before files that were
   * changed.
   */
  close(): { tree: FileTree; dropped: number } {
    const all = [...this.#files].map(([path, file]) => ({ path, ...file }));
    let kept = newest(all, MAX_FILES);
    let tree = treeOf(kept);
    while (utf8.encode(JSON.stringify(tree)).length > MAX_BYTES) {
      kept = newest(kept, Math.floor(kept.length * 0.94));
      tree = treeOf(kept);
    }
    return { tree, dropped: all.length - kept.length };
  }
}

/** A look never hides a change: what was changed stays so, until it is deleted or made anew. */
function stronger(before: FileOperation | undefined, now: FileOperation): FileOperation {
  const looks = now === "read" || now === "searched";
  if (before === undefined) return now;
  if (looks) return before === "searched" ? now : before;
  if (now === "written" && before === "created") return "created";
  if (now === "created" && before === "written") return "written";
  return now;
}

/** The newest `max`; changed files stay longer than others while they are at most half of them. */
function newest(files: readonly FileFact[], max: number): FileFact[] {
  let surplus = files.length - max;
  if (surplus <= 0) return [...files];
  const changed = files.filter(isChange).length;
  let spare = Math.max(0, changed - Math.floor(max / 2));
  return files.filter((file) => {
    if (surplus === 0) return true;
    if (isChange(file)) {
      if (spare === 0) return true;
      spare--;
    }
    surplus--;
    return false;
  });
}

export function isChange({ operation }: FileTouch): boolean {
  return operation !== "read" && operation !== "searched";
}

function treeOf(files: readonly FileFact[]): FileTree {
  const tree = new Map<FileOperation, Map<string, Map<string, number>>>();
  for (const { path, operation, seq } of files) {
    const slash = path.lastIndexOf("/");
    const folder = slash < 0 ? "" : slash === 0 ? "/" : path.slice(0, slash);
    const folders = tree.get(operation) ?? new Map<string, Map<string, number>>();
    const names = folders.get(folder) ?? new Map<string, number>();
    tree.set(operation, folders.set(folder, names.set(path.slice(slash + 1), seq)));
  }
  const plain = [...tree].map(([operation, folders]) => [
    operation,
    Object.fromEntries([...folders].map(([folder, names]) => [folder, Object.fromEntries(names)])),
  ]);
  return Object.fromEntries(plain) as FileTree;
}

function pathOf(folder: string, name: string): string {
  if (folder === "") return name;
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/**
 * Many file paths in few tokens: the folder that most of them share is written once, and each folder once per
 * kind. A path is folder plus name, and both stand there whole, so that a reader can put every path together
 * again.
 */
import { type FileFact, type FileOperation, isChange } from "./facts/files.ts";

type Count = (text: string) => number;

export interface FileList {
  text: string;
  /** Files that did not fit. */
  left: number;
}

const kinds = ["changed", "read", "searched"] as const;
type Kind = (typeof kinds)[number];

const marks: Partial<Record<FileOperation, string>> = { created: " (new)", deleted: " (deleted)" };

/** Tokens that the shared folder, the notes and the joints of the list take. */
const FRAME = 24;

/**
 * The list within about `max` tokens: changed files first, then read, then searched ones, of each kind the
 * newest.
 */
export function fileList(files: readonly FileFact[], max: number, count: Count): FileList {
  const known = withoutFolders(united(files));
  const root = sharedFolder(known.map(({ path }) => path));
  const shown = select(known, root, max - FRAME - count(root), count);
  const lines = kinds.flatMap((kind) => linesOf(kind, shown));
  const left = known.length - shown.length;
  if (lines.length === 0) return { text: "", left };
  const below = root === "" ? "" : `(below ${root}/ unless rooted)\n`;
  return { text: below + lines.join("\n"), left };
}

interface Entry {
  kind: Kind;
  folder: string;
  name: string;
}

function select(files: readonly FileFact[], root: string, max: number, count: Count): Entry[] {
  let room = max;
  const folders = new Set<string>();
  const shown: Entry[] = [];
  for (const kind of kinds) {
    const ofKind = files.filter((file) => kindOf(file) === kind).reverse();
    const [passing, lasting] = [ofKind.filter(isPassing), ofKind.filter((file) => !isPassing(file))];
    for (const file of [...lasting, ...passing]) {
      const entry = entryOf(file, kind, root);
      const key = `${kind}:${entry.folder}`;
      const opens = folders.has(key) ? 0 : count(`\n${entry.folder}/: `) + (folders.size === 0 ? 4 : 0);
      const cost = opens + count(`, ${entry.name}`);
      if (cost > room) continue;
      room -= cost;
      folders.add(key);
      shown.push(entry);
    }
  }
  return shown;
}

/** A file of the moment, such as a screenshot or a tool's own output: named last. */
function isPassing({ path }: FileFact): boolean {
  return /^(?:\/private)?\/(?:tmp|var)\//.test(path);
}

function kindOf(file: FileFact): Kind {
  if (isChange(file)) return "changed";
  return file.operation === "read" ? "read" : "searched";
}

function entryOf({ path, operation }: FileFact, kind: Kind, root: string): Entry {
  const below = root !== "" && path.startsWith(`${root}/`);
  const shown = below
    ? path.slice(root.length + 1)
    : root === "" || path.startsWith("/")
      ? path
      : `./${path}`;
  const slash = shown.lastIndexOf("/");
  const mark = marks[operation] ?? "";
  return { kind, folder: slash < 0 ? "." : shown.slice(0, slash), name: shown.slice(slash + 1) + mark };
}

/** One line per folder, in the order of the alphabet so that the text stays as it is while the files do. */
function linesOf(kind: Kind, entries: readonly Entry[]): string[] {
  const folders = new Map<string, string[]>();
  for (const entry of entries) {
    if (entry.kind !== kind) continue;
    folders.set(entry.folder, [...(folders.get(entry.folder) ?? []), entry.name]);
  }
  if (folders.size === 0) return [];
  const lines = [...folders]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, names]) => lineOf(folder, names.sort()));
  return [`${kind}:`, ...lines];
}

function lineOf(folder: string, names: readonly string[]): string {
  const list = names.join(", ");
  if (folder === ".") return list;
  return names.length === 1 ? `${folder}/${list}` : `${folder}/: ${list}`;
}

/**
 * A relative path that one rooted path ends with is the same file: commands and tools name it differently.
 */
function united(files: readonly FileFact[]): FileFact[] {
  const rooted = new Map<string, FileFact[]>();
  const all = new Map(files.map((file) => [file.path, file]));
  for (const file of files) {
    if (!file.path.startsWith("/")) continue;
    const name = nameOf(file.path);
    rooted.set(name, [...(rooted.get(name) ?? []), file]);
  }
  for (const file of files) {
    if (file.path.startsWith("/")) continue;
    const twins = (rooted.get(nameOf(file.path)) ?? []).filter(({ path }) => path.endsWith(`/${file.path}`));
    if (twins.length !== 1) continue;
    const twin = all.get(twins[0]!.path)!;
    const operation = isChange(twin) || !isChange(file) ? twin.operation : file.operation;
    all.delete(file.path);
    all.set(twin.path, { path: twin.path, operation, seq: Math.max(twin.seq, file.seq) });
  }
  return [...all.values()].sort((a, b) => a.seq - b.seq);
}

/** A folder that was looked through or made says nothing beside a file in it. */
function withoutFolders(files: readonly FileFact[]): FileFact[] {
  const folders = new Set(files.flatMap(({ path }) => ancestors(path)));
  return files.filter(({ path, operation }) => operation === "deleted" || !folders.has(path));
}

/** The deepest folder that holds two thirds of the rooted paths, "" when there is none worth a line. */
function sharedFolder(paths: readonly string[]): string {
  const rooted = paths.filter((path) => path.startsWith("/"));
  const counts = new Map<string, number>();
  for (const path of rooted) {
    for (const folder of ancestors(path)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  let best = "";
  for (const [folder, held] of counts) {
    if (held >= 3 && held * 3 >= rooted.length * 2 && folder.length > best.length) best = folder;
  }
  return best;
}

function ancestors(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    folders.push(path.slice(0, at));
  return folders;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

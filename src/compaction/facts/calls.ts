/**
 * What a tool call is about, by its name and its arguments: files, a command, a task list. No harness is
 * known by name.
 */
import { oneLine } from "../clip.ts";
import { commandFiles } from "./command-files.ts";
import type { FileOperation, FileTouch } from "./files.ts";
import { type PlanChange, planChange } from "./plan.ts";

export interface CallFacts {
  touches: FileTouch[];
  /** The call on one line, when it is a deed that the files and the task list do not already tell. */
  line?: string;
  /** What ran stands in front of a pipe, so that its end says nothing about it. */
  piped?: boolean;
  plan?: PlanChange;
}

const MAX_LINE = 160;

const pathKeys = new Set([
  "path",
  "file",
  "filepath",
  "filename",
  "notebookpath",
  "targetfile",
  "abspath",
  "absolutepath",
  "relativepath",
  "relativeworkspacepath",
  "oldpath",
  "newpath",
  "sourcepath",
  "destinationpath",
  "uri",
  "paths",
  "files",
  "filepaths",
  "directory",
  "dir",
  "folder",
  "dirpath",
  "targetdirectory",
]);
/** Keys of the folder that a command runs in. */
const folderKeys = new Set(["cwd", "workdir", "workingdirectory", "directory", "dir", "folder"]);
const commandKeys = new Set(["command", "cmd", "script", "shell", "bash", "commands", "commandline"]);
const searchKeys = new Set(["pattern", "query", "regex", "glob", "search", "searchterm"]);
const contentKeys = new Set([
  "content",
  "contents",
  "newtext",
  "newstring",
  "newstr",
  "oldstring",
  "oldstr",
  "oldtext",
  "filetext",
  "diff",
  "patch",
  "edits",
  "inserttext",
  "newsource",
  "codeedit",
  "replacements",
]);

/** @param args the JSON text of the arguments, or free text. */
export function callFacts(name: string, args: string): CallFacts {
  const parsed = parseArguments(args);
  const entries = Object.entries(parsed).map(([key, value]) => [keyOf(key), value] as const);
  const command = commandOf(name, entries);
  if (command !== undefined) {
    const folder = entries.find(([key, value]) => folderKeys.has(key) && typeof value === "string")?.[1];
    const found = commandFiles(command, typeof folder === "string" ? folder : "");
    return { ...found, touches: [...patchHeaders(command), ...found.touches] };
  }
  const operation = operationOf(name, entries);
  const touches = entries.flatMap(([key, value]): FileTouch[] =>
    pathKeys.has(key)
      ? pathsOf(value).map((path) => ({ path, operation }))
      : typeof value === "string"
        ? patchHeaders(value)
        : [],
  );
  if (touches.length > 0) return { touches };
  const plan = planChange(name, parsed);
  if (plan !== undefined) return { touches, plan };
  return operation === "searched" ? { touches } : { touches, line: actionLine(name, parsed) };
}

function parseArguments(args: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(args);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Free text (a custom tool) or an unfinished object: taken as one input.
  }
  return { input: args };
}

function keyOf(key: string): string {
  return key.toLowerCase().replaceAll(/[_-]/g, "");
}

/** Text of a path argument: a string, or the strings (or objects with a path) of a list. */
function pathsOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value.slice(0, 512) : [value];
  return list.flatMap((item: unknown) => {
    if (typeof item === "string") return [item];
    if (typeof item !== "object" || item === null) return [];
    const { path, file_path: filePath } = item as Record<string, unknown>;
    return [path, filePath].filter((text) => typeof text === "string");
  });
}

type Entries = readonly (readonly [string, unknown])[];

function operationOf(name: string, entries: Entries): FileOperation {
  const verb = entries.find(([key, value]) => key === "command" && isVerb(value))?.[1];
  const words = typeof verb === "string" ? verb : name.slice(0, 128).replace(/^mcp__.*__/, "");
  const plain = words
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
  if (/\b(?:delete|remove|unlink|rm)\b/.test(plain)) return "deleted";
  if (/\b(?:create|mkdir|new)\b/.test(plain)) return "created";
  if (
    /\b(?:write|edit|multi ?edit|replace|patch|insert|update|modify|apply|save|append|move|rename|copy)/.test(
      plain,
    )
  ) {
    return "written";
  }
  if (/\b(?:grep|search|find|glob|ls|list|tree|rg)\b/.test(plain)) return "searched";
  if (/\b(?:read|view|cat|open|get|show|fetch|load)\b/.test(plain)) return "read";
  if (entries.some(([key]) => contentKeys.has(key))) return "written";
  return entries.some(([key]) => searchKeys.has(key)) ? "searched" : "read";
}

/**
 * The shell text of a call: a string, a list of words (`["bash", "-lc", "…"]`), or the input of a tool that
 * runs things.
 */
function commandOf(name: string, entries: Entries): string | undefined {
  const runs = /bash|shell|exec|terminal|command|^run\b|run_/i.test(name);
  const edits = entries.some(([key]) => pathKeys.has(key) && !folderKeys.has(key));
  for (const [key, value] of entries) {
    if (!commandKeys.has(key) && !(runs && key === "input")) continue;
    if (edits && isVerb(value)) return undefined;
    if (typeof value === "string" && value.trim() !== "") return value;
    if (!Array.isArray(value) || value.length === 0) continue;
    const parts = value.slice(0, 256).filter((part) => typeof part === "string");
    if (parts.length === 0) continue;
    const shell = /^(?:.*\/)?(?:ba|z|da|k)?sh$/.test(parts[0]!) && /^-[a-z]*c$/.test(parts[1] ?? "");
    return shell ? (parts[2] ?? "") : parts.join(key === "commands" ? "\n" : " ");
  }
  return undefined;
}

/** `{command: "view", path: …}`: the command of an editor tool, not of a shell. */
function isVerb(value: unknown): boolean {
  return typeof value === "string" && /^[a-z_]{2,32}$/.test(value);
}

const patchVerbs: Record<string, FileOperation> = { Add: "created", Update: "written", Delete: "deleted" };

/** Files named by the headers of a patch in the `*** Update File:` form. */
function patchHeaders(text: string): FileTouch[] {
  if (!text.includes("*** Begin Patch")) return [];
  const touches: FileTouch[] = [];
  for (const [, verb, path] of text.matchAll(/^\*\*\* (Add|Update|Delete) File: (.{1,400})$/gm)) {
    touches.push({ path: path!, operation: patchVerbs[verb!]! });
  }
  return touches;
}

/** `name(key=value, …)` of a call that is neither about files nor a command. */
function actionLine(name: string, args: Record<string, unknown>): string {
  const values = Object.entries(args)
    .slice(0, 16)
    .map(([key, value]) => {
      const text =
        typeof value === "string" ? value.slice(0, 1_024) : (JSON.stringify(value) ?? "").slice(0, 1_024);
      return `${key}=${oneLine(text, 80)}`;
    });
  return oneLine(`${name}(${values.join(", ")})`, MAX_LINE);
}

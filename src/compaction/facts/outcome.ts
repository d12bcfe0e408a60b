/**
 * What a tool result says about its call: whether it went well, the exit code, and the lines that tell what
 * went wrong.
 *
 * An outcome needs evidence. In this order: a failure flag (`is_error`) fails it; an exit code decides; what
 * an object says of itself decides; then the closing shapes of the text. Anything else is unknown, however
 * harmless it looks. A flag that is absent or false is no evidence by itself: the native form does not tell
 * a harness that flags its failures from a dialect that has no flag, so a wrong "ok" would follow.
 */
import type { ContentPart } from "../../dialects/dialect.ts";
import { oneLine } from "../clip.ts";
import { codeOfLine, codeOfLines, codeOfPiece, isObject, objectFacts } from "./exit-code.ts";
import { verdictOf } from "./verdict.ts";

export type Outcome = "ok" | "failed" | "unknown";

export interface ResultFacts {
  outcome: Outcome;
  exit?: number;
  /** The telling lines of a failure on one line; empty when it says nothing. */
  error: string;
}

/**
 * Units read at either end of a result: exit codes and errors stand there, and a result may be many
 * megabytes.
 */
const WINDOW = 8_192;
const MAX_ERROR = 280;

const failing = new RegExp(
  "error|fail|exception|traceback|not found|no such|denied|cannot|can't|fatal|panic|undefined|invalid|" +
    "refused|rejected|doesn't want",
  "i",
);

/** Colours and cursor moves of a terminal. */
const escapes = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9;?]{0,16}[A-Za-z]`, "g");
/** Tags that only wrap a result. */
const wrapping =
  /^(?:<(?:tool_use_error|output|stdout|stderr|error|system|result)>){1,3}|(?:<\/(?:tool_use_error|output|stdout|stderr|error|system|result)>){1,3}$/g;

/** @param flagged whether the dialect marks the result as an error. Linear in what is read, at most 16 KiB. */
export function resultFacts(content: readonly ContentPart[], flagged: boolean): ResultFacts {
  const { well, exit, first, last } = evidence(content);
  const code = exit === undefined ? {} : { exit };
  const outcome = flagged ? "failed" : judged(exit, well, first, last);
  return { outcome, ...code, error: outcome === "failed" ? tellingLines(first, last) : "" };
}

function judged(
  exit: number | undefined,
  well: boolean | undefined,
  first: readonly string[],
  last: readonly string[],
): Outcome {
  if (exit !== undefined) return exit === 0 ? "ok" : "failed";
  if (well !== undefined) return well ? "ok" : "failed";
  return verdictOf(first, last) ?? "unknown";
}

interface Evidence {
  exit: number | undefined;
  well: boolean | undefined;
  first: string[];
  /** The lines at the end; the same as `first` when these are all. */
  last: string[];
}

function evidence(content: readonly ContentPart[]): Evidence {
  const { head, tail } = ends(content);
  const object = isObject(head);
  const facts = object && tail === "" ? objectFacts(head) : undefined;
  const inner = facts?.text;
  const first = cleanLines(inner === undefined ? head : inner.slice(0, WINDOW));
  const end = inner === undefined ? tail : inner.length > WINDOW ? inner.slice(-WINDOW) : "";
  const last = end === "" ? first : cleanLines(end.slice(end.indexOf("\n") + 1));
  const piece = object && facts === undefined ? (codeOfPiece(tail) ?? codeOfPiece(head)) : undefined;
  const exit = facts?.exit ?? piece ?? codeOfLines(first, last);
  const rejected = /^\s{0,8}<tool_use_error>/.test(head) ? false : undefined;
  return { exit, well: facts?.well ?? rejected, first, last };
}

/** The first and last `WINDOW` units of a result's text; `tail` is empty when `head` is all of it. */
function ends(content: readonly ContentPart[]): { head: string; tail: string } {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  let head = "";
  for (const text of texts) {
    if (head.length >= WINDOW) break;
    head += `${head === "" ? "" : "\n"}${text.slice(0, WINDOW)}`;
  }
  const all = texts.reduce((sum, text) => sum + text.length + 1, -1);
  if (all <= WINDOW) return { head, tail: "" };
  let tail = "";
  for (const text of texts.toReversed()) {
    if (tail.length >= WINDOW) break;
    tail = `${text.slice(-WINDOW)}${tail === "" ? "" : "\n"}${tail}`;
  }
  return { head: head.slice(0, WINDOW), tail: tail.slice(-WINDOW) };
}

/** The lines that hold anything, without colours, wrapping tags and the space around them. */
function cleanLines(text: string): string[] {
  return text
    .replaceAll(escapes, "")
    .split("\n")
    .map((line) => line.trim().replaceAll(wrapping, "").trim())
    .filter((line) => line !== "");
}

/** The first and the last line that speak of a failure, else the last two lines. */
function tellingLines(first: readonly string[], last: readonly string[]): string {
  const all = first === last ? first : [...first, ...last];
  const lines = all.map((line) => line.slice(0, 1_024)).filter(saysSomething);
  const telling = lines.filter((line) => failing.test(line.slice(0, 400)));
  const chosen = telling.length > 0 ? [telling[0]!, telling.at(-1)!] : lines.slice(-2);
  return oneLine([...new Set(chosen)].map((line) => oneLine(line, MAX_ERROR / 2)).join(" / "), MAX_ERROR);
}

/** Not exit codes, which are told apart, nor rules of dashes. */
function saysSomething(line: string): boolean {
  return /[\p{L}\p{N}]/u.test(line) && codeOfLine(line) === undefined;
}

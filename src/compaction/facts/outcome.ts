/**
 * What a tool result says about its call: whether it went well, the exit code, and the lines that tell what
 * went wrong.
 */
import type { ContentPart } from "../../dialects/dialect.ts";
import { oneLine } from "../clip.ts";

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

/** The words by which the common harnesses report an exit code. */
const exitCodes = [
  /^\s{0,8}<returncode>(-?\d{1,6})<\/returncode>/,
  /^\s{0,8}exit code:? (-?\d{1,6})\b/i,
  /\bexited with code:? (-?\d{1,6})\b/i,
  /"exit_code":\s{0,4}(-?\d{1,6})\b/,
];

const failing = new RegExp(
  "error|fail|exception|traceback|not found|no such|denied|cannot|can't|fatal|panic|undefined|invalid|" +
    "refused|rejected|doesn't want",
  "i",
);
const opensWithFailure = /^\s{0,8}(?:<tool_use_error>|error\b|traceback\b|fatal\b|panic:)/i;

export function resultFacts(content: readonly ContentPart[], flagged: boolean): ResultFacts {
  const { head, tail } = ends(content);
  const exit = exitCode(head) ?? exitCode(tail);
  const failed = flagged || (exit === undefined ? opensWithFailure.test(head) : exit !== 0);
  const code = exit === undefined ? {} : { exit };
  if (!failed) return { outcome: "ok", ...code, error: "" };
  return { outcome: "failed", ...code, error: tellingLines(head, tail) };
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
  return { head: head.slice(0, WINDOW), tail: all <= WINDOW ? "" : (texts.at(-1) ?? "").slice(-WINDOW) };
}

function exitCode(text: string): number | undefined {
  const near = text.length > 1_024 ? `${text.slice(0, 512)}\n${text.slice(-512)}` : text;
  for (const pattern of exitCodes) {
    const found = pattern.exec(near)?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}

/** The first and the last line that speak of a failure, else the last two lines. */
function tellingLines(head: string, tail: string): string {
  const lines = `${head}\n${tail}`
    .split("\n")
    .map(bareLine)
    .filter((line) => line !== "");
  const telling = lines.filter((line) => failing.test(line.slice(0, 400)));
  const chosen = telling.length > 0 ? [telling[0]!, telling.at(-1)!] : lines.slice(-2);
  return oneLine([...new Set(chosen)].map((line) => oneLine(line, MAX_ERROR / 2)).join(" / "), MAX_ERROR);
}

/** A line without what only wraps it: exit codes, result tags, rules of dashes. */
function bareLine(line: string): string {
  const text = line.slice(0, 1_024).trim();
  const bare = text
    .replace(
      /^<\/?(?:tool_use_error|output|returncode|stdout|stderr|error)>|<\/(?:tool_use_error|output)>$/g,
      "",
    )
    .replace(/^(?:command )?exit(?:ed with)? code:? -?\d+$/i, "")
    .replace(/^-?\d+<\/returncode>$/, "");
  return /[\p{L}\p{N}]/u.test(bare) ? bare : "";
}

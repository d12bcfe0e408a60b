/**
 * The exit code that a tool result tells, in any form in which harnesses and shells write it: a line of its
 * own at either end, a tag, or a member of a JSON object. Free of judging the text itself.
 */

/** Harnesses put the code in front of the output or behind it, among a few lines of their own. */
const LINES_AHEAD = 4;
const LINES_BEHIND = 8;

/** A line that tells a code and nothing else: "Exit code 2", "[exit code: 1]", "Process exited with code 0". */
const codeLines = [
  new RegExp(
    "^[[(<*=#>:-]{0,6} ?(?:error: )?(?:the |last )?(?:(?:command|process|program|script|shell|task) )?" +
      "(?:execution )?(?:(?:exited|finished|completed|terminated|failed|ended|returned|executed)[.,:]? )?" +
      "(?:with )?(?:an? )?(?:non-?zero )?(?:exit|return)[ _-]?(?:code|status)(?: is| was)?\\s{0,3}[:=]?" +
      "\\s{0,3}(-?\\d{1,10})[\\])>*=#.,;:-]{0,6}$",
    "i",
  ),
  new RegExp(
    "^[[(*=#-]{0,6} ?(?:error: )?(?:the |last )?(?:command|process|program|script|shell|task)(?: has)? " +
      "(?:exited|finished|completed|terminated|failed|ended)[.,:]? with (?:code|status):? " +
      "(-?\\d{1,10})[\\])*=#.,;-]{0,6}$",
    "i",
  ),
  /^[[(*=#-]{0,6} ?(?:exited with (?:code|status):? |exit ?[:=] ?|rc ?[:=] ?)(-?\d{1,10})[\])*=#.;-]{0,6}$/i,
];
const codeTags = [
  /(?:^|>)\s{0,4}<(?:return|exit)[_-]?(?:code|status)>\s{0,4}(-?\d{1,10})\s{0,4}</i,
  /^<\w{1,30} (?:[^<>]{0,80} )?(?:return|exit)[_-]?(?:code|status)=["'](-?\d{1,10})["']/i,
];
/** Escaped quotes, which stand around the members of an object inside a string, do not match. */
const codeMember =
  /[{,]\s{0,8}["'](?:exit|return)[_-]?(?:code|status)["']\s{0,4}:\s{0,4}["']?(-?\d{1,10})\b/i;

const codeKey = /^(?:exit|return)[_-]?(?:code|status)$/i;

/** The code that one line tells, if it tells one. */
export function codeOfLine(line: string): number | undefined {
  if (line.length > 400) return undefined;
  for (const pattern of [...codeLines, ...codeTags]) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}

/**
 * The code that the lines at either end tell. Where the two ends differ, one that is not 0: a script's own
 * "exit: 0" does not outdo the harness.
 */
export function codeOfLines(first: readonly string[], last: readonly string[]): number | undefined {
  const ahead = first.slice(0, LINES_AHEAD).map(codeOfLine).find(isCode);
  const behind = last.slice(-LINES_BEHIND).map(codeOfLine).findLast(isCode);
  return ahead === undefined || ahead === 0 ? (behind ?? ahead) : ahead;
}

function isCode(code: number | undefined): boolean {
  return code !== undefined;
}

/** Whether the text looks like one object of JSON or of a scripting language's notation. */
export function isObject(text: string): boolean {
  return /^\s{0,64}\{\s{0,64}["']/.test(text);
}

/** The code in a piece of an object that can not be parsed: cut, or in another notation. */
export function codeOfPiece(text: string): number | undefined {
  const found = codeMember.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

export interface ObjectFacts {
  exit?: number;
  /** What the object says of itself: `success`, `ok`, `is_error`, `error`. */
  well?: boolean;
  /** The output within, when there is one. */
  text?: string;
}

type Members = Record<string, unknown>;

/** What a parsed result says at its top, or in its `metadata` or `result`. Undefined when it is no object. */
export function objectFacts(text: string): ObjectFacts | undefined {
  const top = parsed(text);
  if (top === undefined) return undefined;
  const levels = [top, ...[top.metadata, top.result].filter(isMembers)];
  const exit = levels.map(codeOf).find(isCode);
  const well = wellness(top);
  const output = levels.flatMap((level) =>
    ["output", "stdout", "stderr", "error", "message"].flatMap((key) => {
      const value = level[key];
      return typeof value === "string" && value !== "" ? [value] : [];
    }),
  );
  return {
    ...(exit === undefined ? {} : { exit }),
    ...(well === undefined ? {} : { well }),
    ...(output.length === 0 ? {} : { text: output.join("\n") }),
  };
}

function parsed(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `code` and `status` are exit codes only beside the streams of a process. */
function codeOf(level: Members): number | undefined {
  const streams = "stdout" in level || "stderr" in level;
  for (const [key, value] of Object.entries(level)) {
    const named = codeKey.test(key) || (streams && (key === "code" || key === "status"));
    if (!named) continue;
    if (typeof value === "number" && Number.isInteger(value)) return value;
    if (typeof value === "string" && /^-?\d{1,10}$/.test(value)) return Number(value);
  }
  return undefined;
}

function wellness({ success, ok, is_error: flagged, isError, error }: Members): boolean | undefined {
  if (success === false || ok === false || flagged === true || isError === true) return false;
  if (typeof error === "string" && error.trim() !== "") return false;
  return success === true || ok === true ? true : undefined;
}

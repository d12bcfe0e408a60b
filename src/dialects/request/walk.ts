/**
 * The one pass over a request's bytes: checks that they are JSON and notes where its top-level members and
 * the elements of its message list stand. A prefix that is proven unchanged is not walked again.
 */
import { Defect, Refusal } from "../../failure.ts";
import {
  badJson,
  checkScalar,
  checkString,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  skipSpace,
} from "../../log/json-lex.ts";
import { decodeString, type Member, maxDepth, type Span, scanDocument } from "../../log/scanner.ts";

/** What each costs in memory is many times its least size in the body; no client has so many. */
export const maxMessages = 100_000;
export const maxMembers = 1_000;

/** The first `bytes` bytes of a body, up to right behind the last of its first `count` messages. */
export interface Prefix {
  bytes: number;
  count: number;
}

export interface Walked {
  /** Top-level members in the order of the body. */
  fields: ReadonlyMap<string, Member>;
  /** Leading elements that `isEnvelope` took. */
  system: Span[];
  /** The elements behind them, less the `skipped` first ones. */
  messages: Span[];
  skipped: number;
}

interface ListRule {
  key: string;
  /** Whether an element is envelope as long as no other stood in front of it. */
  isEnvelope: (bytes: Uint8Array, start: number) => boolean;
}

type Check = (at: number, depth: number) => number;

/** From a member's key to the start of its value. */
function checkKey(bytes: Uint8Array, at: number): number {
  const i = skipSpace(bytes, checkString(bytes, at));
  if (bytes[i] !== colon) throw badJson(i);
  return skipSpace(bytes, i + 1);
}

/** Checks one value that starts at `at` below `depth` open containers and answers where it ends. */
function valueCheck(bytes: Uint8Array): Check {
  const closers = new Uint8Array(maxDepth);
  return (at, open) => {
    let depth = open;
    let i = at;
    while (true) {
      const first = bytes[i];
      if (first === openBrace || first === openBracket) {
        if (depth === maxDepth) throw tooDeep(i);
        closers[depth++] = first + 2; // in ASCII a closer stands two behind its opener
        i = skipSpace(bytes, i + 1);
        if (bytes[i] !== first + 2) {
          if (first === openBrace) i = checkKey(bytes, i);
          continue;
        }
      } else {
        i = checkScalar(bytes, i);
      }
      while (depth > open) {
        const next = skipSpace(bytes, i);
        if (bytes[next] !== closers[depth - 1]) break;
        depth--;
        i = next + 1;
      }
      if (depth === open) return i;
      i = afterComma(bytes, i);
      if (closers[depth - 1] === closeBrace) i = checkKey(bytes, i);
    }
  };
}

function tooDeep(at: number): Refusal {
  return new Refusal("too-deep", `The body is nested deeper than ${maxDepth} levels.`, { at: `byte ${at}` });
}

/** From the end of a neighbour over the comma that must follow to the start of the next. */
function afterComma(bytes: Uint8Array, end: number): number {
  const i = skipSpace(bytes, end);
  if (bytes[i] !== comma) throw badJson(i);
  return skipSpace(bytes, i + 1);
}

/**
 * @throws Refusal `bad-json` and `too-deep` as `scanDocument` does; `bad-request` where the body is no
 * object, a top-level key stands twice or an element of the list is no object; `too-large` for more messages
 * or members than any client has.
 */
export function walkRequest(bytes: Uint8Array, rule: ListRule, known: Prefix | undefined): Walked {
  const check = valueCheck(bytes);
  const walked = { fields: new Map<string, Member>(), system: [], messages: [], skipped: 0 };
  let i = skipSpace(bytes, 0);
  if (bytes[i] !== openBrace) {
    scanDocument(bytes);
    throw new Refusal("bad-request", "The body must be a JSON object.");
  }
  i = skipSpace(bytes, i + 1);
  if (bytes[i] !== closeBrace) {
    while (true) {
      const start = checkKey(bytes, i);
      const key = decodeString(bytes, i, checkString(bytes, i));
      if (walked.fields.has(key)) throw twice(key, i);
      if (walked.fields.size === maxMembers) throw tooMany(`byte ${i}`);
      const isList = key === rule.key && bytes[start] === openBracket;
      const end = isList ? walkList(bytes, start, { check, rule, known, walked }) : check(start, 1);
      walked.fields.set(key, { key, keyStart: i, start, end });
      i = skipSpace(bytes, end);
      if (bytes[i] === closeBrace) break;
      i = afterComma(bytes, i);
    }
  }
  i = skipSpace(bytes, i + 1);
  if (i !== bytes.length) throw badJson(i);
  if (known !== undefined && walked.skipped === 0) throw strangePrefix();
  return walked;
}

/** Two readers of a body may each take another of two equal keys, so there is no safe reading of both. */
function twice(key: string, at: number): Refusal {
  const place = /^[a-z_]{1,40}$/.test(key) ? key : `byte ${at}`;
  return new Refusal("bad-request", "This member stands twice in the request.", { at: place });
}

function tooMany(at: string): Refusal {
  return new Refusal("too-large", "The request has too many parts.", { at });
}

function strangePrefix(): Defect {
  return new Defect("the known prefix of a request does not end behind one of its messages");
}

interface ListWalk {
  check: Check;
  rule: ListRule;
  known: Prefix | undefined;
  walked: Walked;
}

function walkList(bytes: Uint8Array, start: number, { check, rule, known, walked }: ListWalk): number {
  const { system, messages } = walked;
  let leading = true;
  let i = skipSpace(bytes, start + 1);
  if (bytes[i] === closeBracket) return i + 1;
  while (true) {
    let end: number;
    // Inside the prefix the bytes passed an earlier check, so that the first message can be looked at as it is.
    const jump = leading && known !== undefined && !rule.isEnvelope(bytes, i);
    if (jump) {
      end = known.bytes;
      if (end <= i || bytes[end - 1] !== closeBrace) throw strangePrefix();
      walked.skipped = known.count;
      leading = false;
    } else {
      end = check(i, 2);
      const index = system.length + walked.skipped + messages.length;
      if (bytes[i] !== openBrace) throw noObject(rule, index);
      if (index === maxMessages) throw tooMany(rule.key);
      leading &&= rule.isEnvelope(bytes, i);
      (leading ? system : messages).push({ start: i, end });
    }
    i = skipSpace(bytes, end);
    if (bytes[i] === closeBracket) return i + 1;
    i = afterComma(bytes, i);
  }
}

function noObject(rule: ListRule, index: number): Refusal {
  return new Refusal("bad-request", "An object is required here.", { at: `${rule.key}[${index}]` });
}

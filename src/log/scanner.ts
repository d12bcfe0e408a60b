/**
 * JSON as bytes: one strict validation pass, then navigation that trusts it. A request is never decoded
 * whole; callers decode the slices that they need. Values are `Span`s, half-open byte ranges without
 * surrounding whitespace. Free of any knowledge of messages, of recursion and of copies. Tokens are checked
 * in `json-lex.ts`, edits made in `json-edit.ts`.
 */
import { Defect, Refusal } from "../failure.ts";
import {
  backslash,
  badJson,
  checkScalar,
  checkString,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "./json-lex.ts";

/** Objects and arrays may nest this deep; deeper is `too-deep`. */
export const maxDepth = 512;

/** Half-open byte range `[start, end)` of one JSON value. */
export interface Span {
  start: number;
  end: number;
}

/**
 * A member of an object: the span of its value, its decoded key and where that key's opening quote stands.
 */
export interface Member extends Span {
  key: string;
  keyStart: number;
}

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function tooDeep(at: number): Refusal {
  return new Refusal("too-deep", `The body is nested deeper than ${maxDepth} levels.`, { at: `byte ${at}` });
}

/** From a member's key (or what should be one) to the start of its value. */
function checkKey(bytes: Uint8Array, at: number): number {
  const i = skipSpace(bytes, checkString(bytes, at));
  if (bytes[i] !== colon) throw badJson(i);
  return skipSpace(bytes, i + 1);
}

/**
 * Checks that `bytes` is exactly one JSON value (RFC 8259) in valid UTF-8, in one linear pass. Repeated keys
 * are legal, the last one wins. All other functions of this module require bytes that passed here.
 * @throws Refusal `bad-json` with the byte offset in `at`; `too-deep` beyond `maxDepth`.
 */
export function scanDocument(bytes: Uint8Array): void {
  const closers = new Uint8Array(maxDepth);
  let depth = 0;
  let i = skipSpace(bytes, 0);
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
      i = skipSpace(bytes, checkScalar(bytes, i));
    }
    while (depth > 0 && bytes[i] === closers[depth - 1]) {
      depth--;
      i = skipSpace(bytes, i + 1);
    }
    if (depth === 0) {
      if (i === bytes.length) return;
      throw badJson(i);
    }
    if (bytes[i] !== comma) throw badJson(i);
    i = skipSpace(bytes, i + 1);
    if (closers[depth - 1] === closeBrace) i = checkKey(bytes, i);
  }
}

// --- navigation: `bytes` passed `scanDocument`

function unscanned(): Defect {
  return new Defect("the scanner was led through bytes that it had not validated");
}

/** Where the one value of a document starts. */
export function root(bytes: Uint8Array): number {
  return skipSpace(bytes, 0);
}

/** The document without whitespace around it (a view, no copy). */
export function trim(bytes: Uint8Array): Uint8Array {
  const start = root(bytes);
  return bytes.subarray(start, skipValue(bytes, start));
}

/** Kind of the value that starts at `start`. */
export function kindOf(bytes: Uint8Array, start: number): Kind {
  switch (bytes[start]) {
    case openBrace:
      return "object";
    case openBracket:
      return "array";
    case quote:
      return "string";
    case 0x74: // t
    case 0x66: // f
      return "boolean";
    case 0x6e: // n
      return "null";
    default:
      return "number";
  }
}

/** End of the string that starts at `start`: byte by byte while it is short, then from quote to quote. */
export function skipString(bytes: Uint8Array, start: number): number {
  let i = start + 1;
  while (true) {
    const near = i + 128; // where escaped quotes stand close, calling out costs more than it saves
    while (i < near) {
      const byte = bytes[i];
      if (byte === quote) return i + 1;
      i += byte === backslash ? 2 : 1;
    }
    const found = bytes.indexOf(quote, i);
    if (found < 0) throw unscanned();
    let run = found;
    while (run > i && bytes[run - 1] === backslash) run--;
    if ((found - run) % 2 === 0) return found + 1;
    i = found + 1;
  }
}

/** End of the object or array that starts at `start`. */
function skipContainer(bytes: Uint8Array, start: number): number {
  let depth = 0;
  let i = start;
  while (i < bytes.length) {
    const byte = bytes[i]!;
    if (byte === quote) {
      i = skipString(bytes, i);
      continue;
    }
    i++;
    const shape = byte | 0x20; // folds brackets into braces
    if (shape === openBrace) depth++;
    else if (shape === closeBrace && --depth === 0) return i;
  }
  throw unscanned();
}

/** End of the value that starts at `start`. */
export function skipValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === quote) return skipString(bytes, start);
  if (first === openBrace || first === openBracket) return skipContainer(bytes, start);
  let i = start;
  while (i < bytes.length) {
    const byte = bytes[i]!;
    if (byte <= 0x20 || byte === comma || byte === closeBrace || byte === closeBracket) break;
    i++;
  }
  if (i === start) throw unscanned();
  return i;
}

/** A slice as it is written, undecoded. */
export function rawText(bytes: Uint8Array, start: number, end: number): string {
  return utf8.decode(bytes.subarray(start, end));
}

/**
 * The decoded value of a slice. Numbers and repeated keys are as `JSON.parse` reads them: a view, never to
 * be stored.
 */
export function decode(bytes: Uint8Array, start: number, end: number): unknown {
  return JSON.parse(rawText(bytes, start, end));
}

/** The decoded text of a string value. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > 40) return decode(bytes, start, end) as string;
  let text = "";
  for (let i = start + 1; i < end - 1; i++) {
    const byte = bytes[i]!;
    if (byte >= 0x80 || byte === backslash) return decode(bytes, start, end) as string;
    text += String.fromCharCode(byte);
  }
  return text;
}

/** Members of the object that starts at `start`, in order, repeated keys included. Returns where it ends. */
export function* members(bytes: Uint8Array, start: number): Generator<Member, number> {
  if (bytes[start] !== openBrace) throw unscanned();
  let i = skipSpace(bytes, start + 1);
  while (bytes[i] !== closeBrace) {
    const keyStart = i;
    const keyEnd = skipString(bytes, keyStart);
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = skipValue(bytes, value);
    yield { key: decodeString(bytes, keyStart, keyEnd), keyStart, start: value, end };
    i = skipSpace(bytes, end);
    if (bytes[i] === comma) i = skipSpace(bytes, i + 1);
  }
  return i + 1;
}

/** Spans of named members, each the last of its name. */
export type Fields<K extends string> = { [P in K]?: Span };

/** Takes the named members of an object into `found`, passing over the others; answers the object's end. */
function gather<K extends string>(
  bytes: Uint8Array,
  start: number,
  names: readonly K[],
  found: Fields<K>,
): number {
  const walk = members(bytes, start);
  let step = walk.next();
  for (; step.done !== true; step = walk.next()) {
    const { key, start: from, end } = step.value;
    if ((names as readonly string[]).includes(key)) found[key as K] = { start: from, end };
  }
  return step.value;
}

/** The named members of the object that starts at `start`. Names are never a client's: see `member`. */
export function pick<K extends string>(bytes: Uint8Array, start: number, names: readonly K[]): Fields<K> {
  const found: Fields<K> = {};
  gather(bytes, start, names, found);
  return found;
}

/** Elements of the array that starts at `start`, in order. `endOf` finds the end of one. */
export function* elements(bytes: Uint8Array, start: number, endOf = skipValue): Generator<Span, void> {
  if (bytes[start] !== openBracket) throw unscanned();
  let i = skipSpace(bytes, start + 1);
  while (bytes[i] !== closeBracket) {
    const end = endOf(bytes, i);
    yield { start: i, end };
    i = skipSpace(bytes, end);
    if (bytes[i] === comma) i = skipSpace(bytes, i + 1);
  }
}

/** Elements of an array, those that are objects with their named members: one pass over each value. */
export function* records<K extends string>(
  bytes: Uint8Array,
  start: number,
  names: readonly K[],
): Generator<Span & { fields: Fields<K> | undefined }, void> {
  let fields: Fields<K> | undefined;
  const spans = elements(bytes, start, (_, at) => {
    fields = bytes[at] === openBrace ? {} : undefined;
    return fields === undefined ? skipValue(bytes, at) : gather(bytes, at, names, fields);
  });
  for (const span of spans) yield { start: span.start, end: span.end, fields };
}

/** The last member of that name, as `JSON.parse` would have it. */
export function member(bytes: Uint8Array, start: number, key: string): Span | undefined {
  let found: Span | undefined;
  for (const item of members(bytes, start))
    if (item.key === key) found = { start: item.start, end: item.end };
  return found;
}

/** The value at a path of keys and indexes from the document's root; undefined where the path leaves it. */
export function locate(bytes: Uint8Array, path: readonly (string | number)[]): Span | undefined {
  const start = root(bytes);
  let at: Span | undefined = { start, end: skipValue(bytes, start) };
  for (const step of path) {
    const kind = kindOf(bytes, at.start);
    if (typeof step === "string") at = kind === "object" ? member(bytes, at.start, step) : undefined;
    else at = kind === "array" ? element(bytes, at.start, step) : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

function element(bytes: Uint8Array, start: number, index: number): Span | undefined {
  let n = 0;
  for (const span of elements(bytes, start)) if (n++ === index) return span;
  return undefined;
}

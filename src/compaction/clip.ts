/**
 * Shortening text: never inside a grapheme, never at a cost beyond what is kept. Owns no wording: callers bring their markers.
 */

/** UTF-16 units looked at on either side of a cut. A grapheme longer than that is cut between two code points. */
const REACH = 64;

/** Longest token of the o200k vocabulary in bytes, so a text of more than this many units per token cannot fit. */
const LONGEST_TOKEN = 128;

/** What stands for the part that was cut; it is told how many UTF-16 units are gone. */
export type Marker = (left: number) => string;

let segmenter: Intl.Segmenter | undefined;

/** The greatest place at or before `at` that lies between two graphemes. */
export function cutBefore(text: string, at: number): number {
  return boundary(text, at, "before");
}

/** The smallest place at or after `at` that lies between two graphemes. */
export function cutAfter(text: string, at: number): number {
  return boundary(text, at, "after");
}

function boundary(text: string, at: number, side: "before" | "after"): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const left = text.charCodeAt(at - 1);
  if (left < 0x80 && left !== 0x0d && text.charCodeAt(at) < 0x80) return at;
  const from = wholePoint(text, Math.max(0, at - REACH), "before");
  const to = Math.min(text.length, at + REACH);
  segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
  const found = segmenter.segment(text.slice(from, to)).containing(at - from);
  if (found === undefined || found.index === at - from) return at;
  const start = from + found.index;
  const end = start + found.segment.length;
  const whole = (found.index > 0 || from === 0) && (end < to || to === text.length);
  if (!whole) return wholePoint(text, at, side);
  return side === "before" ? start : end;
}

function wholePoint(text: string, at: number, side: "before" | "after"): number {
  const splits = isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
  return splits ? at + (side === "before" ? -1 : 1) : at;
}

function isHigh(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

function isLow(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00;
}

/**
 * The text, or its longest beginning that is at most `max` tokens together with the marker behind it. Token-exact by
 * `count`; a marker that alone is over `max` is left out. Reads about `max` tokens of the text a dozen times, however long it is.
 */
export function clipTokens(
  text: string,
  max: number,
  count: (text: string) => number,
  marker: Marker,
): string {
  return fitsTokens(text, max, count) ? text : cutTokens(text, max, count, marker);
}

/** Like `clipTokens` for a text that is only a part of what it stands for: the marker is always set. */
export function cutTokens(
  text: string,
  max: number,
  count: (text: string) => number,
  marker: Marker,
): string {
  const mark = count(marker(text.length)) <= max ? marker : () => "";
  const kept = longest(
    Math.min(text.length, Math.max(0, max) * LONGEST_TOKEN),
    max,
    (at) => cutBefore(text, at),
    (at) => count(text.slice(0, at) + mark(text.length - at)),
  );
  return text.slice(0, kept) + mark(text.length - kept);
}

/** The longest end of the text that is at most `max` tokens, without a marker. */
export function tailTokens(text: string, max: number, count: (text: string) => number): string {
  if (fitsTokens(text, max, count)) return text;
  const kept = longest(
    Math.min(text.length, Math.max(0, max) * LONGEST_TOKEN),
    max,
    (units) => text.length - cutAfter(text, text.length - units),
    (units) => count(text.slice(text.length - units)),
  );
  return text.slice(text.length - kept);
}

function fitsTokens(text: string, max: number, count: (text: string) => number): boolean {
  return text.length <= max * LONGEST_TOKEN && count(text) <= max;
}

/** The greatest snapped size whose cost is at most `max`; the first guess is the usual four units a token. */
function longest(
  limit: number,
  max: number,
  snap: (size: number) => number,
  cost: (size: number) => number,
): number {
  let fits = 0;
  let over = limit + 1;
  let guess = Math.min(limit, max * 4);
  for (let turn = 0; fits + 1 < over; turn++) {
    const size = snap(guess);
    const tokens = size <= fits ? max : cost(size);
    if (tokens <= max) fits = guess;
    else over = Math.max(fits + 1, size);
    const likely = Math.floor((guess * max) / Math.max(1, tokens));
    guess = turn % 3 === 2 || likely <= fits || likely >= over ? (fits + over) >> 1 : likely;
  }
  return snap(fits);
}

/** The first `max` code points and the marker behind them, or the text as it is when it has no more. */
export function clipCodePoints(text: string, max: number, marker: Marker): string {
  if (text.length <= max) return text;
  let at = 0;
  for (let points = 0; points < max && at < text.length; points++) {
    at += isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1)) ? 2 : 1;
  }
  if (at >= text.length) return text;
  const cut = cutBefore(text, at);
  return text.slice(0, cut) + marker(text.length - cut);
}

/** The text on one line of at most `max` UTF-16 units: white space and control characters become single spaces. */
export function oneLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 4 + 64)
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
  if (line.length <= max) return line;
  return `${line.slice(0, cutBefore(line, max - 1)).trimEnd()}…`;
}

/** UTF-8 bytes of a character (by the unit at `at`) inside a JSON string. */
function jsonCost(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit >= 0x20 && unit < 0x80) return 1;
  if (unit < 0x20) return "\b\t\n\f\r".includes(text[at]!) ? 2 : 6;
  if (unit < 0x800) return 2;
  if (!isHigh(unit) && !isLow(unit)) return 3;
  const paired = isHigh(unit) ? isLow(text.charCodeAt(at + 1)) : isHigh(text.charCodeAt(at - 1));
  return paired ? 2 : 6;
}

/** UTF-8 bytes that the text takes as a JSON string, with its quotes; stops counting beyond `limit`. */
export function jsonBytes(text: string, limit = Number.POSITIVE_INFINITY): number {
  let bytes = 2;
  for (let at = 0; at < text.length && bytes <= limit; at++) bytes += jsonCost(text, at);
  return bytes;
}

/** The longest beginning that takes at most `max` bytes as a JSON string. */
export function headBytes(text: string, max: number): string {
  let bytes = 2;
  for (let at = 0; at < text.length; at++) {
    bytes += jsonCost(text, at);
    if (bytes > max) return text.slice(0, cutBefore(text, at));
  }
  return text;
}

/** The longest end that takes at most `max` bytes as a JSON string. */
export function tailBytes(text: string, max: number): string {
  let bytes = 2;
  for (let at = text.length; at > 0; at--) {
    bytes += jsonCost(text, at - 1);
    if (bytes > max) return text.slice(cutAfter(text, at));
  }
  return text;
}

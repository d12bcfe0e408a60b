/**
 * Shortening text: never inside a grapheme, never at a cost beyond what is kept. Owns no wording: callers
 * bring their markers.
 */

/**
 * UTF-16 units looked at on either side of a cut. A grapheme longer than that is cut between two code points.
 */
const REACH = 64;

/** Units of a row of flags that are looked back over. */
const MAX_FLAGS = 4_096;

/**
 * Longest token of the o200k vocabulary in bytes, so a text of more than this many units per token cannot
 * fit.
 */
const LONGEST_TOKEN = 128;

/** What stands for the part that was cut; it is told how many UTF-16 units are gone. */
export type Marker = (left: number) => string;

type Count = (text: string) => number;

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
  const from = windowStart(text, at);
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

/** Where to begin to look. Flags are pairs of indicators, counted from where their row begins. */
function windowStart(text: string, at: number): number {
  const from = wholePoint(text, Math.max(0, at - REACH), "before");
  let row = from;
  while (row > from - MAX_FLAGS && row >= 2 && isIndicator(text, row) && isIndicator(text, row - 2)) row -= 2;
  return (from - row) % 4 === 0 ? from : from - 2;
}

function isIndicator(text: string, at: number): boolean {
  const low = text.charCodeAt(at + 1);
  return text.charCodeAt(at) === 0xd83c && low >= 0xdde6 && low <= 0xddff;
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
 * The text, or its longest beginning that is at most `max` tokens together with the marker behind it, by
 * exact count; a marker that alone is over `max` is left out. Counts what is kept a few times over, however
 * long the text is.
 */
export function clipTokens(text: string, max: number, count: Count, marker: Marker): string {
  return fitsTokens(text, max, count) ? text : cutTokens(text, max, count, marker);
}

/** Like `clipTokens` for a text that is only a part of what it stands for: the marker is always set. */
export function cutTokens(text: string, max: number, count: Count, marker: Marker): string {
  const mark = count(marker(text.length)) <= max ? marker : () => "";
  const kept = longest(text.length, max, count, {
    part: (from, to) => text.slice(from, to),
    snap: (size) => cutBefore(text, size),
    whole: (size) => text.slice(0, size) + mark(text.length - size),
  });
  return text.slice(0, kept) + mark(text.length - kept);
}

/** The longest end of the text that is at most `max` tokens, without a marker. */
export function tailTokens(text: string, max: number, count: Count): string {
  if (fitsTokens(text, max, count)) return text;
  const { length } = text;
  const kept = longest(length, max, count, {
    part: (from, to) => text.slice(length - to, length - from),
    snap: (size) => length - cutAfter(text, length - size),
    whole: (size) => text.slice(length - size),
  });
  return text.slice(length - kept);
}

function fitsTokens(text: string, max: number, count: Count): boolean {
  return text.length <= max * LONGEST_TOKEN && count(text) <= max;
}

/**
 * A text seen from the end that is kept: a stretch of it, the grapheme boundary at or below a size, what a
 * size would become.
 */
interface Side {
  part: (from: number, to: number) => string;
  snap: (size: number) => number;
  whole: (size: number) => string;
}

/**
 * Units counted at a time on the way to the limit, and tries to use up what counting in stretches misjudged.
 */
const STRETCH = 2_048;
const TRIES = 5;

/** The greatest size found whose whole is at most `max` tokens. What is answered was counted whole. */
function longest(length: number, max: number, count: Count, side: Side): number {
  const limit = Math.min(length, Math.max(0, max) * LONGEST_TOKEN);
  const reach = reacher(limit, count, side);
  let fits = 0;
  let goal = max - count(side.whole(0));
  for (let tries = 0; tries < TRIES; tries++) {
    const size = reach(goal);
    if (size <= fits) break;
    const spare = max - count(side.whole(size));
    if (spare >= 0) fits = size;
    if (spare === 0 || size === limit) break;
    goal += spare;
  }
  return fits;
}

/** Answers the greatest size whose stretches sum up to a number of tokens; each stretch is counted once. */
function reacher(limit: number, count: Count, { part, snap }: Side): (goal: number) => number {
  const stretches = [{ from: 0, tokens: 0 }];
  return (goal) => {
    let last = stretches.at(-1)!;
    while (last.tokens <= goal && last.from < limit) {
      const to = last.from + STRETCH >= limit ? limit : Math.max(snap(last.from + STRETCH), last.from + 1);
      last = { from: to, tokens: last.tokens + count(part(last.from, to)) };
      stretches.push(last);
    }
    const base = stretches.findLast(({ tokens }) => tokens <= goal);
    if (base === undefined) return 0;
    let fits = base.from;
    let over = Math.min(limit, base.from + STRETCH) + 1;
    while (fits + 1 < over) {
      const middle = (fits + over) >> 1;
      if (base.tokens + count(part(base.from, middle)) <= goal) fits = middle;
      else over = middle;
    }
    return snap(fits);
  };
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

/**
 * The text on one line of at most `max` UTF-16 units: white space and control characters become single
 * spaces.
 */
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

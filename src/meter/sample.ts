/**
 * Bounds what one text may cost: exact up to 256 KiB of UTF-8, above that an estimate from windows spread evenly over it.
 */
import type { Count } from "./counter.ts";
import { isSurrogatePair } from "./pieces.ts";

/** UTF-8 bytes up to which a text is counted exactly. */
export const EXACT_BYTES = 256 * 1024;
export const WINDOWS = 12;
/** UTF-16 units of one window. */
export const WINDOW_UNITS = 2048;

/** Tokens of a text, and whether they are an estimate from a sample. */
export interface Price {
  tokens: number;
  sampled: boolean;
}

export function priceText(count: Count, text: string): Price {
  if (!exceeds(text, EXACT_BYTES)) return { tokens: count(text), sampled: false };
  return { tokens: estimate(count, text), sampled: true };
}

/** Has the text more UTF-8 bytes than `limit`? Looks at its units only where their number does not tell. */
function exceeds(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  if (text.length * 3 <= limit) return false;
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
    } else {
      // A pair is 4 bytes for its 2 units; every other unit, lone surrogates included, is 3.
      bytes += 2;
      if (isSurrogatePair(text, i)) i++;
    }
  }
  return bytes > limit;
}

function estimate(count: Count, text: string): number {
  let tokens = 0;
  let units = 0;
  for (let n = 0; n < WINDOWS; n++) {
    const from = wholePoint(text, Math.floor(((text.length - WINDOW_UNITS) * n) / (WINDOWS - 1)));
    const to = wholePoint(text, from + WINDOW_UNITS);
    tokens += count(text.slice(from, to));
    units += to - from;
  }
  return Math.round((tokens / units) * text.length);
}

/** `at`, or the unit after it where `at` would cut a surrogate pair. */
function wholePoint(text: string, at: number): number {
  return at > 0 && isSurrogatePair(text, at - 1) ? at + 1 : at;
}

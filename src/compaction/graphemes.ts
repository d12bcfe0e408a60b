/** Head and tail of a text by code points, never inside a grapheme. Linear. Pure. */
import { cutAfter, cutBefore } from "./clip.ts";

export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) if (isPair(text, i)) count--;
  return count;
}

/** The longest beginning of `text` with at most `count` code points that ends at a grapheme boundary. */
export function headOf(text: string, count: number): string {
  let at = 0;
  for (let points = 0; points < count && at < text.length; points++) at += isPair(text, at) ? 2 : 1;
  return text.slice(0, cutBefore(text, at));
}

/** The longest end of `text` with at most `count` code points that begins at a grapheme boundary. */
export function tailOf(text: string, count: number): string {
  let at = text.length;
  for (let points = 0; points < count && at > 0; points++) at -= at > 1 && isPair(text, at - 2) ? 2 : 1;
  return text.slice(cutAfter(text, at));
}

function isPair(text: string, at: number): boolean {
  const high = text.charCodeAt(at);
  if (high < 0xd800 || high > 0xdbff) return false;
  const low = text.charCodeAt(at + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}

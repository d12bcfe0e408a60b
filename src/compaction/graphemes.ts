/** Cutting text by code points, never inside a grapheme. Linear; the segmenter only sees a small window. Pure. */

/** Longest grapheme that is kept whole, in UTF-16 units; longer ones (hostile stacks of marks) are cut. */
const WINDOW = 64;
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) if (isPair(text, i)) count--;
  return count;
}

/** The longest beginning of `text` with at most `count` code points that ends at a grapheme boundary. */
export function headOf(text: string, count: number): string {
  let at = 0;
  for (let points = 0; points < count && at < text.length; points++) at += isPair(text, at) ? 2 : 1;
  return text.slice(0, boundary(text, at, "before"));
}

/** The longest end of `text` with at most `count` code points that begins at a grapheme boundary. */
export function tailOf(text: string, count: number): string {
  let at = text.length;
  for (let points = 0; points < count && at > 0; points++) at -= at > 1 && isPair(text, at - 2) ? 2 : 1;
  return text.slice(boundary(text, at, "behind"));
}

/** The grapheme boundary nearest to `at` on the given side; `at` itself when it is one or when none is near. */
function boundary(text: string, at: number, side: "before" | "behind"): number {
  if (at <= 0 || at >= text.length) return at;
  const from = windowStart(text, at);
  const to = Math.min(text.length, at + WINDOW);
  let before = at;
  for (const { index } of segmenter.segment(text.slice(from, to))) {
    const place = from + index;
    if (place === at) return at;
    if (place > at) return side === "behind" ? place : before;
    // The window's own start is no boundary unless the text starts there.
    if (index > 0 || from === 0) before = place;
  }
  if (side === "before") return before;
  // The grapheme around `at` is the text's last one, unless it is longer than any that is kept whole.
  return to === text.length && before < at ? text.length : at;
}

/** Where the window before `at` begins: not inside a pair, nor between the two letters of a flag. */
function windowStart(text: string, at: number): number {
  let from = Math.max(0, at - WINDOW);
  if (from > 0 && isPair(text, from - 1)) from--;
  let letters = 0;
  while (isFlagLetter(text, from - 2 * letters)) letters++;
  return letters > 0 && letters % 2 === 0 ? from - 2 : from;
}

function isFlagLetter(text: string, at: number): boolean {
  if (at < 0 || text.charCodeAt(at) !== 0xd83c) return false;
  const low = text.charCodeAt(at + 1);
  return low >= 0xdde6 && low <= 0xddff;
}

function isPair(text: string, at: number): boolean {
  const high = text.charCodeAt(at);
  if (high < 0xd800 || high > 0xdbff) return false;
  const low = text.charCodeAt(at + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}

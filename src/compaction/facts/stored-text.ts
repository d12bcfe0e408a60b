/**
 * A text kept within a byte budget: its beginning, and where it is long also its end. Cutting a cut text
 * again loses no count.
 */
import { headBytes, jsonBytes, tailBytes } from "../clip.ts";

export interface StoredText {
  /** The text, or its beginning. */
  text: string;
  /** UTF-16 units left out between `text` and `tail`. Absent: nothing is. */
  cut?: number;
  tail?: string;
}

/**
 * The text within `cap` bytes as JSON strings: three quarters for the beginning, one for the end, where a
 * conclusion (or the question behind a pasted log) stands. A smaller cap gives the same whether or not a
 * larger one came before.
 */
export function storedText({ text, cut = 0, tail = "" }: StoredText, cap: number): StoredText {
  if (cut === 0 && jsonBytes(text, cap) <= cap) return { text };
  if (cut > 0 && jsonBytes(text, cap) + jsonBytes(tail, cap) <= cap) return { text, cut, tail };
  const head = headBytes(text, Math.floor(cap * 0.75));
  const end = tailBytes(cut > 0 ? tail : text.slice(head.length), Math.floor(cap * 0.25));
  const left = text.length + cut + tail.length - head.length - end.length;
  return { text: head, cut: left, tail: end };
}

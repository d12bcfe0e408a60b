import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  clipCodePoints,
  clipTokens,
  cutAfter,
  cutBefore,
  headBytes,
  jsonBytes,
  oneLine,
  tailBytes,
  tailTokens,
} from "../../src/compaction/clip.ts";
import { countTokens as count } from "../../src/meter/vocabulary.ts";

const marker = (left: number): string => `[… ${left} more …]`;
const graphemes = (text: string): string[] =>
  [...new Intl.Segmenter("und").segment(text)].map(({ segment }) => segment);
const jsonSize = (text: string): number => new TextEncoder().encode(JSON.stringify(text)).length;

/** Text of any kind: words, Han, emoji of several code points, stacked marks, line ends, lone surrogates. */
const piece = fc.oneof(
  fc.constantFrom(
    "word ",
    "界",
    "👩‍👩‍👧‍👦",
    "e\u0301",
    "🇩🇪",
    "🇩🇪🇫🇷".repeat(24),
    "\r\n",
    " ",
    "क्षि",
    "\ud83d",
    "\udc00",
    "👍🏽",
    "<b>",
    '"',
    "\\",
    "\u0001",
  ),
  fc.string({ maxLength: 6 }),
);
const anyText = fc.array(piece, { maxLength: 60 }).map((parts) => parts.join(""));

describe("a cut", () => {
  it("[C51] never falls inside a grapheme", () => {
    fc.assert(
      fc.property(anyText, fc.nat(300), (text, at) => {
        const ends = new Set([0]);
        let end = 0;
        for (const grapheme of graphemes(text)) {
          end += grapheme.length;
          ends.add(end);
        }
        const before = cutBefore(text, at);
        const after = cutAfter(text, at);
        expect(ends.has(before) && ends.has(after)).toBe(true);
        expect(before).toBeLessThanOrEqual(Math.min(at, text.length));
        expect(after).toBeGreaterThanOrEqual(Math.min(at, text.length));
        expect([...ends].some((place) => place > before && place <= Math.min(at, text.length))).toBe(false);
      }),
    );
  });

  it("[C51] of a grapheme without end falls between two code points", () => {
    const stack = `a${"\u0301".repeat(5_000)}`;
    expect(cutBefore(stack, 2_500)).toBe(2_500);
    const family = `${"👩\u200d".repeat(2_000)}👩`;
    const cut = cutBefore(family, 3_001);
    expect(family.slice(0, cut).endsWith("\ud83d")).toBe(false);
    expect(cut).toBeGreaterThan(2_900);
  });
});

describe("clipping to tokens", () => {
  it("[C52] is never over the limit, a true beginning, and tells exactly how much is gone", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 80 }), (text, max) => {
        const clipped = clipTokens(text, max, count, marker);
        expect(count(clipped)).toBeLessThanOrEqual(max);
        if (count(text) <= max) expect(clipped).toBe(text);
        else if (clipped.endsWith("more …]")) {
          const kept = clipped.slice(0, clipped.lastIndexOf("[… "));
          expect(text.startsWith(kept)).toBe(true);
          expect(clipped).toBe(kept + marker(text.length - kept.length));
        } else expect(text.startsWith(clipped)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it("[C52] uses the room it has", () => {
    const prose = "The quick brown fox jumps over the lazy dog. ".repeat(500);
    for (const max of [20, 100, 1_000, 2_048])
      expect(count(clipTokens(prose, max, count, marker))).toBeGreaterThan(max - 3);
    expect(count(tailTokens(prose, 100, count))).toBeGreaterThan(97);
    expect(prose.endsWith(tailTokens(prose, 100, count))).toBe(true);
  });

  it("[C52] [KIMI-035] cuts 40,000 Han characters once, to a true beginning of at most 1,000 tokens", () => {
    const text = "这是一段很长的中文文本，".repeat(3_400);
    const clipped = clipTokens(text, 1_000, count, marker);
    expect(count(clipped)).toBeLessThanOrEqual(1_000);
    expect(clipped.split("[… ")).toHaveLength(2);
    expect(text.startsWith(clipped.slice(0, clipped.indexOf("[… ")))).toBe(true);
  });

  it("[C52] counts a bounded part of a text, however long it is", () => {
    let counted = 0;
    const counting = (text: string): number => {
      counted += text.length;
      return count(text);
    };
    clipTokens("lorem ipsum dolor sit amet ".repeat(400_000), 500, counting, marker);
    expect(counted).toBeLessThan(500 * 128 * 3);
  });

  it("[C52] leaves the marker out when it alone is too long, and gives nothing for nothing", () => {
    expect(clipTokens("one two three four five", 2, count, () => "a marker of many words")).toBe("one two");
    expect(clipTokens("one two", 0, count, marker)).toBe("");
    expect(clipTokens("", 0, count, marker)).toBe("");
  });
});

describe("clipping to code points", () => {
  it("[C53] [INV-027] keeps 8,000 code points and the marker", () => {
    const clipped = clipCodePoints("x".repeat(24_000), 8_000, () => "\n[cut]");
    expect(clipped).toBe(`${"x".repeat(8_000)}\n[cut]`);
  });

  it.each([
    ["8,000 emoji", "😀".repeat(8_000), "😀".repeat(8_000)],
    ["8,001 emoji", "😀".repeat(8_001), `${"😀".repeat(8_000)}\n[cut]`],
    ["7,990 letters and 6 emoji", "x".repeat(7_990) + "😀".repeat(6), "x".repeat(7_990) + "😀".repeat(6)],
  ])("[C53] [INV-028] counts code points: %s", (_, text, expected) => {
    expect(clipCodePoints(text, 8_000, () => "\n[cut]")).toBe(expected);
  });
});

describe("byte budgets", () => {
  it("[C54] count what a text takes as JSON in UTF-8", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(jsonBytes(text)).toBe(jsonSize(text));
      }),
    );
  });

  it("[C54] hold for both ends, each a true beginning or end", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 200 }), (text, max) => {
        const [head, tail] = [headBytes(text, max), tailBytes(text, max)];
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        expect(Math.max(jsonSize(head), jsonSize(tail))).toBeLessThanOrEqual(max);
        if (jsonSize(text) <= max) expect([head, tail]).toEqual([text, text]);
      }),
    );
  });

  it("[C54] a line holds no line break or control character and is no longer than it may be", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 40 }), (text, max) => {
        const line = oneLine(text, max);
        expect(line.length).toBeLessThanOrEqual(max);
        expect(/[\p{Cc}\u2028\u2029]/u.test(line)).toBe(false);
      }),
    );
  });
});

import fc from "fast-check";
import o200k from "js-tiktoken/ranks/o200k_base";
import { describe, expect, it } from "vitest";
import { createPieceEnd } from "../../src/meter/pieces.ts";
import { dense, everyKind, generate } from "./corpus.ts";

const pieceEnd = createPieceEnd();

function ends(text: string): number[] {
  const found: number[] = [];
  for (let from = 0; from < text.length; found.push(from)) from = pieceEnd(text, from);
  return found;
}

/** The same by the regular expression that o200k_base publishes. */
function publishedEnds(text: string): number[] {
  return Array.from(text.matchAll(new RegExp(o200k.pat_str, "gu")), (match) => match.index + match[0].length);
}

const letters = ["a", "B", "中", "\u0301", "ǅ", "ʰ", "𝒜", "𐐀", "𐐨"];
const others = [
  "1",
  "١",
  "Ⅷ",
  "𝟎",
  " ",
  "\n",
  "\r",
  "\t",
  "\u00a0",
  "\u2028",
  "/",
  "!",
  "_",
  "😀",
  "\ud800",
  "\udc00",
];
const suffixes = ["'", "s", "T", "'re", "'Ve", "'ll", "'D", "'ſ", "’s"];

describe("the splitting rule", () => {
  it("[M3] ends every piece where the published expression ends it, on any string", () => {
    const part = fc.oneof(
      fc.constantFrom(...letters),
      fc.constantFrom(...others),
      fc.constantFrom(...suffixes),
      fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        expect(ends(text)).toEqual(publishedEnds(text));
      }),
      { numRuns: 10_000 },
    );
  });

  it("[M3] does so for every order of three characters of each class", () => {
    const all = [...letters, ...others, ...suffixes];
    for (const a of all) {
      for (const b of all) {
        for (const c of all) {
          const text = a + b + c;
          if (ends(text).join() !== publishedEnds(text).join())
            expect(ends(text), text).toEqual(publishedEnds(text));
        }
      }
    }
  });

  it("[M3] classifies every code point as the published expression does", () => {
    // Between these neighbours, letters of each case, marks, digits, spaces and symbols all split differently.
    for (let block = 0; block <= 0x10ffff; block += 256) {
      const chars = Array.from({ length: 256 }, (_, i) => String.fromCodePoint(block + i));
      const text = chars.map((char) => `A${char}b ${char}1`).join("");
      if (ends(text).join() !== publishedEnds(text).join())
        expect.unreachable(`from ${block.toString(16)} on`);
    }
  });

  it.each(Object.keys(everyKind))("[M3] splits %s as the published expression does", (kind) => {
    const text = generate(everyKind[kind]!, 6_000, 21);
    expect(ends(text)).toEqual(publishedEnds(text));
  });

  it.each(Object.keys(everyKind))("[M5] reads each unit of %s a bounded number of times", (kind) => {
    const text = generate(everyKind[kind]!, 20_000, 4);
    expect(unitsRead(text)).toBeLessThan(12 * text.length);
  });

  it("[M5] reads each unit a bounded number of times where one piece is found behind a long look ahead", () => {
    for (const head of ["中", "\u0301", "\n", "a'", " ", "!"]) {
      for (const run of ["A", " ", "中", "!", "\u0301", "a", "𝒜"]) {
        const text = (head + run.repeat(200)).repeat(50);
        expect(unitsRead(text), `${head} and ${run}`).toBeLessThan(12 * text.length);
      }
    }
  });
});

/** How often units are read when `text` is split from end to end. */
function unitsRead(text: string): number {
  let reads = 0;
  const watched = {
    length: text.length,
    charCodeAt: (at: number) => {
      reads++;
      return text.charCodeAt(at);
    },
    charAt: (at: number) => {
      reads++;
      return text.charAt(at);
    },
    codePointAt: (at: number) => {
      reads++;
      return text.codePointAt(at);
    },
  } as unknown as string;
  const count = ends(watched).length;
  expect(count).toBe(ends(text).length);
  return reads;
}

it("[M5] the kinds of text hold one piece of every length class", () => {
  expect(ends(generate(dense.han!, 6_000, 1))).toHaveLength(1);
  expect(ends(generate(dense.digits!, 6_000, 1))).toHaveLength(2_000);
});

import fc from "fast-check";
import { countTokens as oracleCount, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";
import { getEncoding } from "js-tiktoken";
import { describe, expect, it } from "vitest";
import { createCounter, PIECE_CUT } from "../../src/meter/counter.ts";
import { countTokens } from "../../src/meter/vocabulary.ts";
import { dense, everyKind, generate, ordinary } from "./corpus.ts";

setMergeCacheSize(0);
const oracle = (text: string): number => oracleCount(text, { disallowedSpecial: new Set() });
/** What a UTF-8 encoder sends for a text. */
const sent = (text: string): string =>
  new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(new TextEncoder().encode(text));

/** A code point of any kind, with those that the splitting rule treats apart far more often than chance would. */
const anyPoint = fc.oneof(
  fc.constantFrom(..."aB1 \n\r\t/'’.中가あไéǅʰⅧ😀𝒜𐐀\u0301\u200d\u00a0\u2028\ud800\udc00ſ"),
  fc.constantFrom("'s", "'LL", "'Re", " the", "<|endoftext|>", "  ", "\r\n", "://"),
  fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
);
const anyText = fc.array(anyPoint, { maxLength: 60 }).map((parts) => parts.join(""));
/** gpt-tokenizer drops U+FEFF when it decodes its own vocabulary, and so does not know the tokens that hold it. */
const withoutMark = anyText.map((text) => text.replaceAll("\ufeff", ""));

describe("the exact count", () => {
  it.each(Object.keys(everyKind))("[M1] equals gpt-tokenizer on %s", (kind) => {
    for (let seed = 1; seed <= 6; seed++) {
      // Under the piece cut, so that a text that is one piece is not cut either.
      const text = generate(everyKind[kind]!, PIECE_CUT - seed, seed);
      expect(countTokens(text), `seed ${seed}`).toBe(oracle(text));
    }
  });

  it.each(Object.keys(ordinary))("[M1] equals gpt-tokenizer on 40,000 units of %s", (kind) => {
    const text = generate(ordinary[kind]!, 40_000, 99);
    expect(countTokens(text)).toBe(oracle(text));
  });

  it("[M1] equals js-tiktoken on ordinary text, and on byte order marks in it", () => {
    const reference = getEncoding("o200k_base");
    for (const text of ["\ufeff", "\ufeffusing x", "a\ufeff b", "\ufeff\ufeff", "\ufeff\n\n#", " \ufeff//"]) {
      expect(countTokens(text), JSON.stringify(text)).toBe(reference.encode(text, [], []).length);
    }
    for (const [kind, stretch] of Object.entries(ordinary)) {
      const text = generate(stretch, 4_000, 7);
      expect(countTokens(text), kind).toBe(reference.encode(text, [], []).length);
    }
  });

  it("[M1] equals gpt-tokenizer on any string", () => {
    fc.assert(
      fc.property(withoutMark, (text) => {
        expect(countTokens(text)).toBe(oracle(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it("[M1] counts an empty text as nothing", () => {
    expect(countTokens("")).toBe(0);
  });

  it("[M2] takes special tokens for the text they are", () => {
    for (const text of ["<|endoftext|>", "a <|endofprompt|> b", "<|endoftext|>".repeat(20)]) {
      expect(countTokens(text)).toBe(oracle(text));
      expect(countTokens(text)).toBeGreaterThan(4);
    }
  });

  it("[M2] counts a lone surrogate as the replacement character that is sent for it", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 40 }),
        fc.array(fc.integer({ min: 0, max: 40 })),
        (text, cuts) => {
          const broken = cuts.reduce(
            (rest, at) => `${rest.slice(0, at)}\udfff\ud800${rest.slice(at + 1)}`,
            text,
          );
          expect(countTokens(broken)).toBe(countTokens(sent(broken)));
        },
      ),
    );
  });

  it("[M2] two counters over one vocabulary do not disturb each other or the first one's count", async () => {
    const { default: vocabulary } = await import("../../src/meter/o200k_base.bin");
    const [a, b] = [createCounter(vocabulary), createCounter(vocabulary)];
    for (const [kind, stretch] of Object.entries(dense)) {
      const text = generate(stretch, 500, 3);
      expect([a(text), b(text), a(text)], kind).toEqual(Array(3).fill(countTokens(text)));
    }
  });

  it("[M2] refuses a buffer that is no vocabulary", async () => {
    const { default: vocabulary } = await import("../../src/meter/o200k_base.bin");
    for (const size of [0, 3, 4, 1000, vocabulary.byteLength - 1]) {
      expect(() => createCounter(vocabulary.slice(0, size)), `${size} bytes`).toThrow(/vocabulary/);
    }
  });
});

describe("one long piece", () => {
  const slices = (text: string, units: number): string[] =>
    Array.from({ length: Math.ceil(text.length / units) }, (_, n) => text.slice(n * units, (n + 1) * units));

  it.each(["han", "letters", "capitals", "thai", "marks", "lone surrogates"])(
    "[M4] of %s is counted as its cuts of 1,024 units, each exactly",
    (kind) => {
      const text = generate(dense[kind]!, 5 * PIECE_CUT + 77, 5).replace(/[\u0e31-\u0e4e]/g, "ก");
      const cuts = slices(text, PIECE_CUT).map(oracle);
      expect(countTokens(text)).toBe(cuts.reduce((sum, n) => sum + n, 0));
    },
  );

  it("[M4] is never cut inside a surrogate pair", () => {
    // 1 + 2n units: unit 1,024 is the second half of a pair, so that every cut would fall inside one.
    const text = `!${"😀".repeat(3 * PIECE_CUT)}`;
    const first = oracle(text.slice(0, PIECE_CUT - 1));
    const rest = slices(text.slice(PIECE_CUT - 1), PIECE_CUT).map(oracle);
    expect(countTokens(text)).toBe(rest.reduce((sum, n) => sum + n, first));
  });

  it("[M4] is not cut at 1,024 units or less", () => {
    const text = generate(dense.han!, PIECE_CUT, 8);
    expect(countTokens(text)).toBe(oracle(text));
  });

  it("[M5] of a million equal letters is counted in full", () => {
    expect(countTokens("a".repeat(1_000_000))).toBe(125_000);
  });

  it("[M5] of 24,000 Han is counted in full", () => {
    const text = generate(dense.han!, 24_000, 2);
    const cuts = slices(text, PIECE_CUT).map(oracle);
    expect(countTokens(text)).toBe(cuts.reduce((sum, n) => sum + n, 0));
  });

  it("[M5] of eight million units is counted, whatever they are", { timeout: 60_000 }, () => {
    const units = 8_000_000;
    for (const unit of ["A", "\u0301"]) {
      const cut = countTokens(unit.repeat(PIECE_CUT));
      expect(countTokens(unit.repeat(units))).toBe((cut * units) / PIECE_CUT);
    }
  });
});

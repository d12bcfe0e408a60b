import o200k from "js-tiktoken/ranks/o200k_base";
import { describe, expect, it } from "vitest";
import { createLexicon, extendHash, type Lexicon, NO_RANK, type Stretch } from "../../src/meter/lexicon.ts";
import { createMerge, MAX_STRETCH } from "../../src/meter/merge.ts";
import vocabulary from "../../src/meter/o200k_base.bin";
import { everyKind, generate, seeded } from "./corpus.ts";

const lexicon = createLexicon(vocabulary);
const published = o200k.bpe_ranks
  .trimEnd()
  .split(" ")
  .slice(2)
  .map((token) => Uint8Array.from(atob(token), (char) => char.charCodeAt(0)));

function stretchOf(bytes: Uint8Array): Stretch {
  const hashes = new Int32Array(bytes.length + 1);
  for (let i = 0; i < bytes.length; i++) hashes[i + 1] = extendHash(hashes[i]!, bytes[i]!);
  return { bytes, hashes };
}

/** Byte-pair encoding as it is defined: merge the lowest-ranked pair, the leftmost of equals, until there is none. */
function naiveMerge(bytes: Uint8Array): number {
  const stretch = stretchOf(bytes);
  let starts = Array.from({ length: bytes.length + 1 }, (_, i) => i);
  for (;;) {
    const pairs = starts.slice(2).map((end, i) => lexicon.rankOf(stretch, starts[i]!, end));
    const lowest = Math.min(...pairs, NO_RANK);
    if (lowest === NO_RANK) return starts.length - 1;
    starts = starts.filter((_, i) => i !== pairs.indexOf(lowest) + 1);
  }
}

describe("the vocabulary", () => {
  it("[M6] has every published token at its published rank", () => {
    expect(published).toHaveLength(199_998);
    const wrong = published.filter(
      (token, rank) => lexicon.rankOf(stretchOf(token), 0, token.length) !== rank,
    );
    expect(wrong).toEqual([]);
  });

  it("[M6] finds a token inside a longer stretch, and no rank for bytes that are no token", () => {
    const known = new Set(published.map((token) => token.join()));
    const bytes = new TextEncoder().encode(generate(everyKind.prose!, 2_000, 3));
    const stretch = stretchOf(bytes);
    for (let from = 0; from + 8 < bytes.length; from++) {
      for (let to = from + 1; to < from + 9; to++) {
        const is = lexicon.rankOf(stretch, from, to) !== NO_RANK;
        if (is !== known.has(bytes.slice(from, to).join())) expect.unreachable(`bytes ${from} to ${to}`);
      }
    }
    expect(lexicon.rankOf(stretchOf(new Uint8Array(400).fill(32)), 0, 400)).toBe(NO_RANK);
  });
});

describe("the merge", () => {
  const merge = createMerge(lexicon);

  it("[M1] merges short and long stretches of random bytes as byte-pair encoding is defined", () => {
    const random = seeded(11);
    for (let n = 0; n < 400; n++) {
      const alphabet = 1 + random(n % 3 === 0 ? 255 : 5);
      const bytes = Uint8Array.from({ length: 1 + random(120) }, () => 32 + random(alphabet));
      const whole = lexicon.rankOf(stretchOf(bytes), 0, bytes.length) !== NO_RANK;
      expect(merge(stretchOf(bytes), bytes.length)).toBe(whole ? 1 : naiveMerge(bytes));
    }
  });

  it.each(Object.keys(everyKind))(
    "[M5] looks up a bounded number of pairs per byte on one stretch of %s",
    (kind) => {
      const bytes = new TextEncoder()
        .encode(generate(everyKind[kind]!, MAX_STRETCH, 6))
        .subarray(0, MAX_STRETCH);
      let lookups = 0;
      const watched: Lexicon = {
        rankOf: (...stretch) => {
          lookups++;
          return lexicon.rankOf(...stretch);
        },
      };
      const tokens = createMerge(watched)(stretchOf(bytes), bytes.length);
      expect(tokens).toBe(merge(stretchOf(bytes), bytes.length));
      expect(lookups).toBeLessThanOrEqual(3 * bytes.length);
    },
  );
});

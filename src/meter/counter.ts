/**
 * How many o200k tokens a text has: exact, near-linear on every text, throws on none.
 * Equal to the reference encoders on ordinary text (special tokens such as `<|endoftext|>` are plain text here). One
 * deviation bounds the cost: a piece of more than 1,024 UTF-16 units is cut there (measured: at most 0.2 % more tokens).
 */
import { createLexicon, extendHash, type Stretch } from "./lexicon.ts";
import { createMerge, MAX_STRETCH } from "./merge.ts";
import { createPieceEnd, isSurrogatePair } from "./pieces.ts";

/** A text's o200k tokens. A lone surrogate counts as U+FFFD, which is what any UTF-8 encoder sends for it. */
export type Count = (text: string) => number;

/** UTF-16 units after which a piece is cut, never inside a surrogate pair. A unit is at most 3 bytes. */
export const PIECE_CUT = 1024;

const REPLACEMENT = 0xfffd;

/**
 * Builds a counter over a packed vocabulary (`src/meter/o200k_base.bin`), in about 15 ms and 4 MB beside the buffer itself.
 * @throws Defect when the buffer is no such vocabulary.
 */
export function createCounter(vocabulary: ArrayBuffer): Count {
  const merge = createMerge(createLexicon(vocabulary));
  const pieceEnd = createPieceEnd();
  const stretch: Stretch = { bytes: new Uint8Array(MAX_STRETCH), hashes: new Int32Array(MAX_STRETCH + 1) };

  function tokensOf(text: string, from: number, to: number): number {
    return merge(stretch, encode(text, from, to, stretch));
  }

  return (text) => {
    let tokens = 0;
    let from = 0;
    while (from < text.length) {
      const to = pieceEnd(text, from);
      while (to - from > PIECE_CUT) {
        const cut = from + PIECE_CUT - (isSurrogatePair(text, from + PIECE_CUT - 1) ? 1 : 0);
        tokens += tokensOf(text, from, cut);
        from = cut;
      }
      tokens += tokensOf(text, from, to);
      from = to;
    }
    return tokens;
  };
}

/** Writes the UTF-8 bytes of `text` from unit `from` to `to`, and the hashes of their prefixes; answers how many. */
function encode(text: string, from: number, to: number, { bytes, hashes }: Stretch): number {
  const length = writeUtf8(text, from, to, bytes);
  let hash = 0;
  for (let i = 0; i < length; i++) {
    hash = extendHash(hash, bytes[i]!);
    hashes[i + 1] = hash;
  }
  return length;
}

function writeUtf8(text: string, from: number, to: number, bytes: Uint8Array): number {
  let length = 0;
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) {
      bytes[length++] = unit;
    } else if (unit < 0x800) {
      bytes[length++] = 0xc0 | (unit >> 6);
      bytes[length++] = 0x80 | (unit & 0x3f);
    } else if (isSurrogatePair(text, i)) {
      const point = text.codePointAt(i)!;
      i++;
      bytes[length++] = 0xf0 | (point >> 18);
      bytes[length++] = 0x80 | ((point >> 12) & 0x3f);
      bytes[length++] = 0x80 | ((point >> 6) & 0x3f);
      bytes[length++] = 0x80 | (point & 0x3f);
    } else {
      const point = (unit & 0xf800) === 0xd800 ? REPLACEMENT : unit;
      bytes[length++] = 0xe0 | (point >> 12);
      bytes[length++] = 0x80 | ((point >> 6) & 0x3f);
      bytes[length++] = 0x80 | (point & 0x3f);
    }
  }
  return length;
}

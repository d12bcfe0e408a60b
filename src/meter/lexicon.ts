/**
 * The vocabulary as a hash table: which rank the bytes of a token have.
 * One open-addressing Int32 table over the module's own bytes. An entry holds rank + 1 and 13 bits of its hash, so that a
 * miss almost never compares bytes. Hashes are polynomial: of any stretch of a text in O(1) from the hashes of its prefixes.
 */
import { Defect } from "../failure.ts";

/** The rank of bytes that are no token: above every rank. */
export const NO_RANK = 0x7fffffff;

/** Bytes on their way into tokens: `hashes[i]` is the hash of the first `i` bytes. */
export interface Stretch {
  bytes: Uint8Array;
  hashes: Int32Array;
}

export interface Lexicon {
  /** The rank of the bytes `from` to `to` of `stretch`, or `NO_RANK`. */
  rankOf(stretch: Stretch, from: number, to: number): number;
}

const HASH_FACTOR = 0x01000193;
const SLOT_BITS = 19;
const SLOT_MASK = (1 << SLOT_BITS) - 1;
const RANK_BITS = 18;
const RANK_MASK = (1 << RANK_BITS) - 1;

/** The hash of a prefix that one more byte makes longer. */
export function extendHash(hash: number, byte: number): number {
  return (Math.imul(hash, HASH_FACTOR) + byte + 1) | 0;
}

function mix(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return half ^ (half >>> 13);
}

/**
 * Indexes a packed vocabulary (`scripts/pack-vocabulary.ts` has the layout); keeps its buffer, which must not change.
 * @throws Defect when the buffer is no such vocabulary.
 */
export function createLexicon(vocabulary: ArrayBuffer): Lexicon {
  const { bytes, starts } = readVocabulary(vocabulary);
  const longest = longestOf(starts);
  const table = indexTokens(bytes, starts);
  const powers = new Int32Array(longest + 1).fill(1);
  for (let n = 1; n <= longest; n++) powers[n] = Math.imul(powers[n - 1]!, HASH_FACTOR);

  function rankOf(stretch: Stretch, from: number, to: number): number {
    const length = to - from;
    if (length > longest) return NO_RANK;
    const { hashes } = stretch;
    const hash = mix((hashes[to]! - Math.imul(hashes[from]!, powers[length]!)) | 0);
    const tag = hash >>> SLOT_BITS;
    for (let slot = hash & SLOT_MASK; ; slot = (slot + 1) & SLOT_MASK) {
      const entry = table[slot]!;
      if (entry === 0) return NO_RANK;
      if (entry >>> RANK_BITS !== tag) continue;
      const rank = (entry & RANK_MASK) - 1;
      if (
        starts[rank + 1]! - starts[rank]! === length &&
        equals(stretch.bytes, from, starts[rank]!, length)
      ) {
        return rank;
      }
    }
  }

  function equals(text: Uint8Array, from: number, start: number, length: number): boolean {
    for (let i = 0; i < length; i++) if (text[from + i] !== bytes[start + i]) return false;
    return true;
  }

  return { rankOf };
}

/** All token bytes in a row, and where each rank's begin; one more place marks the end. */
function readVocabulary(vocabulary: ArrayBuffer): { bytes: Uint8Array; starts: Int32Array } {
  const count = vocabulary.byteLength < 4 ? 0 : new DataView(vocabulary).getUint32(0, true);
  if (count < 256 || count >= RANK_MASK || vocabulary.byteLength < 4 + count)
    throw new Defect("no vocabulary");
  const lengths = new Uint8Array(vocabulary, 4, count);
  const bytes = new Uint8Array(vocabulary, 4 + count);
  const starts = new Int32Array(count + 1);
  for (let rank = 0; rank < count; rank++) starts[rank + 1] = starts[rank]! + lengths[rank]!;
  if (starts[count] !== bytes.length) throw new Defect("the vocabulary is cut off");
  return { bytes, starts };
}

function longestOf(starts: Int32Array): number {
  let longest = 0;
  for (let rank = 1; rank < starts.length; rank++) {
    longest = Math.max(longest, starts[rank]! - starts[rank - 1]!);
  }
  return longest;
}

function indexTokens(bytes: Uint8Array, starts: Int32Array): Int32Array {
  const table = new Int32Array(1 << SLOT_BITS);
  for (let rank = 0; rank + 1 < starts.length; rank++) {
    let hash = 0;
    for (let i = starts[rank]!; i < starts[rank + 1]!; i++) hash = extendHash(hash, bytes[i]!);
    hash = mix(hash);
    let slot = hash & SLOT_MASK;
    while (table[slot] !== 0) slot = (slot + 1) & SLOT_MASK;
    table[slot] = ((hash >>> SLOT_BITS) << RANK_BITS) | (rank + 1);
  }
  return table;
}

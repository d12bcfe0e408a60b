/**
 * Byte-pair merging: into how many tokens a stretch of bytes falls. Always the lowest-ranked neighbouring pair is merged,
 * the leftmost of equals. Short stretches look for it by scanning, long ones keep a heap: n log n on every input.
 * No function is made while counting: the bundler names each one with a call, which costs more than the merge of a word.
 */
import { type Lexicon, NO_RANK, type Stretch } from "./lexicon.ts";

/** Longest stretch in bytes. A heap key holds rank and place in 30 bits, so that it stays a small integer. */
export const MAX_STRETCH = 4096;
const PLACE_BITS = 12;
const PLACE_MASK = (1 << PLACE_BITS) - 1;
const SCAN_UP_TO = 32;

export function createMerge(lexicon: Lexicon): (stretch: Stretch, length: number) => number {
  const { rankOf } = lexicon;
  const scan = createScan(rankOf);
  const heap = createHeapMerge(rankOf);
  return (stretch, length) => {
    if (length < 2 || rankOf(stretch, 0, length) !== NO_RANK) return Math.min(length, 1);
    return length <= SCAN_UP_TO ? scan(stretch, length) : heap(stretch, length);
  };
}

function createScan(rankOf: Lexicon["rankOf"]): (stretch: Stretch, length: number) => number {
  /** Where each token begins, and the rank that it has together with the next one. */
  const starts = new Int32Array(SCAN_UP_TO + 1);
  const pairs = new Int32Array(SCAN_UP_TO + 1);

  function lowest(last: number): number {
    let best = 0;
    for (let i = 1; i < last; i++) if (pairs[i]! < pairs[best]!) best = i;
    return best;
  }

  return (stretch, length) => {
    let tokens = length;
    for (let i = 0; i <= length; i++) starts[i] = i;
    for (let i = 0; i + 1 < length; i++) pairs[i] = rankOf(stretch, i, i + 2);
    while (tokens > 1) {
      const at = lowest(tokens - 1);
      if (pairs[at] === NO_RANK) break;
      tokens--;
      for (let i = at + 1; i < tokens; i++) {
        starts[i] = starts[i + 1]!;
        pairs[i] = pairs[i + 1]!;
      }
      starts[tokens] = length;
      if (at + 1 < tokens) pairs[at] = rankOf(stretch, starts[at]!, starts[at + 2]!);
      if (at > 0) pairs[at - 1] = rankOf(stretch, starts[at - 1]!, starts[at + 1]!);
    }
    return tokens;
  };
}

function createHeapMerge(rankOf: Lexicon["rankOf"]): (stretch: Stretch, length: number) => number {
  /** By a token's first byte: where the next and the one before begin, and the rank of the pair with the next. */
  const next = new Int32Array(MAX_STRETCH + 1);
  const previous = new Int32Array(MAX_STRETCH + 1);
  const pairs = new Int32Array(MAX_STRETCH + 1);
  // A merge takes one key and leaves at most two, and there are fewer merges than bytes.
  const heap = createHeap(2 * MAX_STRETCH);

  function pair(at: number, rank: number): void {
    pairs[at] = rank;
    if (rank !== NO_RANK) heap.push((rank << PLACE_BITS) | at);
  }

  return (stretch, length) => {
    heap.clear();
    for (let i = 0; i < length; i++) {
      next[i] = i + 1;
      previous[i] = i - 1;
      pair(i, i + 1 < length ? rankOf(stretch, i, i + 2) : NO_RANK);
    }
    let tokens = length;
    for (let key = heap.pop(); key >= 0; key = heap.pop()) {
      const at = key & PLACE_MASK;
      if (pairs[at] !== key >>> PLACE_BITS) continue;
      const eaten = next[at]!;
      const after = next[eaten]!;
      tokens--;
      next[at] = after;
      pairs[eaten] = NO_RANK;
      if (after < length) previous[after] = at;
      pair(at, after < length ? rankOf(stretch, at, next[after]!) : NO_RANK);
      const before = previous[at]!;
      if (before >= 0) pair(before, rankOf(stretch, before, after));
    }
    return tokens;
  };
}

/** A binary min-heap of non-negative integers; `pop` answers -1 when it is empty. */
function createHeap(capacity: number): { clear(): void; push(key: number): void; pop(): number } {
  const keys = new Int32Array(capacity);
  let size = 0;

  function push(key: number): void {
    let at = size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[at] = keys[parent]!;
      at = parent;
    }
    keys[at] = key;
  }

  function pop(): number {
    if (size === 0) return -1;
    const top = keys[0]!;
    const key = keys[--size]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && keys[child + 1]! < keys[child]!) child++;
      if (keys[child]! >= key) break;
      keys[at] = keys[child]!;
      at = child;
    }
    keys[at] = key;
    return top;
  }

  function clear(): void {
    size = 0;
  }

  return { clear, push, pop };
}

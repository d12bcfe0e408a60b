/** Numbers that look random and are the same in every run, so that the demo session can be made again byte for byte. */
export interface Chance {
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  pick<T>(list: readonly T[]): T;
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    pick(list) {
      const found = list[between(0, list.length - 1)];
      if (found === undefined) throw new RangeError("nothing to pick from");
      return found;
    },
  };
}

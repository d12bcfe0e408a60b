/// <reference types="vite/client" />
/**
 * How often and from where random tests run. `VITE_RUNS=20` multiplies the runs, `VITE_SEED=…` repeats those of a
 * failure, which prints its seed.
 */

export const times = Math.max(1, Number(import.meta.env.VITE_RUNS ?? 1));

const given: unknown = import.meta.env.VITE_SEED;

/** The seed of this run, for tests that draw by themselves. */
export const seed: number = given === undefined ? Date.now() % 2 ** 31 : Number(given);

/** Slow properties shrink a failure only when it is looked into by its seed. */
export const repeats = given !== undefined;

/** Parameters of `fc.assert` for so many runs by default. */
export function runs(count: number): { numRuns: number; seed?: number } {
  return { numRuns: count * times, ...(given === undefined ? {} : { seed }) };
}

/// <reference types="vite/client" />
/**
 * How often and from where random tests run. Unless told otherwise each run draws the same cases, so that a change is judged by itself and
 * not by luck. `VITE_SEED=random VITE_RUNS=20` looks for new ones, twenty times as many; a failure prints its seed, and
 * `VITE_SEED=…` repeats it.
 */
import fc from "fast-check";

export const times = Math.max(1, Number(import.meta.env.VITE_RUNS ?? 1));

const given: string | undefined = import.meta.env.VITE_SEED;

/** The seed of this run, for tests that draw by themselves. */
export const seed: number = given === "random" ? Date.now() % 2 ** 31 : Number(given ?? 1);

/** Slow properties shrink a failure only when it is looked into by its seed. */
export const repeats = given !== undefined && given !== "random";

/** So many runs by default, as a parameter of `fc.assert`. */
export function runs(count: number): { numRuns: number } {
  return { numRuns: count * times };
}

fc.configureGlobal({ seed });

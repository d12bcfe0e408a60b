/**
 * Binds the packed vocabulary to the counter inside the Worker. Nothing is built before the first text is counted.
 * Plain Node has no binary modules: it reads the file and calls `createCounter` itself (`scripts/pack-vocabulary.ts`).
 */
import { type Count, createCounter } from "./counter.ts";
import vocabulary from "./o200k_base.bin";

let counter: Count | undefined;

/** The isolate's own exact o200k count. The first call builds the counter (about 15 ms, 6 MB). */
export const countTokens: Count = (text) => {
  counter ??= createCounter(vocabulary);
  return counter(text);
};

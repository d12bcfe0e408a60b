/** The deeds of a random session as plain data, so that a failure shrinks and can be told. */
import fc from "fast-check";
import type { Sent } from "../support/requests.ts";

const kinds = {
  work: 6,
  append: 5,
  prepare: 7,
  reply: 7,
  settle: 6,
  fork: 2,
  manual: 2,
  undo: 4,
  cancel: 2,
  abort: 1,
  overflow: 5,
  configure: 2,
  restart: 1,
  brokenOff: 2,
  pass: 1,
  illegal: 1,
  enqueue: 2,
  dispatch: 4,
  land: 5,
  fail: 2,
} as const;
type Kind = keyof typeof kinds;

/** `a` and `b` pick among what there is, `size` a length, `bits` variants. */
export interface Deed {
  do: Kind;
  a: number;
  b: number;
  size: number;
  bits: number;
}

export const deed: fc.Arbitrary<Deed> = fc.record({
  do: fc.oneof(
    ...Object.entries(kinds).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as Kind) })),
  ),
  a: fc.nat(99),
  b: fc.nat(99),
  size: fc.nat(99),
  bits: fc.nat(255),
});

/** A request that went out, and what is needed to answer it. */
export interface Request extends Sent {
  branch: number;
  prepareId: string;
}

/** What bounds automatic compaction: the breaker of a branch and the session's budget of paid summaries. */
import { describe, expect, it } from "vitest";
import {
  type Breaker,
  breakerOpen,
  foldBreaker,
  foldPaid,
  type Paid,
  paidOut,
} from "../../src/projections/bounds.ts";
import { branch } from "../support/rows.ts";

const main = branch(2, { gen: 4, envelope: "h" });
const now = { branch: main, basis: "3", tokens: 1_000, threshold: 1_000 };

function ended(progress: boolean, tokensAfter = 1_000) {
  const base = {
    compaction: "c",
    trigger: "pressure",
    outcome: "failed",
    rungs: [],
    tokensBefore: 1_000,
  } as const;
  return { ...base, rungs: [] as string[], progress, tokensAfter, basis: "3" };
}

/** The breaker after invocations that made progress or not, on the same ground. */
function breakerAfter(...progress: boolean[]): Breaker | undefined {
  return progress.reduce<Breaker | undefined>(
    (state, made) => foldBreaker(state, { meta: ended(made), branch: main }) ?? state,
    undefined,
  );
}

describe("the breaker", () => {
  it("[T8] opens with the third invocation in a row that made no progress", () => {
    expect(breakerOpen(undefined, now)).toBe(false);
    expect(breakerOpen(breakerAfter(false, false), now)).toBe(false);
    expect(breakerOpen(breakerAfter(false, false, false), now)).toBe(true);
    expect(breakerOpen(breakerAfter(false, false, false, false), now)).toBe(true);
  });

  it("[T8] starts anew after one that made progress", () => {
    expect(breakerOpen(breakerAfter(false, false, true, false, false), now)).toBe(false);
    expect(breakerOpen(breakerAfter(false, false, false, true), now)).toBe(false);
    expect(foldBreaker(undefined, { meta: ended(true), branch: main })).toBeUndefined();
  });

  it("[T9] closes when the generation, the envelope or the settings are no longer what they were", () => {
    const open = breakerAfter(false, false, false);
    expect(breakerOpen(open, { ...now, branch: { ...main, gen: 5 } })).toBe(false);
    expect(breakerOpen(open, { ...now, branch: { ...main, envelope: "other" } })).toBe(false);
    expect(breakerOpen(open, { ...now, basis: "9" })).toBe(false);
    expect(breakerOpen(open, { ...now, branch: { ...main, head: 99, route: "p/x" } })).toBe(true);
  });

  it("[T9] failures on another ground do not add up", () => {
    const other = { ...main, gen: 5 };
    const state = foldBreaker(breakerAfter(false, false), {
      meta: ended(false),
      branch: other,
    });
    expect(state).toMatchObject({ failures: 1, generation: 5 });
    expect(breakerOpen(state, { ...now, branch: other })).toBe(false);
  });

  it("[T9] closes when the pressure has grown by a tenth of the threshold since", () => {
    const open = breakerAfter(false, false, false);
    expect(breakerOpen(open, { ...now, tokens: 1_099 })).toBe(true);
    expect(breakerOpen(open, { ...now, tokens: 1_100 })).toBe(false);
    expect(breakerOpen(open, { ...now, tokens: 9_999, threshold: undefined })).toBe(true);
  });
});

describe("the budget of paid summaries", () => {
  const made = (...steps: number[]) =>
    steps.reduce<Paid[]>(
      (state, at, index) => foldPaid(state, { compaction: `c${index}`, steps: at }) ?? state,
      [],
    );

  it("[T7] is used up by three invocations within twenty steps", () => {
    expect(paidOut(undefined, 0)).toBe(false);
    expect(paidOut(made(1, 2), 3)).toBe(false);
    expect(paidOut(made(1, 2, 3), 3)).toBe(true);
    expect(paidOut(made(1, 2, 3), 20)).toBe(true);
    expect(paidOut(made(1, 2, 3), 21)).toBe(false);
  });

  it("[T7] looks at the newest three only, and keeps no more", () => {
    const state = made(1, 2, 30, 31, 32);
    expect(state.map(({ steps }) => steps)).toEqual([30, 31, 32]);
    expect([paidOut(state, 49), paidOut(state, 50)]).toEqual([true, false]);
  });

  it("[T7] counts what may be paying at this moment as paid", () => {
    expect([paidOut(made(1), 3, 1), paidOut(made(1), 3, 2)]).toEqual([false, true]);
    expect([paidOut(undefined, 0, 2), paidOut(undefined, 0, 3)]).toEqual([false, true]);
  });

  it("[T7] counts one invocation once", () => {
    const state = made(1, 2);
    expect(foldPaid(state, { compaction: "c1", steps: 9 })).toBeUndefined();
  });
});

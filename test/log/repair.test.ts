/** What an instance closes of another one's leftovers, and when the one alarm is due. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { GRACE_MS, leftovers, nextDue } from "../../src/log/repair.ts";
import { branch, claim } from "../support/rows.ts";

const stepping = (id: number, stepDeadline: number) => branch(id, { step: id + 1, stepDeadline });

it("[T1] a claim of another instance is a leftover whatever its deadline says, one of our own is not", () => {
  const own = claim("own", { epoch: "me", deadline: 5_000 });
  const foreign = claim("foreign", { epoch: "gone", deadline: 5_000 });
  expect(leftovers([own, foreign], [], "me", 0).claims).toEqual([foreign]);
});

it("[T1] our own claim is a leftover once its deadline and the time to notice it have passed", () => {
  const own = claim("own", { epoch: "me", deadline: 5_000 });
  expect(leftovers([own], [], "me", 5_000 + GRACE_MS - 1).claims).toEqual([]);
  expect(leftovers([own], [], "me", 5_000 + GRACE_MS).claims).toEqual([own]);
});

it("[T2] a prepared step is a leftover from its deadline on, whichever instance prepared it", () => {
  const steps = [stepping(2, 100), stepping(9, 101), branch(12, { stepDeadline: 5 })];
  expect(leftovers([], steps, "me", 99).steps).toEqual([]);
  expect(leftovers([], steps, "me", 100).steps.map(({ id }) => id)).toEqual([2]);
  expect(leftovers([], steps, "me", 101).steps.map(({ id }) => id)).toEqual([2, 9]);
});

it("[T3] nothing is due where nothing is open", () => {
  expect(nextDue([], [])).toBeUndefined();
  expect(nextDue([], [branch(2), branch(9, { stepDeadline: 7 })])).toBeUndefined();
});

it("[T3] the first thing to fall due is due next", () => {
  expect(nextDue([claim("a", { deadline: 50 })], [])).toBe(50 + GRACE_MS);
  expect(nextDue([], [stepping(2, 70), stepping(9, 60)])).toBe(60);
  expect(nextDue([claim("a", { deadline: 50 })], [stepping(2, 60)])).toBe(60);
  expect(
    nextDue([claim("a", { deadline: 20 }), claim("b", { deadline: 10 })], [stepping(2, GRACE_MS + 11)]),
  ).toBe(GRACE_MS + 10);
});

const time = fc.nat(1_000);
const claims = fc.array(fc.record({ epoch: fc.constantFrom("me", "gone"), deadline: time }), {
  maxLength: 5,
});
const steps = fc.array(fc.record({ step: fc.nat(1), stepDeadline: time }), { maxLength: 5 });

it("[T3] an alarm that closes what is due leaves nothing due before it, and none is left once all has passed", () => {
  fc.assert(
    fc.property(claims, steps, (someClaims, someSteps) => {
      const open = someClaims.map((some, at) => claim(`c${at}`, some));
      const branches = someSteps.map((some, at) => branch(at + 2, some));
      const due = nextDue(open, branches);
      const rest = (at: number) => {
        const over = leftovers(open, branches, "me", at);
        return nextDue(
          open.filter((one) => !over.claims.includes(one)),
          branches.filter((one) => !over.steps.includes(one)),
        );
      };
      if (due === undefined) return;
      expect(rest(due) ?? due + 1).toBeGreaterThan(due);
      expect(rest(1_000 + GRACE_MS)).toBeUndefined();
    }),
  );
});

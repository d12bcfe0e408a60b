/** What an instance finds left open by another one, and by when it must be closed. Pure. */
import type { Branch, Claim } from "./event-log.ts";

export interface Leftovers {
  /** Compactions of an instance that is gone: their provider call died with it. */
  claims: Claim[];
  /** Prepared steps whose deadline has passed. They carry no epoch: an eviction does not end them. */
  steps: Branch[];
}

export function leftovers(
  claims: readonly Claim[],
  branches: readonly Branch[],
  epoch: string,
  now: number,
): Leftovers {
  return {
    claims: claims.filter((claim) => claim.epoch !== epoch || claim.deadline + GRACE_MS <= now),
    steps: branches.filter((branch) => branch.step !== 0 && branch.stepDeadline <= now),
  };
}

/** A claim outlives its deadline by what its last attempt may take to notice. */
export const GRACE_MS = 30_000;

/** When the next of them is due, or undefined: the object's one alarm. */
export function nextDue(claims: readonly Claim[], branches: readonly Branch[]): number | undefined {
  const times = [
    ...claims.map((claim) => claim.deadline + GRACE_MS),
    ...branches.filter((branch) => branch.step !== 0).map((branch) => branch.stepDeadline),
  ];
  return times.length === 0 ? undefined : Math.min(...times);
}

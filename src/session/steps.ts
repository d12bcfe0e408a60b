/** Prepared steps: what is in progress on a branch, and what ends it. */
import { Refusal } from "../failure.ts";
import type { Branch, EventLog } from "../log/event-log.ts";
import { type EventRow, type Meta, metaOf, type NewEvent } from "../log/events.ts";

/** A prepared step is in progress until its reply, `aborted`, or this long. */
export const STEP_MS = 15 * 60 * 1000;

/** A step that Plimsoll itself sends ends with its call; this only bounds what an instance that hangs may hold. */
export const DISPATCH_MS = 2 * 60 * 60 * 1000;

export function prepareId(seq: number): string {
  return `p${seq}`;
}

/**
 * The step in progress that an id names.
 * @throws Refusal `stale-head` when it is no longer in progress or the head has moved on, `no-step` when it never was.
 */
export function stepOf(
  log: EventLog,
  branch: Branch,
  id: string,
  now: number,
): { seq: number; sent: number; meta: Meta<"step/start"> } {
  const seq = /^p(\d{1,15})$/.test(id) ? Number(id.slice(1)) : 0;
  const row: EventRow | undefined = seq === 0 ? undefined : log.event(seq);
  if (row?.type !== "step/start" || row.branch !== branch.id) {
    throw new Refusal("no-step", "No step of this branch was prepared under this id.", { at: "prepareId" });
  }
  const { head, tip } = branch;
  if (branch.step !== seq || branch.stepDeadline <= now || tip > seq) {
    throw new Refusal("stale-head", "The step is no longer in progress at the head.", {
      at: "prepareId",
      more: { head },
    });
  }
  return { seq, sent: branch.sent, meta: metaOf(row, "step/start") };
}

/** @throws Refusal `stale-head` when the client expects another head. */
export function checkHead(branch: Branch, expect: number | undefined): void {
  if (expect === undefined || expect === branch.head) return;
  const more = { head: branch.head };
  throw new Refusal("stale-head", "The head is another node than expected.", { at: "expect", more });
}

/** @throws Refusal `busy` while a step that Plimsoll itself sends goes on from the branch. */
export function checkFree(held: ReadonlySet<number>, branch: Branch): void {
  if (held.has(branch.id)) throw new Refusal("busy", "A step is in progress on this branch.");
}

/** @throws Refusal `busy` while messages of a running step wait for the provider's verdict. */
export function checkSettled(branch: Branch): void {
  if (branch.tip === branch.head) return;
  throw new Refusal("busy", "A step is in progress on this branch.");
}

/** What ends a step that something else takes the place of. */
export function supersede(branch: Branch, at: number): NewEvent[] {
  if (branch.step === 0) return [];
  const meta = { step: branch.step, reason: branch.stepDeadline <= at ? "deadline" : "superseded" } as const;
  return [{ type: "step/aborted", at, branch: branch.id, step: branch.step, meta }];
}

export function inProgress(branch: Branch, now: number): boolean {
  return branch.step !== 0 && branch.stepDeadline > now;
}

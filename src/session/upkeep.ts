/** Closes what an instance that is gone, or a deadline, left open; and knows when the next of it is due. */

import type { Branch } from "../log/event-log.ts";
import { metaOf, type NewEvent } from "../log/events.ts";
import { leftovers, nextDue } from "../log/repair.ts";
import { appendEvents } from "../projections/write.ts";
import type { Core } from "./core.ts";
import { endWithout } from "./manual.ts";
import { giveUp } from "./outbound/reply.ts";

export function closeLeftovers(core: Core): void {
  const { log, parts } = core;
  const at = parts.now();
  const { claims, steps } = leftovers(log.claims(), log.branches(), parts.epoch, at);
  const events: NewEvent[] = [...claims.map((claim) => endWithout(core, claim, at, "interrupted"))];
  if (events.length > 0) appendEvents(log, events);
  for (const { id } of steps) giveUp(core, id, { type: "step/aborted", meta: { reason: "deadline" } });
  for (const { id } of orphans(core))
    giveUp(core, id, { type: "step/aborted", meta: { reason: "interrupted" } });
  for (const claim of claims) core.running.get(claim.branch)?.abort.abort();
}

/** Steps that another instance sent: its connection to the provider died with it. */
function orphans({ log, parts }: Core): Branch[] {
  return log.branches().filter(({ step }) => {
    const row = step === 0 ? undefined : log.event(step);
    const epoch = row && metaOf(row, "step/start").epoch;
    return epoch !== undefined && epoch !== parts.epoch;
  });
}

export function dueAt(core: Core): number | undefined {
  return nextDue(core.log.claims(), core.log.branches());
}

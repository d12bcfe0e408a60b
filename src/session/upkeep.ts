/** Closes what an instance that is gone, or a deadline, left open; and knows when the next of it is due. */

import type { NewEvent } from "../log/events.ts";
import { leftovers, nextDue } from "../log/repair.ts";
import { appendEvents } from "../projections/write.ts";
import type { Core } from "./core.ts";
import { endWithout } from "./manual.ts";
import { supersede } from "./steps.ts";

export function closeLeftovers(core: Core): void {
  const { log, parts } = core;
  const at = parts.now();
  const { claims, steps } = leftovers(log.claims(), log.branches(), parts.epoch, at);
  const events: NewEvent[] = [
    ...claims.map((claim) => endWithout(core, claim, at, "interrupted")),
    ...steps.flatMap((branch) => supersede(branch, at)),
  ];
  if (events.length > 0) appendEvents(log, events);
  for (const claim of claims) core.running.get(claim.branch)?.abort.abort();
}

export function dueAt(core: Core): number | undefined {
  return nextDue(core.log.claims(), core.log.branches());
}

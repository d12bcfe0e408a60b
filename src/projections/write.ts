/**
 * The one way into the log: each event is folded and what it changes is put, in order, inside one transaction.
 * Together they land or none does.
 */

import type { EventLog } from "../log/event-log.ts";
import type { EventRow, NewEvent } from "../log/events.ts";
import { fold } from "./fold.ts";

export function appendEvents(log: EventLog, events: readonly NewEvent[]): EventRow[] {
  return log.transaction(() => events.map((event) => appendOne(log, event)));
}

function appendOne(log: EventLog, event: NewEvent): EventRow {
  const { row, branch, view, claim, dropClaim, states } = fold(log, event);
  log.insert(row, event.body);
  if (branch !== undefined) log.putBranch(branch);
  if (view !== undefined) log.putView(view);
  if (claim !== undefined) log.putClaim(claim);
  if (dropClaim !== undefined) log.dropClaim(dropClaim);
  for (const { key, value } of states) log.putState(key, row.seq, value);
  return row;
}

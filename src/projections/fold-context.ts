/** What a fold of one event looks at and adds to. */
import { Defect } from "../failure.ts";
import type { Branch, Claim, LogReader, View } from "../log/event-log.ts";
import type { EventRow, NewEvent } from "../log/events.ts";

export interface Changes {
  row: EventRow;
  branch?: Branch;
  view?: View;
  claim?: Claim;
  dropClaim?: string;
  states: { key: string; value: unknown }[];
}

export interface Context {
  log: LogReader;
  seq: number;
  event: NewEvent;
  changes: Changes;
  branch: () => Branch;
}

export function branchOf(log: LogReader, id: number): Branch {
  const branch = log.branch(id);
  if (branch === undefined) throw new Defect(`no branch ${id}`);
  return branch;
}

export function put(context: Context, change: Partial<Branch>): void {
  context.changes.branch = { ...(context.changes.branch ?? context.branch()), ...change };
}

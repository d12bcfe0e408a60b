/** The Surface: f(head, view) = the checkpoint and the path behind it, each node in the form that the view gives it. Pure. */
import type { Role } from "../dialects/dialect.ts";
import { Defect } from "../failure.ts";
import type { LogReader, View } from "../log/event-log.ts";
import { type NodeRow, plus, type Weight, weightOf } from "../log/events.ts";
import { openCalls } from "./open-calls.ts";
import { nodeAt } from "./tree.ts";

export interface SurfaceItem {
  /** The node, or the `compaction/summary` that stands for a span. */
  seq: number;
  kind: "checkpoint" | Role;
  /** The event whose body stands in the Surface: the node, its form, or the checkpoint. */
  body: number;
  weight: Weight;
  /** Calls that are open behind this item. */
  open: number;
  /** Goes on the reply of the item before it. */
  joined: boolean;
  turn: boolean;
  mend: boolean;
  /** Shows thinking that is bound to what stands before it. */
  thinking: boolean;
}

export function surfaceOf(log: LogReader, head: number, view: View | undefined): SurfaceItem[] {
  const forms = new Map(view?.forms.map(([node, form]) => [node, form]));
  const items: SurfaceItem[] = view?.checkpoint ? [checkpointItem(log, view.checkpoint)] : [];
  for (const row of log.path(head, view?.uptoDepth ?? 0)) items.push(itemOf(log, row, forms.get(row.seq)));
  return items;
}

/** The Surface of a node just appended to one that is known: what an append costs, not what a Surface costs. */
export function itemOf(log: LogReader, row: NodeRow, form?: number): SurfaceItem {
  const shown = form === undefined ? row : formAt(log, form);
  return {
    seq: row.seq,
    kind: roleOf(row),
    body: shown.seq,
    weight: weightOf(shown),
    ...openCalls(row.node.open),
    turn: row.node.turn,
    mend: shown.mend,
    thinking: shown.thinking,
  };
}

function checkpointItem(log: LogReader, seq: number): SurfaceItem {
  const weight = weightOf(formAt(log, seq));
  const flags = { joined: false, turn: false, mend: false, thinking: false };
  return { seq, kind: "checkpoint", body: seq, weight, open: 0, ...flags };
}

function formAt(log: LogReader, seq: number) {
  const row = log.event(seq);
  if (row === undefined) throw new Defect(`no form ${seq}`);
  return row;
}

export function roleOf(row: NodeRow): Role {
  return row.type === "context/runtime" ? "user" : (row.type.slice("message/".length) as Role);
}

/** Weight of the Surface in O(1): the path's own and what the view adds. Equal to the sum over `surfaceOf`. */
export function surfaceWeight(log: LogReader, head: number, view: View | undefined): Weight {
  const path = head === 0 ? { tokens: 0, bytes: 0, images: 0 } : nodeAt(log, head).node.cum;
  return view === undefined ? path : plus(path, view.delta);
}

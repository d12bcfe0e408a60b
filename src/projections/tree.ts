/** The message tree: ancestors in O(log n) by jump pointers. Pure reads over a `LogReader`. */
import { Defect } from "../failure.ts";
import type { LogReader } from "../log/event-log.ts";
import type { NodeColumns, NodeRow } from "../log/events.ts";

export type NodeReader = Pick<LogReader, "event">;

/** @throws Defect when the seq is no node: callers check what comes from a client with `findNode`. */
export function nodeAt(log: NodeReader, seq: number): NodeRow {
  const row = findNode(log, seq);
  if (row === undefined) throw new Defect(`seq ${seq} is no node`);
  return row;
}

export function findNode(log: NodeReader, seq: number): NodeRow | undefined {
  const row = log.event(seq);
  return row?.node ? (row as NodeRow) : undefined;
}

export function depthOf(log: NodeReader, seq: number): number {
  return seq === 0 ? 0 : nodeAt(log, seq).node.depth;
}

/** Parent, jump pointer and depth of a node appended behind `parent` (0: a new root). */
export function placeBehind(log: NodeReader, parent: number): Pick<NodeColumns, "parent" | "jump" | "depth"> {
  if (parent === 0) return { parent: 0, jump: 0, depth: 1 };
  const { depth, jump } = nodeAt(log, parent).node;
  const far = depthOf(log, jump);
  const further = jump === 0 ? 0 : nodeAt(log, jump).node.jump;
  // Skew-binary rule: two equal strides in a row are joined into one.
  const joined = jump !== 0 && depth - far === far - depthOf(log, further);
  return { parent, jump: joined ? further : parent, depth: depth + 1 };
}

/** The ancestor of `seq` (itself included) at `depth`, 0 for depth 0. */
export function ancestorAt(log: NodeReader, seq: number, depth: number): number {
  let at = seq;
  while (at !== 0) {
    const { node } = nodeAt(log, at);
    if (node.depth <= depth) return node.depth === depth ? at : 0;
    at = node.jump !== 0 && depthOf(log, node.jump) >= depth ? node.jump : node.parent;
  }
  return 0;
}

/** Whether `seq` lies on the path of `head` (a node lies on its own path; 0 lies on every path). */
export function onPath(log: NodeReader, seq: number, head: number): boolean {
  return seq === 0 || ancestorAt(log, head, depthOf(log, seq)) === seq;
}

/** The newest node on the path of `head` with seq <= `at`; 0 for none. */
export function newestUpTo(log: NodeReader, head: number, at: number): number {
  let seq = head;
  while (seq > at) {
    const { node } = nodeAt(log, seq);
    seq = node.jump > at ? node.jump : node.parent;
  }
  return seq;
}

/** The shape of an event: on its way into the log, and as it is stored there. What its `meta` holds is in `event-schemas.ts`. Pure. */
import type { z } from "zod";
import type { metaSchemas, Weight } from "./event-schemas.ts";

export {
  type Attempt,
  capacitySchema,
  metaSchemas,
  type Span,
  type StepRequest,
  type Trigger,
  triggers,
  type Weight,
  weightSchema,
} from "./event-schemas.ts";

export type EventType = keyof typeof metaSchemas;
export type Meta<T extends EventType> = z.infer<(typeof metaSchemas)[T]>;

/** What the dialect and the meter say about the bytes of a node or of a form. */
export interface BodyFacts {
  price: number;
  bytes: number;
  images: number;
  sampled: boolean;
  /** The provider would refuse the bytes as they stand; rendering mends them. */
  mend: boolean;
  /** The bytes hold thinking that is bound to what stands before it. */
  thinking: boolean;
}

/** Of an event without bytes, and of a form that leaves its node out. */
export const weightless: BodyFacts = {
  price: 0,
  bytes: 0,
  images: 0,
  sampled: false,
  mend: false,
  thinking: false,
};

/** An event on its way into the log: everything that does not follow from the log itself. */
export interface NewEvent<T extends EventType = EventType> {
  type: T;
  at: number;
  branch: number;
  step?: number;
  meta: Meta<T>;
  body?: Uint8Array;
  facts?: BodyFacts;
  /** Only on nodes: open calls after this node, and whether it starts a turn. */
  open?: readonly string[];
  turn?: boolean;
  /** Only on nodes of drop-in branches: link key and content key. */
  key?: string;
  own?: string;
}

/** Columns of a stored event. Those of a node: parent, jump, depth, cumulative weights, open calls, anchor. */
export interface EventRow {
  seq: number;
  type: EventType;
  at: number;
  branch: number;
  step: number;
  meta: unknown;
  /** Bytes of `body` in the log; 0 without one. */
  size: number;
  price: number;
  bytes: number;
  images: number;
  sampled: boolean;
  mend: boolean;
  thinking: boolean;
  node: NodeColumns | null;
}

export interface NodeColumns {
  /** The node before it on its path; 0 for a root. */
  parent: number;
  /** An ancestor further up (skew-binary jump pointer); 0 for none. */
  jump: number;
  /** Nodes on the path from the root, this one included. */
  depth: number;
  cum: Weight;
  open: readonly string[];
  turn: boolean;
  /** Seq of the `usage/reported` event of the newest anchor on the path, 0 for none. */
  anchor: number;
  /** Link key: the content keys from the root to this node, chained. Absent off the drop-in branches and on transparent nodes. */
  key?: string;
  /** Content key, where there is a link key. */
  own?: string;
  /** The newest node of runtime context on the path to this one, itself included; absent where there is none. */
  context?: number;
}

export type NodeRow = EventRow & { node: NodeColumns };

export function metaOf<T extends EventType>(row: EventRow, type: T): Meta<T> {
  if (row.type !== type) throw new TypeError(`event ${row.seq} is ${row.type}, not ${type}`);
  return row.meta as Meta<T>;
}

export function isNodeType(type: EventType): boolean {
  return type.startsWith("message/") || type === "context/runtime";
}

/** A form or a checkpoint: bytes that stand in the Surface in place of nodes. */
export function isFormType(type: EventType): boolean {
  return type === "compaction/prune" || type === "compaction/summary";
}

export const noWeight: Weight = { tokens: 0, bytes: 0, images: 0 };

export function plus(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens + b.tokens, bytes: a.bytes + b.bytes, images: a.images + b.images };
}

export function minus(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens - b.tokens, bytes: a.bytes - b.bytes, images: a.images - b.images };
}

export function weightOf(row: { price: number; bytes: number; images: number }): Weight {
  return { tokens: row.price, bytes: row.bytes, images: row.images };
}

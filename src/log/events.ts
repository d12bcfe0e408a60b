/**
 * The vocabulary of the log: one zod schema for the `meta` of each event type, and the shape of a stored event.
 * Nodes (`message/*`) and forms carry bytes of their own in `body`; everything else is in `meta`. Pure.
 */
import { z } from "zod";
import { dialectNames } from "../dialects/dialect.ts";

const seq = z.number().int().min(0);
const tokens = z.number();
const name = z.string();

/** Weight of a replacement: what the Surface loses (`shadowed`) and gains (`inserted`). Tokens are exact o200k prices. */
export const weightSchema = z.strictObject({
  tokens: z.number().int(),
  bytes: z.number().int(),
  images: z.number().int(),
});
export type Weight = z.infer<typeof weightSchema>;

export const capacitySchema = z
  .strictObject({
    window: z.number().int().positive(),
    inputLimit: z.number().int().positive(),
    maxOutput: z.number().int().positive(),
    maxRequestBytes: z.number().int().positive(),
    maxImages: z.number().int().positive(),
  })
  .partial();

export const triggers = ["pressure", "overflow", "manual"] as const;
export type Trigger = (typeof triggers)[number];

const spanSchema = z.strictObject({ from: seq, to: seq, count: z.number().int(), tokens });
export type Span = z.infer<typeof spanSchema>;

const usageSchema = z.strictObject({
  input: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  output: tokens,
  reasoning: tokens.optional(),
});

/** Evidence of one call of a summarizer, or of its failure. Never holds a secret or a provider's raw body. */
const attemptSchema = z.strictObject({
  compaction: z.string(),
  purpose: z.literal("compaction"),
  route: z.string(),
  shape: z.enum(["conversation", "transcript", "extractive"]),
  span: spanSchema,
  outcome: z.enum(["ok", "failed", "refused"]),
  reason: z.string().optional(),
  status: z.number().int().optional(),
  requestId: z.string().optional(),
  model: z.string().optional(),
  usage: usageSchema.optional(),
  ms: z.number(),
  /** SHA-256 of the request body, hex. */
  digest: z.string().optional(),
});
export type Attempt = z.infer<typeof attemptSchema>;

export const metaSchemas = {
  "session/created": z.strictObject({ dialect: z.enum(dialectNames), version: z.number().int() }),
  /** The settings in force from here on, whole. `effective` is what configuration made of them for the route. */
  "session/configured": z.strictObject({
    route: z.string().nullable(),
    capacity: capacitySchema,
    policy: z.record(z.string(), z.unknown()),
    metadata: z.record(z.string(), z.unknown()),
    effective: z.record(z.string(), z.unknown()),
    /** Only where it changes, which it can before the first message. */
    dialect: z.enum(dialectNames).optional(),
  }),
  /** `from` is the node the branch begins with (0: none); `view` what it inherits. */
  "branch/opened": z.strictObject({ name, from: seq, parent: seq, view: seq, generation: z.number().int() }),
  "request/header": z.strictObject({ envelope: z.string(), price: tokens, bytes: z.number().int() }),
  "message/user": z.strictObject({ origin: z.literal("plimsoll").optional() }),
  "message/assistant": z.strictObject({}),
  "message/tool": z.strictObject({ origin: z.literal("plimsoll").optional() }),
  "message/system": z.strictObject({}),
  "step/start": z.strictObject({
    route: z.string().nullable(),
    envelope: z.string(),
    view: seq,
    generation: z.number().int(),
    maxOutput: z.number().int().nullable(),
    deadline: z.number(),
  }),
  "step/end": z.strictObject({ step: seq }),
  "step/failed": z.strictObject({
    step: seq,
    reason: z.string(),
    status: z.number().int().optional(),
    resend: z.boolean(),
  }),
  "step/aborted": z.strictObject({ step: seq, reason: z.enum(["client", "superseded", "deadline"]) }),
  "step/cancelled": z.strictObject({ step: seq }),
  /** `anchor` is set when the usage belongs to a step of this branch: what it weighed when it was reported. */
  "usage/reported": z.strictObject({
    usage: usageSchema,
    route: z.string().nullable(),
    anchor: z.strictObject({ node: seq, total: tokens, surface: tokens, envelope: tokens }).nullable(),
    /** Counted and reported tokens that teach the route's ratio; absent when they do not compare like with like. */
    sample: z.strictObject({ reported: tokens, counted: tokens }).optional(),
  }),
  "compaction/start": z.strictObject({
    compaction: z.string(),
    trigger: z.enum(triggers),
    command: z.string().optional(),
    step: seq.optional(),
    span: spanSchema.nullable(),
    generation: z.number().int(),
    epoch: z.string(),
    deadline: z.number(),
    tokens: tokens,
  }),
  "compaction/attempt": attemptSchema,
  /** The pruned, clipped or thinking-free form of one node; the body holds its exact bytes (none: the node is left out). */
  "compaction/prune": z.strictObject({
    compaction: z.string(),
    node: seq,
    kind: z.enum(["prune", "clip", "media", "thinking"]),
    version: z.number().int(),
  }),
  /** A checkpoint: the body holds the exact bytes of the message that stands for the span. */
  "compaction/summary": z.strictObject({
    compaction: z.string(),
    text: z.string(),
    by: z.string(),
    span: spanSchema,
    facts: z.unknown(),
    evidence: attemptSchema,
    attempts: z.number().int(),
    version: z.number().int(),
    meter: z.number().int(),
  }),
  /**
   * The one event that changes what a branch shows. `upto` is the last node behind `checkpoint` (both 0: none); `forms` are
   * [node, form] pairs in force beyond it. `delta` is the weight that the whole view adds to the path's own.
   */
  "surface/replace": z.strictObject({
    compaction: z.string(),
    kind: z.enum(["prune", "checkpoint", "route"]),
    generation: z.number().int(),
    upto: seq,
    checkpoint: seq,
    forms: z.array(z.tuple([seq, seq])),
    shadowed: weightSchema,
    inserted: weightSchema,
    delta: weightSchema,
  }),
  "compaction/end": z.strictObject({
    compaction: z.string(),
    trigger: z.enum(triggers),
    outcome: z.enum(["done", "failed", "cancelled", "interrupted"]),
    reason: z.string().optional(),
    rungs: z.array(z.string()),
    tokensBefore: tokens,
    tokensAfter: tokens,
    progress: z.boolean(),
    /** Digest of route, policy and capacity; absent where nobody brought the invocation to its own end. */
    basis: z.string().optional(),
  }),
  "compaction/undone": z.strictObject({
    compaction: z.string(),
    generation: z.number().int(),
    upto: seq,
    checkpoint: seq,
    forms: z.array(z.tuple([seq, seq])),
    shadowed: weightSchema,
    inserted: weightSchema,
    delta: weightSchema,
  }),
} as const;

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
}

export type NodeRow = EventRow & { node: NodeColumns };

export function metaOf<T extends EventType>(row: EventRow, type: T): Meta<T> {
  if (row.type !== type) throw new TypeError(`event ${row.seq} is ${row.type}, not ${type}`);
  return row.meta as Meta<T>;
}

export function isNodeType(type: EventType): boolean {
  return type.startsWith("message/");
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

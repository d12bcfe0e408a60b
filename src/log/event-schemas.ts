/**
 * The vocabulary of the log: one zod schema for the `meta` of each event type. Nodes (`message/*`) and forms carry bytes of their own
 * in `body`; everything else is in `meta`. Pure.
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

/**
 * `origin`: Plimsoll wrote it. `entering`: part of a request that the provider has not accepted yet, so only the branch's tip moves.
 * `sibling`: one of several choices behind that node, none of which is the line yet: nothing moves.
 */
const messageSchema = z.strictObject({
  origin: z.literal("plimsoll").optional(),
  entering: z.literal(true).optional(),
  sibling: seq.optional(),
});

/**
 * What a drop-in request was, to know it again. `digest`: SHA-256 of its body; `key`: its Idempotency-Key; `prefix`: the first `bytes` bytes,
 * with `digest`, hold `count` listed messages, of which the last is `node`. Digests are hex.
 */
const requestSchema = z.strictObject({
  digest: z.string(),
  key: z.string().optional(),
  prefix: z
    .strictObject({ bytes: z.number().int(), digest: z.string(), count: z.number().int(), node: seq })
    .optional(),
});
export type StepRequest = z.infer<typeof requestSchema>;

/** What a reply said beside its messages: enough to give it again. `usage` has the dialect's own shape. */
const replySchema = z.strictObject({
  id: z.string().optional(),
  model: z.string().optional(),
  created: z.number().optional(),
  finish: z.string().optional(),
  usage: z.unknown().optional(),
});

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
  /** `from` is the node the branch begins with (0: none); `view` what it inherits; `dialect` where it is not the session's. */
  "branch/opened": z.strictObject({
    name,
    from: seq,
    parent: seq,
    view: seq,
    generation: z.number().int(),
    dialect: z.enum(dialectNames).optional(),
  }),
  /** Nodes that the log holds already become part of the branch: accepted up to `head`, entering from there to `tip`. */
  "branch/advanced": z.strictObject({ head: seq, tip: seq }),
  "request/header": z.strictObject({ envelope: z.string(), price: tokens, bytes: z.number().int() }),
  /** A user message that waits for a step: its JSON, as it was posted. Claimed once the provider has taken it. */
  "inbox/enqueued": z.strictObject({ message: z.string() }),
  "inbox/claimed": z.strictObject({ seqs: z.array(seq) }),
  /** A drop-in request that was sent on as it came, and why. */
  "request/unmanaged": z.strictObject({ route: z.string(), because: z.string() }),
  /** Shadow mode: what would have been done to the request of the step. */
  "request/shadow": z.strictObject({
    route: z.string(),
    tokens,
    threshold: tokens.nullable(),
    /** Nodes that would have been pruned, the pressure after that, and the span that would have been summarized. */
    prunes: z.array(seq),
    afterPrune: tokens,
    span: spanSchema.nullable(),
  }),
  /** Runtime context as it was told to the model: a node, whose body is a user message. `key` tells which text; "" that none is active. */
  "context/runtime": messageSchema.extend({ key: z.string() }),
  /** What refusals taught about a route, whole: limits in the provider's tokens, each until a time. */
  "route/learned": z.strictObject({
    route: z.string(),
    limits: z.array(
      z.union([
        z.strictObject({ window: z.number().int(), until: z.number() }),
        z.strictObject({ inputLimit: z.number().int(), until: z.number() }),
      ]),
    ),
  }),
  "message/user": messageSchema,
  "message/assistant": messageSchema,
  "message/tool": messageSchema,
  "message/system": messageSchema,
  "step/start": z.strictObject({
    route: z.string().nullable(),
    envelope: z.string(),
    view: seq,
    generation: z.number().int(),
    maxOutput: z.number().int().nullable(),
    deadline: z.number(),
    /** Only where Plimsoll itself calls the provider: the instance that does, and the client's request. */
    epoch: z.string().optional(),
    request: requestSchema.optional(),
  }),
  "step/end": z.strictObject({ step: seq, reply: replySchema.optional() }),
  "step/failed": z.strictObject({
    step: seq,
    reason: z.string(),
    status: z.number().int().optional(),
    resend: z.boolean(),
  }),
  "step/aborted": z.strictObject({
    step: seq,
    reason: z.enum(["client", "superseded", "deadline", "interrupted"]),
  }),
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
    kind: z.enum(["prune", "checkpoint", "route", "adopt", "trimmed"]),
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

/**
 * The policy of a session: what may be compacted, when, and at what cost. Resolved for one exact `provider/model` route from
 * defaults, deployment (`POLICY`), route (`ROUTES`) and session, the later over the earlier. A schema holds only keys that work.
 */
import { z } from "zod";

/** Longest marker that a prune leaves, in code points; `head + MARKER_LIMIT + tail <= over` keeps a form from being pruned again. */
export const MARKER_LIMIT = 160;

const ratio = z.number().gt(0).lte(1);
const count = z.number().int().min(0);
const route = z.string().regex(/^[^/\s]+\/\S+$/);

export const pruneSchema = z
  .strictObject({
    over: z.number().int().min(MARKER_LIMIT),
    head: count,
    tail: count,
    protectGroups: count,
    exemptTools: z.array(z.string().min(1).max(128)).max(64),
  })
  .partial();

export const policySchema = z
  .strictObject({
    auto: z.boolean(),
    overflowRecovery: z.boolean(),
    thresholdRatio: ratio,
    runwayRatio: z.number().min(0).lt(1),
    maxContextTokens: z.number().int().positive(),
    retainRatio: ratio,
    retainTokens: count,
    boundary: z.enum(["turn", "pair"]),
    compactionRetries: count.max(8),
    maxPaidCalls: count.max(16),
    maxWaitMs: z.number().int().min(1).max(600_000),
    mode: z.enum(["active", "shadow", "off"]),
    cache: z.enum(["auto", "off"]),
    onDisconnect: z.enum(["abort", "finish"]),
    prune: pruneSchema,
    summary: z
      .strictObject({
        route: z.union([z.literal("self"), z.literal("extractive"), route]),
        maxTokens: z.number().int().positive(),
        shape: z.enum(["auto", "conversation", "transcript"]),
        instructions: z.string().max(8_192),
      })
      .partial(),
  })
  .partial()
  .refine((policy) => policy.retainRatio === undefined || policy.retainTokens === undefined, {
    error: "retainRatio and retainTokens are alternatives",
    path: ["retainTokens"],
  });

export type PolicyInput = z.infer<typeof policySchema>;

export interface PrunePolicy {
  readonly over: number;
  readonly head: number;
  readonly tail: number;
  readonly protectGroups: number;
  readonly exemptTools: readonly string[];
}

export interface Policy {
  readonly auto: boolean;
  readonly overflowRecovery: boolean;
  readonly thresholdRatio: number;
  readonly runwayRatio: number;
  readonly maxContextTokens: number | undefined;
  /** Exactly one of the two is set. */
  readonly retainRatio: number | undefined;
  readonly retainTokens: number | undefined;
  readonly boundary: "turn" | "pair";
  readonly compactionRetries: number;
  readonly maxPaidCalls: number;
  readonly maxWaitMs: number;
  /** `shadow`: drop-in requests go out as they came, and the log tells what would have been done. `off`: nothing of them is kept. */
  readonly mode: "active" | "shadow" | "off";
  /** Cache marks and cache keys that a drop-in request does not set itself. */
  readonly cache: "auto" | "off";
  /** What becomes of a drop-in step whose client does not come back. */
  readonly onDisconnect: "abort" | "finish";
  readonly prune: PrunePolicy;
  readonly summary: {
    readonly route: string;
    readonly maxTokens: number;
    readonly shape: "auto" | "conversation" | "transcript";
    readonly instructions: string | undefined;
  };
}

export const defaultPolicy: Policy = freeze({
  auto: true,
  overflowRecovery: true,
  thresholdRatio: 0.8,
  runwayRatio: 0.1,
  maxContextTokens: undefined,
  retainRatio: 0.16,
  retainTokens: undefined,
  boundary: "turn",
  compactionRetries: 1,
  maxPaidCalls: 3,
  maxWaitMs: 120_000,
  mode: "active",
  cache: "auto",
  onDisconnect: "abort",
  prune: { over: 8192, head: 4096, tail: 1024, protectGroups: 2, exemptTools: [] },
  summary: { route: "self", maxTokens: 8192, shape: "auto", instructions: undefined },
});

/**
 * Lays the given layers over the defaults, in order. `retainRatio` and `retainTokens` replace each other.
 * @throws PolicyFault when the resolved numbers contradict each other (a prune whose form would be pruned again).
 */
export function resolvePolicy(...layers: readonly (PolicyInput | undefined)[]): Policy {
  let policy = defaultPolicy;
  for (const layer of layers) if (layer !== undefined) policy = overlay(policy, layer);
  const { over, head, tail } = policy.prune;
  if (head + MARKER_LIMIT + tail > over) {
    throw new PolicyFault("prune.over", `head + marker (${MARKER_LIMIT}) + tail must not exceed over`);
  }
  return freeze(policy);
}

/** A policy whose keys are each legal but contradict each other. `key` is the place. */
export class PolicyFault extends Error {
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.name = "PolicyFault";
    this.key = key;
  }
}

function overlay(base: Policy, layer: PolicyInput): Policy {
  const { prune, summary, retainRatio, retainTokens, ...rest } = layer;
  const retain =
    retainTokens !== undefined
      ? { retainTokens, retainRatio: undefined }
      : retainRatio !== undefined
        ? { retainRatio, retainTokens: undefined }
        : {};
  return {
    ...base,
    ...defined(rest),
    ...retain,
    prune: {
      ...base.prune,
      ...defined(prune ?? {}),
      exemptTools: [...(prune?.exemptTools ?? base.prune.exemptTools)],
    },
    summary: { ...base.summary, ...defined(summary ?? {}) },
  };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as Defined<T>;
}

function freeze(policy: Policy): Policy {
  Object.freeze(policy.prune.exemptTools);
  Object.freeze(policy.prune);
  Object.freeze(policy.summary);
  return Object.freeze(policy);
}

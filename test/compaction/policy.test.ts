/** What the policy is when nobody says anything, how layers go over each other, and what is refused. */
import { describe, expect, it } from "vitest";
import { budgetOf } from "../../src/compaction/budget.ts";
import {
  defaultPolicy,
  MARKER_LIMIT,
  type PolicyInput,
  policySchema,
  resolvePolicy,
} from "../../src/compaction/policy.ts";
import { parseEnv } from "../../src/env.ts";
import { effectivePolicy } from "../../src/session/core.ts";

/** The first issue's place and words. */
function refusal(policy: unknown): { at: string; says: string } {
  const { error } = policySchema.safeParse(policy);
  const issue = error?.issues[0];
  const keys = issue?.code === "unrecognized_keys" ? [issue.keys[0] ?? ""] : [];
  return { at: [...(issue?.path ?? []), ...keys].join("."), says: issue?.message ?? "" };
}

describe("defaults", () => {
  it("[C1] [DSH-001] are those of the design, re-based: one key for the summary's route, `self`", () => {
    expect(resolvePolicy()).toEqual({
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
    expect(resolvePolicy({}, undefined, {})).toEqual(defaultPolicy);
  });

  it("[C1] [DSH-019] a resolved policy can not be changed, and later edits of its input do not leak in", () => {
    const exemptTools = ["read"];
    const policy = resolvePolicy({ prune: { over: 9_000, exemptTools } });
    exemptTools.push("bash");
    expect(policy.prune).toEqual({
      over: 9_000,
      head: 4096,
      tail: 1024,
      protectGroups: 2,
      exemptTools: ["read"],
    });
    const changes: (() => void)[] = [
      () => Object.assign(policy, { auto: false }),
      () => Object.assign(policy.prune, { over: 1 }),
      () => Object.assign(policy.summary, { route: "a/b" }),
      () => (policy.prune.exemptTools as string[]).push("bash"),
      () => Object.assign(defaultPolicy.prune, { head: 0 }),
    ];
    for (const change of changes) expect(change).toThrow(TypeError);
    expect(policy.prune.exemptTools).toEqual(["read"]);
  });
});

describe("layers", () => {
  const merged: [string, PolicyInput[], Partial<ReturnType<typeof resolvePolicy>>][] = [
    [
      "[DSH-003] retainTokens alone drops the default ratio",
      [{ retainTokens: 70 }],
      { thresholdRatio: 0.8, retainTokens: 70, retainRatio: undefined },
    ],
    [
      "retainRatio over an inherited retainTokens drops it",
      [{ retainTokens: 200 }, { retainRatio: 0.2 }],
      { retainRatio: 0.2, retainTokens: undefined },
    ],
    [
      "retainTokens over an inherited ratio drops it",
      [{ retainRatio: 0.3 }, { retainTokens: 0 }],
      { retainTokens: 0, retainRatio: undefined },
    ],
    [
      "an undefined key of a later layer changes nothing",
      [{ thresholdRatio: 0.5 }, { thresholdRatio: undefined } as PolicyInput],
      { thresholdRatio: 0.5 },
    ],
    [
      "prune is merged key by key",
      [{ prune: { over: 9_000 } }, { prune: { protectGroups: 0 } }],
      { prune: { ...defaultPolicy.prune, over: 9_000, protectGroups: 0 } },
    ],
  ];
  it.each(merged)("[C1] %s", (_, layers, expected) => {
    expect(resolvePolicy(...layers)).toMatchObject(expected);
  });

  const config = (routes: unknown, policy: unknown = {}) =>
    parseEnv({ ROUTES: JSON.stringify(routes), POLICY: JSON.stringify(policy) });
  const numbers = (made: ReturnType<typeof resolvePolicy>, window: number) => {
    const { threshold, ceiling } = budgetOf(made, { window, maxOutput: 1 }, undefined);
    return {
      threshold,
      ceiling,
      keep: made.retainTokens ?? Math.floor((made.retainRatio ?? 0) * (ceiling ?? 0)),
    };
  };

  it("[C1] [DSH-004] a route's own policy holds for exactly that provider/model, re-based: of the ceiling", () => {
    const { routes, policy } = {
      routes: { "small/shared": { policy: { thresholdRatio: 0.5, retainTokens: 120 } } },
      policy: { retainRatio: 0.1 },
    };
    const made = effectivePolicy(config(routes, policy), "small/shared", {});
    expect(numbers(made, 1_001)).toEqual({ threshold: 500, ceiling: 1_000, keep: 120 });
    const other = effectivePolicy(config(routes, policy), "large/shared", {});
    expect(numbers(other, 2_001)).toEqual({ threshold: 1_600, ceiling: 2_000, keep: 200 });
  });

  it("[C1] [DSH-006] a route's policy takes over every key it names, its ratio the place of an absolute value", () => {
    const own = {
      thresholdRatio: 0.6,
      retainRatio: 0.2,
      compactionRetries: 2,
      maxPaidCalls: 5,
      summary: { route: "other/writer", maxTokens: 512 },
    };
    const made = effectivePolicy(config({ "p/m": { policy: own } }, { retainTokens: 200 }), "p/m", {});
    expect(made).toMatchObject({ ...own, retainTokens: undefined });
    expect(numbers(made, 2_001)).toMatchObject({ threshold: 1_200, keep: 400 });
  });

  it("[C1] [DSH-007] the summary's route moves as one: inherited, set back to self, or another", () => {
    const routes = {
      "p/inherits": { policy: {} },
      "p/self": { policy: { summary: { route: "self" } } },
      "p/own": { policy: { summary: { route: "b/two" } } },
    };
    const deployed = config(routes, { summary: { route: "a/one" } });
    const writer = (route: string) => effectivePolicy(deployed, route, {}).summary.route;
    expect(Object.keys(routes).map(writer)).toEqual(["a/one", "self", "b/two"]);
  });

  it("[C1] [ROO-003] a route's threshold goes over the deployment's, and an absent one falls back to it", () => {
    const deployed = config(
      { "p/own": { policy: { thresholdRatio: 0.5 } }, "p/none": {} },
      { thresholdRatio: 0.8 },
    );
    expect(effectivePolicy(deployed, "p/own", {}).thresholdRatio).toBe(0.5);
    expect(effectivePolicy(deployed, "p/none", {}).thresholdRatio).toBe(0.8);
    expect(effectivePolicy(deployed, "p/own", { thresholdRatio: 0.9 }).thresholdRatio).toBe(0.9);
  });
});

describe("what is refused", () => {
  const faults: [string, unknown, string][] = [
    ["[DSH-009] an output cap of 0", { summary: { maxTokens: 0 } }, "summary.maxTokens"],
    ["[DSH-009] a negative number of retries", { compactionRetries: -1 }, "compactionRetries"],
    ["[DSH-009] a negative number of paid calls", { maxPaidCalls: -1 }, "maxPaidCalls"],
    ["[DSH-009] a switch that is no switch", { auto: "yes" }, "auto"],
    ["[DSH-009] a route that is a number", { summary: { route: 7 } }, "summary.route"],
    ["[DSH-010] a threshold of 0", { thresholdRatio: 0 }, "thresholdRatio"],
    ["[DSH-010] a threshold over 1", { thresholdRatio: 1.1 }, "thresholdRatio"],
    ["[DSH-012] both ways to retain", { retainRatio: 0.2, retainTokens: 100 }, "retainTokens"],
    ["[DSH-013] a negative tail", { retainTokens: -1 }, "retainTokens"],
    ["[DSH-016] a misspelled key", { thresholdRato: 0.8 }, "thresholdRato"],
    ["[DSH-016] a key of another product", { models: [] }, "models"],
    ["[DSH-008] half a route: no provider", { summary: { route: "model" } }, "summary.route"],
    ["[DSH-008] half a route: no model", { summary: { route: "provider/" } }, "summary.route"],
    ["a key of a later release", { background: "off" }, "background"],
    ["a ratio that is no number", { runwayRatio: Number.NaN }, "runwayRatio"],
    ["a runway of everything", { runwayRatio: 1 }, "runwayRatio"],
    ["a cap of no tokens", { maxContextTokens: 0 }, "maxContextTokens"],
    ["an endless wait", { maxWaitMs: 600_001 }, "maxWaitMs"],
    ["an unknown key inside prune", { prune: { keep: 1 } }, "prune.keep"],
    ["an exempt tool without a name", { prune: { exemptTools: [""] } }, "prune.exemptTools.0"],
  ];
  it.each(faults)("[C2] %s is refused by its place", (_, policy, at) => {
    expect(refusal(policy).at).toBe(at);
  });

  const borders: [string, PolicyInput][] = [
    ["[DSH-010] a threshold of exactly 1", { thresholdRatio: 1 }],
    ["[DSH-013] a tail of 0", { retainTokens: 0 }],
    ["no retries and no paid calls", { compactionRetries: 0, maxPaidCalls: 0 }],
    ["no runway", { runwayRatio: 0 }],
    ["no protection", { prune: { protectGroups: 0 } }],
  ];
  it.each(borders)("[C2] %s is legal", (_, policy) => {
    expect(policySchema.safeParse(policy).success).toBe(true);
  });

  it("[C2] [DSH-020] a prune whose form would be pruned again is refused in any layer, one that just fits is not", () => {
    const fits = { prune: { over: 40 + MARKER_LIMIT, head: 20, tail: 20 } };
    expect(resolvePolicy(fits).prune.over).toBe(200);
    expect(() => resolvePolicy({ prune: { ...fits.prune, head: 21 } })).toThrow("must not exceed over");
    expect(() => resolvePolicy({ prune: { over: 6_000 } }, { prune: { tail: 2_048 } })).toThrow(
      "must not exceed over",
    );
    expect(() => resolvePolicy({ prune: { over: 5_279 } })).toThrow(); // 4,096 + 160 + 1,024 is 5,280
    expect(() => resolvePolicy({ prune: { over: 5_280 } })).not.toThrow();
  });
});

/** Calls of a model inside one invocation: how often, what is tried again, what stands when none is usable. */
import { describe, expect, it } from "vitest";
import type { PolicyInput } from "../../src/compaction/policy.ts";
import type { CallResult } from "../../src/providers/provider.ts";
import { Bed, calls, reply, result, user } from "../support/engine.ts";
import { broke, compacted, writer, wrote } from "../support/summarizer.ts";

/** Fifty turns of 2,000 tokens over a window of 100,001: pressed, and easily relieved. */
function pressed(policy: PolicyInput = {}): Bed {
  const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 }, policy });
  for (let turn = 0; turn < 50; turn++) bed.say(user(988), reply(988));
  return bed;
}
const attempts = (bed: Bed) => bed.rows("compaction/attempt").map(({ meta }) => [meta.outcome, meta.reason]);
const cut = wrote("half a summ", { finish: "length", finishReason: "length" });

describe("replies that are refused", () => {
  const bad: [string, CallResult, string][] = [
    ["[KIMI-014] an empty one", wrote(""), "empty"],
    ["[KIMI-014] a blank one", wrote(" \n\t "), "empty"],
    ["[DSH-099] [PI-021] one that was cut at the output cap", cut, "truncated"],
    ["[OC-023] a tool call, which is never run", wrote("", { toolCalls: 1, finish: "tool" }), "tool-call"],
    [
      "[DSH-100] [KIMI-015] [CLI-013] one of private reasoning alone",
      wrote("<think>let me see"),
      "markup-only",
    ],
    ["one of markup alone", wrote("<summary></summary>"), "markup-only"],
    ["[GEM-012] one over its cap", wrote("word ".repeat(9_000)), "over-cap"],
  ];
  it.each(bad)(
    "[C36] %s: one corrective retry that says why, then the good one lands",
    async (_, first, reason) => {
      const bed = pressed();
      const { summarizer, seen } = writer([first]);
      const { ended } = await compacted(bed, summarizer);
      expect(attempts(bed)).toEqual([["refused", reason]]);
      expect(seen).toHaveLength(2);
      expect(seen[0]!.text).not.toContain("could not be used");
      expect(seen[1]!.text).toContain("could not be used");
      expect(ended).toMatchObject({ outcome: "done", rungs: ["summary"] });
      expect(JSON.stringify(bed.shown())).not.toContain("half a summ");
    },
  );

  it.each(bad)("[C36] %s, twice: code writes the checkpoint", async (_, first, reason) => {
    const bed = pressed();
    const { summarizer, seen } = writer([first, first]);
    const { ended } = await compacted(bed, summarizer);
    expect(seen).toHaveLength(2);
    expect(attempts(bed)).toEqual([
      ["refused", reason],
      ["refused", reason],
    ]);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["extractive"] });
  });

  it("[C36] a filtered one is not asked for again", async () => {
    const bed = pressed();
    const { summarizer, seen } = writer([wrote("no", { finish: "filter", finishReason: "content_filter" })]);
    const { ended } = await compacted(bed, summarizer);
    expect(seen).toHaveLength(1);
    expect(attempts(bed)).toEqual([["refused", "filtered"]]);
    expect(ended).toMatchObject({ rungs: ["extractive"] });
  });

  it("[C36] [KIMI-016] however a model goes on, the calls are bounded and the history is as it was", async () => {
    const bed = pressed({ maxPaidCalls: 16 });
    const before = bed.shown();
    const { summarizer, seen } = writer(Array.from({ length: 20 }, () => wrote("<think>still thinking")));
    const { ended } = await compacted(bed, summarizer, { trigger: "manual" });
    expect(seen).toHaveLength(2);
    expect(ended).toMatchObject({ outcome: "failed", reason: "markup-only" });
    expect(bed.shown()).toEqual(before);
  });
});

describe("calls that fail", () => {
  it("[C36] [PI-023] a dropped stream is tried again with the same request, as often as may be paid", async () => {
    const bed = pressed();
    const { summarizer, seen } = writer([broke("stream", true), broke("network", true)]);
    const { ended } = await compacted(bed, summarizer);
    expect(seen.map(({ text }) => text)).toEqual([seen[0]!.text, seen[0]!.text, seen[0]!.text]);
    expect(attempts(bed)).toEqual([
      ["failed", "stream"],
      ["failed", "network"],
    ]);
    expect(ended).toMatchObject({ rungs: ["summary"] });
    expect(bed.rows("compaction/summary")[0]!.meta.attempts).toBe(3);
  });

  it.each([
    ["[PI-025] of three, by default", {}, 3],
    ["[PI-025] of one", { maxPaidCalls: 1 }, 1],
    ["of none", { maxPaidCalls: 0 }, 0],
  ])("[C35] a budget %s bounds the calls; then code writes, or a person is told", async (_, policy, paid) => {
    for (const trigger of ["pressure", "manual"] as const) {
      const bed = pressed(policy);
      const { summarizer, seen } = writer(Array.from({ length: 9 }, () => broke("http", true)));
      const { ended } = await compacted(bed, summarizer, { trigger });
      expect(seen).toHaveLength(paid);
      expect(ended!.rungs).toEqual(trigger === "pressure" ? ["extractive"] : []);
      expect(bed.tip.gen).toBe(trigger === "pressure" ? 1 : 0);
    }
  });

  it.each([
    ["[PI-024] a quota that is used up", broke("http")],
    ["[DSH-098] an error of the provider", broke("stream")],
    ["garbage", broke("garbage")],
    ["a cancelled call", broke("cancelled")],
  ])("[C36] %s is not tried again", async (_, failure) => {
    const bed = pressed();
    const { summarizer, seen } = writer([failure]);
    await compacted(bed, summarizer);
    expect(seen).toHaveLength(1);
    expect(attempts(bed)).toEqual([["failed", failure.ok ? "" : failure.reason]]);
  });

  it("[C36] [KIMI-011] [KIMI-018] a summarizer that overflowed gets less of the span, at least a twentieth", async () => {
    const bed = pressed();
    const { summarizer, seen } = writer([broke("overflow"), broke("overflow")]);
    await compacted(bed, summarizer);
    const sizes = seen.map(({ text }) => text.length);
    expect(sizes).toHaveLength(3);
    expect(sizes[1]!).toBeLessThan(0.95 * sizes[0]!);
    expect(sizes[2]!).toBeLessThan(0.95 * sizes[1]!);
    const [summary] = bed.rows("compaction/summary");
    expect(summary!.meta.span.count).toBeLessThan(84);
    expect(bed.items().length).toBe(1 + 100 - summary!.meta.span.count);
  });

  it("[C37] [DSH-112] by hand a failed summary changes nothing, and the end record tells why", async () => {
    const bed = pressed();
    const before = bed.shown();
    const { ended } = await compacted(bed, writer([broke("http")]).summarizer, { trigger: "manual" });
    expect(bed.shown()).toEqual(before);
    expect(ended).toMatchObject({ outcome: "failed", reason: "http", progress: false });
    expect(bed.rows("compaction/end")[0]!.meta.reason).toBe("http");
  });
});

describe("time", () => {
  it("[C35] no attempt is longer than what is left of maxWaitMs, and none begins behind it", async () => {
    const bed = pressed({ maxWaitMs: 60_000 });
    const late = () => {
      bed.clock += 45_000;
      return broke("timeout", true);
    };
    const { summarizer, seen } = writer([late, late, late]);
    const { ended } = await compacted(bed, summarizer);
    expect(seen.map(({ timeoutMs }) => timeoutMs)).toEqual([60_000, 15_000]);
    expect(ended).toMatchObject({ rungs: ["extractive"] });
  });

  it("[C35] a single attempt has a bound of its own", async () => {
    const bed = pressed({ maxWaitMs: 600_000 });
    const { summarizer, seen } = writer();
    await compacted(bed, summarizer);
    expect(seen[0]!.timeoutMs).toBe(90_000);
  });
});

describe("what happened meanwhile", () => {
  it("[T35] [DSH-114] [KIMI-020] re-based: messages appended during the call land behind the checkpoint", async () => {
    const bed = pressed();
    const { summarizer } = writer([
      () => {
        bed.say(user("meanwhile"), reply("yes"));
        return wrote("All is done as asked.");
      },
    ]);
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["summary"] });
    expect(bed.shown().at(0)!.content).toContain("All is done as asked.");
    expect(bed.shown().slice(-2)).toEqual([user("meanwhile"), reply("yes")]);
  });

  it("[T35] [KIMI-022] [KIMI-045] a result that arrives during the call is not lost", async () => {
    const bed = pressed();
    bed.say(calls(["a", "b"]), result("a", "first"));
    const { summarizer } = writer([
      () => {
        bed.say(result("b", "second"));
        return wrote("All is done as asked.");
      },
    ]);
    await compacted(bed, summarizer);
    expect(bed.shown().slice(-3)).toEqual([calls(["a", "b"]), result("a", "first"), result("b", "second")]);
    expect(bed.items()[0]!.kind).toBe("checkpoint");
  });

  it("[T35] a reply after the claim is gone commits nothing; what it cost is in the log", async () => {
    const bed = pressed();
    const before = bed.shown();
    const end = {
      compaction: "c1",
      trigger: "pressure" as const,
      outcome: "cancelled" as const,
      rungs: [],
      tokensBefore: 0,
      tokensAfter: 0,
      progress: false,
    };
    const { summarizer, seen } = writer([
      () => {
        bed.write({ type: "compaction/end", at: 2, branch: 2, meta: end });
        return wrote("All is done as asked.");
      },
    ]);
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toBeUndefined();
    expect(bed.shown()).toEqual(before);
    expect(seen).toHaveLength(1);
    expect(bed.types().slice(-2)).toEqual(["compaction/end", "compaction/attempt"]);
    expect(bed.rows("compaction/attempt")[0]!.meta).toMatchObject({
      outcome: "failed",
      reason: "late",
      usage: { output: 20 },
    });
  });
});

describe("the evidence", () => {
  it("[C38] [DSH-095] [DSH-104] [PI-030] names span, price, the model that answered, usage, request id and digest", async () => {
    const bed = pressed();
    const { run } = await compacted(bed, writer().summarizer);
    const [summary] = bed.rows("compaction/summary");
    const { span, evidence, by } = summary!.meta;
    expect(span).toEqual({ from: 4, to: 87, count: 84, tokens: 84_000 });
    expect(by).toBe("fake/model");
    expect(evidence).toEqual({
      compaction: "c1",
      purpose: "compaction",
      route: "fake/model",
      shape: "conversation",
      span,
      outcome: "ok",
      ms: 5,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      requestId: "req_1",
      model: "model-0001",
      usage: { input: 500, cacheRead: 400, cacheWrite: 0, output: 20 },
    });
    expect(run.shadowed).toEqual({ items: 84, tokens: 84_000 });
  });

  it("[C38] a checkpoint by code says so and claims no call", async () => {
    const bed = pressed();
    await compacted(bed, { kind: "extractive" });
    const { by, evidence, attempts } = bed.rows("compaction/summary")[0]!.meta;
    expect([by, evidence.route, evidence.shape, attempts]).toEqual([
      "extractive",
      "extractive",
      "extractive",
      0,
    ]);
    expect(evidence).not.toHaveProperty("digest");
    expect(evidence).not.toHaveProperty("usage");
  });
});

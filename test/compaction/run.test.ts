/** One invocation, rung by rung: prune, summarize, and what is enough. */
import { describe, expect, it } from "vitest";
import type { PolicyInput } from "../../src/compaction/policy.ts";
import { runCompaction } from "../../src/compaction/run.ts";
import { Bed, calls, entered, invocation, reply, result, user } from "../support/engine.ts";
import { broke, byCode, compacted, writer } from "../support/summarizer.ts";

/** Ceiling 10,000, threshold 8,000, enough 7,200; a minimal progress is 800. */
const capacity = { window: 10_001, maxOutput: 1 };
const bedOf = (policy: PolicyInput = {}) => new Bed({ capacity, policy });

/** Turns of two messages, each message 100 tokens. */
function turns(bed: Bed, count: number): Bed {
  for (let turn = 0; turn < count; turn++) bed.say(user(88), reply(88));
  return bed;
}
/** Old outputs that are worth pruning: 1,100 each in place of 5,000. */
const small: PolicyInput = { prune: { over: 1_300, head: 900, tail: 100, protectGroups: 0 } };
const group = (bed: Bed, id: string, size = 4_970) => bed.say(calls([id]), result(id, size));

describe("the order of the rungs", () => {
  it("[C30] pruning that is enough calls no model", async () => {
    const bed = turns(bedOf(small), 35);
    group(bed, "a");
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["prune"], progress: true });
    expect(ended!.tokensBefore).toBe(12_000);
    expect(ended!.tokensAfter).toBeLessThan(7_200 + 1_300);
    expect(seen).toHaveLength(0);
    expect(bed.types().slice(-4)).toEqual([
      "compaction/start",
      "compaction/prune",
      "surface/replace",
      "compaction/end",
    ]);
  });

  it("[C30] where it is not enough, one summary takes the head", async () => {
    const bed = turns(bedOf(small), 45);
    group(bed, "a");
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["prune", "summary"] });
    expect(seen).toHaveLength(1);
    expect(bed.items()[0]!.kind).toBe("checkpoint");
    expect(bed.tip.gen).toBe(2);
  });

  it("[C30] [DSH-067] re-based: protected results are left whole, and one summary does it", async () => {
    const bed = bedOf({ prune: { protectGroups: 2 }, retainTokens: 100 });
    const [, , kept] = bed.say(user(6_000), calls(["a"]), result("a", 2_500));
    const { summarizer, seen } = writer();
    await compacted(bed, summarizer, {}, { batch: bed.batch(user(9)) });
    expect(seen).toHaveLength(1);
    expect(bed.rows("compaction/prune")).toEqual([]);
    expect(JSON.parse(new TextDecoder().decode(bed.log.body(kept!)))).toEqual(result("a", 2_500));
  });

  it("[C30] a landed prune stays when no summary follows", async () => {
    const bed = turns(bedOf({ ...small, retainTokens: 8_000 }), 3);
    group(bed, "a");
    bed.say(user(7_900));
    const { ended } = await compacted(bed, byCode);
    expect(ended).toMatchObject({ outcome: "failed", progress: true });
    expect(ended!.rungs[0]).toBe("prune");
    expect(bed.tip.gen).toBeGreaterThanOrEqual(1);
  });
});

describe("rounds", () => {
  it("[C31] one more checkpoint after the first, with half the tail, and no more", async () => {
    const bed = turns(bedOf({ retainTokens: 3_600, summary: { maxTokens: 5_000 } }), 60);
    const heavy = { envelope: { tokens: 5_000, bytes: 0 } };
    const { summarizer, seen } = writer();
    const { ended, run } = await compacted(bed, summarizer, {}, heavy);
    // Half of what 5,000 of envelope leave below the threshold is 1,500: a first tail of 1,600.
    expect(run.checkpoints).toHaveLength(1);
    expect(ended!.outcome).toBe("done");
    expect(seen).toHaveLength(1);
    const tight = turns(bedOf({ retainTokens: 3_600, thresholdRatio: 0.3 }), 60);
    const twice = writer();
    const two = await compacted(tight, twice.summarizer, {}, { envelope: { tokens: 1_500, bytes: 0 } });
    expect(two.run.checkpoints.length).toBeLessThanOrEqual(2);
    expect(twice.seen.length).toBe(two.run.checkpoints.length);
  });

  it("[C31] compactionRetries 0 is a single round", async () => {
    for (const [compactionRetries, rounds] of [
      [0, 1],
      [1, 2],
      [3, 4],
    ] as const) {
      const bed = turns(
        bedOf({
          compactionRetries,
          thresholdRatio: 0.05,
          runwayRatio: 0,
          retainTokens: 4_000,
          boundary: "pair",
        }),
        49,
      );
      const { run } = await compacted(bed, byCode, {}, { envelope: { tokens: 300, bytes: 0 } });
      expect(run.checkpoints.length).toBeLessThanOrEqual(rounds);
    }
  });

  it("[C32] a request that still does not fit the ceiling gets one round more, which keeps one unit", async () => {
    const bed = turns(bedOf({ compactionRetries: 0, retainTokens: 1_000 }), 20);
    bed.say(user(588), reply(3_388), user(4_988), reply(88));
    const { ended, run } = await compacted(bed, byCode, {}, { batch: bed.batch(user(3_000)) });
    expect(run.checkpoints).toHaveLength(2);
    expect(bed.items().length).toBe(1);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["extractive", "extractive"] });
  });
});

describe("what is not worth it", () => {
  it("[C23] [OH-010] a span that could not free a tenth of the threshold is left alone, no model called", async () => {
    const bed = turns(bedOf({ retainTokens: 4_000, boundary: "pair" }), 2);
    bed.say(user(7_900));
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "failed", reason: "not-relieved", rungs: [], progress: false });
    expect(seen).toHaveLength(0);
    expect(bed.tip.gen).toBe(0);
  });

  it("[C23] a checkpoint that frees less than that does not land, unless the request would not fit", async () => {
    const long = "word ".repeat(200); // 1,000 tokens and its frame, in place of 1,500
    const bed = () => {
      const made = bedOf({ retainTokens: 4_000, boundary: "pair", prune: { protectGroups: 0 } });
      made.say(user(688), reply(788), user(7_000));
      return made;
    };
    const calm = bed();
    const { summarizer } = writer([], {});
    Object.assign(summarizer, {
      call: async () => ({
        ok: true,
        ms: 1,
        reply: { text: long, toolCalls: 0, finish: "stop", finishReason: "stop" },
      }),
    });
    const first = await compacted(calm, summarizer);
    expect(calm.tip.gen).toBe(0);
    expect(first.ended).toMatchObject({ outcome: "failed", progress: false });
    const tight = bed();
    const second = await compacted(tight, byCode, {}, { batch: tight.batch(user(1_400)) });
    expect(second.run.checkpoints.length).toBeGreaterThan(0);
  });

  it("[C23] [GEM-012] a summary that is not smaller than its span leaves everything as it was", async () => {
    const bed = turns(bedOf(), 41);
    const before = bed.shown();
    const { summarizer } = writer();
    Object.assign(summarizer, {
      call: async () => ({
        ok: true,
        ms: 1,
        reply: { text: "w ".repeat(9_000), toolCalls: 0, finish: "stop", finishReason: "stop" },
      }),
    });
    const { ended } = await compacted(bed, summarizer, { trigger: "manual" });
    expect(bed.shown()).toEqual(before);
    expect(ended).toMatchObject({ outcome: "failed", reason: "over-cap" });
  });
});

describe("the end of an invocation", () => {
  it("[C33] tells the numbers, the rungs, and why it was not enough", async () => {
    const bed = turns(bedOf(), 50);
    const { ended } = await compacted(bed, byCode);
    expect(bed.rows("compaction/end").map(({ meta }) => meta)).toEqual([{ compaction: "c1", ...ended }]);
    expect(ended).toMatchObject({
      trigger: "pressure",
      outcome: "done",
      rungs: ["extractive"],
      tokensBefore: 10_000,
    });
    expect(ended!.tokensAfter).toBe(bed.snapshot().measure.tokens);
  });

  it("[C33] a defect on the way releases the branch and comes out as it is", async () => {
    const bed = turns(bedOf(), 50);
    const failing = runCompaction(
      bed.ground,
      () => entered(),
      byCode,
      invocation(),
      () => {
        throw new TypeError("broken");
      },
    );
    await expect(failing).rejects.toThrow("broken");
    expect(bed.tip.claim).toBe("");
    expect(bed.rows("compaction/end")[0]!.meta).toMatchObject({ outcome: "failed", reason: "error" });
  });

  it("[C33] [DSH-106] start, attempt evidence, summary and end stand in this order, none of them in the Surface", async () => {
    const bed = turns(bedOf(), 50);
    const { summarizer } = writer([broke("network", true)]);
    await compacted(bed, summarizer);
    expect(bed.types().slice(-5)).toEqual([
      "compaction/start",
      "compaction/attempt",
      "compaction/summary",
      "surface/replace",
      "compaction/end",
    ]);
    expect(bed.items().filter(({ kind }) => kind === "checkpoint")).toHaveLength(1);
  });
});

describe("with code alone", () => {
  it("[C34] the breaker or a used-up budget keeps the model out, not the checkpoint", async () => {
    const bed = turns(bedOf(), 50);
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer, { codeOnly: true });
    expect(seen).toHaveLength(0);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["extractive"] });
  });

  it("[C34] [DSH-096] the built-in summarizer needs no route", async () => {
    const bed = turns(bedOf(), 50);
    bed.ground = { ...bed.ground, route: null };
    expect((await compacted(bed, byCode)).ended).toMatchObject({ outcome: "done" });
  });
});

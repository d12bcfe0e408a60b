/** One invocation, rung by rung: prune, summarize, and what is enough. */
import { describe, expect, it } from "vitest";
import type { PolicyInput } from "../../src/compaction/policy.ts";
import { runCompaction } from "../../src/compaction/run.ts";
import { Bed, calls, entered, invocation, reply, result, user } from "../support/engine.ts";
import { broke, byCode, compacted, writer, wrote } from "../support/summarizer.ts";

/** Ceiling 100,000, threshold 80,000, enough 72,000; a first round must free 8,000. */
const capacity = { window: 100_001, maxOutput: 1 };
const bedOf = (policy: PolicyInput = {}) => new Bed({ capacity, policy });

/** Turns of two messages, each message 1,000 tokens. */
function turns(bed: Bed, count: number): Bed {
  for (let turn = 0; turn < count; turn++) bed.say(user(988), reply(988));
  return bed;
}
const small: PolicyInput = { prune: { over: 1_300, head: 900, tail: 100, protectGroups: 0 } };

describe("the order of the rungs", () => {
  it("[C30] pruning that is enough calls no model", async () => {
    const bed = turns(bedOf(small), 30);
    bed.say(calls(["a"]), result("a", 29_970));
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["prune"], progress: true, tokensBefore: 90_000 });
    expect(ended!.tokensAfter).toBeLessThan(61_200);
    expect(seen).toHaveLength(0);
    const kinds = ["compaction/start", "compaction/prune", "surface/replace", "compaction/end"];
    expect(bed.types().slice(-4)).toEqual(kinds);
  });

  it("[C30] where it is not enough, one summary takes the head", async () => {
    const bed = turns(bedOf(small), 40);
    bed.say(calls(["a"]), result("a", 19_970));
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["prune", "summary"] });
    expect(seen).toHaveLength(1);
    expect(bed.items()[0]!.kind).toBe("checkpoint");
    expect(bed.tip.gen).toBe(2);
  });

  it("[C30] [DSH-067] re-based: a protected result is left whole, and one summary does it", async () => {
    const bed = turns(bedOf({ retainTokens: 100 }), 30);
    const [, kept] = bed.say(calls(["a"]), result("a", 30_000));
    const { summarizer, seen } = writer();
    await compacted(bed, summarizer, {}, { batch: bed.batch(user(9)) });
    expect(seen).toHaveLength(1);
    expect(bed.rows("compaction/prune")).toEqual([]);
    expect(bed.shown().at(-1)).toEqual(result("a", 30_000));
    expect(bed.items().at(-1)!.body).toBe(kept);
  });

  it("[C30] a landed prune stays when no summary follows", async () => {
    const bed = bedOf(small);
    bed.say(calls(["a"]), result("a", 20_000), user(79_000));
    const { summarizer } = writer([broke("http"), broke("http"), broke("http")]);
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "failed", rungs: ["prune"], progress: true });
    expect(bed.tip.gen).toBe(1);
  });
});

/** A tail that one round can not shorten enough: 60,000 and 12,000 behind ten turns. */
function stubborn(compactionRetries: number): Bed {
  const bed = turns(bedOf({ compactionRetries }), 10);
  bed.say(user(59_988), reply(11_988));
  return bed;
}

describe("rounds", () => {
  it.each([
    [0, 1],
    [1, 2],
    [5, 2],
  ])(
    "[C31] compactionRetries %i: %i checkpoints, each further one with half the tail, until it is enough",
    async (retries, rounds) => {
      const bed = stubborn(retries);
      const { summarizer, seen } = writer();
      const { ended, run } = await compacted(bed, summarizer);
      expect(run.checkpoints).toHaveLength(rounds);
      expect(seen).toHaveLength(rounds);
      expect(ended).toMatchObject({
        outcome: "done",
        rungs: Array.from({ length: rounds }, () => "summary"),
      });
      expect(bed.items().length).toBe(rounds === 1 ? 3 : 2);
    },
  );

  it("[C31] is enough after one where that leaves the runway", async () => {
    const bed = turns(bedOf(), 50);
    const { run } = await compacted(bed, writer().summarizer, {}, { envelope: { tokens: 50_000, bytes: 0 } });
    expect(run.checkpoints).toHaveLength(1);
  });

  it("[C32] a request that still does not fit the ceiling gets one round more, which keeps one unit", async () => {
    const bed = stubborn(0);
    const { ended, run } = await compacted(bed, byCode, {}, { batch: bed.batch(user(30_000)) });
    expect(run.checkpoints).toHaveLength(2);
    expect(bed.items().map(({ kind }) => kind)).toEqual(["checkpoint"]);
    expect(ended).toMatchObject({ outcome: "done", rungs: ["extractive", "extractive"] });
  });
});

describe("what is not worth it", () => {
  /** A span of 9,000 in front of one message of 75,000. */
  function lopsided(): Bed {
    const bed = bedOf({ boundary: "pair" });
    bed.say(user(5_988), reply(2_988), user(74_988));
    return bed;
  }

  it("[C23] [OH-010] a span that could not free a tenth of the threshold is left alone, no model called", async () => {
    const bed = bedOf();
    bed.say(user(2_000), reply(2_000), user(79_000));
    const { summarizer, seen } = writer();
    const { ended } = await compacted(bed, summarizer);
    expect(ended).toMatchObject({ outcome: "failed", reason: "not-relieved", rungs: [], progress: false });
    expect(seen).toHaveLength(0);
    expect(bed.tip.gen).toBe(0);
  });

  it("[C23] a checkpoint that frees less than that does not land, unless the request would not fit", async () => {
    const calm = lopsided();
    const { ended } = await compacted(calm, writer([wrote("word ".repeat(300))]).summarizer);
    expect(calm.tip.gen).toBe(0);
    expect(ended).toMatchObject({ outcome: "failed", reason: "not-worth", progress: false });
    expect(calm.rows("compaction/attempt").map(({ meta }) => [meta.outcome, meta.reason])).toEqual([
      ["refused", "not-worth"],
      ["refused", "not-worth"],
    ]);
    const tight = lopsided();
    const { run } = await compacted(
      tight,
      writer([wrote("word ".repeat(300))]).summarizer,
      {},
      { batch: tight.batch(user(20_000)) },
    );
    expect(run.rungs[0]).toBe("summary");
  });

  it("[C23] [GEM-012] a summary that is not smaller than its span leaves everything as it was", async () => {
    const bed = lopsided();
    const before = bed.shown();
    const { ended } = await compacted(
      bed,
      writer([wrote("word ".repeat(2_000)), wrote("word ".repeat(2_000))]).summarizer,
      { trigger: "manual" },
    );
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
      tokensBefore: 100_000,
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

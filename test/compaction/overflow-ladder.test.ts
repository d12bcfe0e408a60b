/** The rungs of one recovery from a provider's refusal: what each re-send begins with, and what counts as proof. */
import { describe, expect, it } from "vitest";
import { hasProgress, snapshotOf } from "../../src/compaction/invocation.ts";
import { Bed, type BedOptions, calls, reply, result, user } from "../support/engine.ts";
import { broke, byCode, compacted, writer } from "../support/summarizer.ts";

const overflow = { trigger: "overflow" as const };

/** Turns of 2,000 tokens over a window of 100,001. */
function turns(count: number, options: BedOptions = {}): Bed {
  const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 }, ...options });
  for (let turn = 0; turn < count; turn++) bed.say(user(988), reply(988));
  return bed;
}

/** A bed that the provider refused with its own limit, and what one recovery made of it. */
async function recovered(bed: Bed, resends: number, ceiling: number, summarizer = byCode) {
  const { run, ended } = await compacted(bed, summarizer, { ...overflow, resends, observed: { ceiling } });
  const now = snapshotOf(run);
  return {
    run,
    ended,
    tail: bed.items().length - 1,
    progress: hasProgress(run, now),
    fits: now.measure.tokens <= ceiling,
  };
}

describe("what is kept", () => {
  it("[O10] first the normal tail or a quarter of the ceiling, whichever is less", async () => {
    const wide = await recovered(turns(40, { policy: { retainTokens: 30_000 } }), 0, 60_000);
    expect(wide).toMatchObject({ tail: 16, progress: true, fits: true }); // 15,000 of 60,000, and its turn
    const normal = await recovered(turns(40, { policy: { retainTokens: 5_000 } }), 0, 60_000);
    expect(normal.tail).toBe(6);
  });

  it("[O10] after the first re-send the newest unit alone", async () => {
    for (const resends of [1, 2]) {
      const { tail, progress } = await recovered(turns(40), resends, 60_000);
      expect([tail, progress]).toEqual([1, true]);
    }
  });

  it("[O10] the newest unit alone too when the first rung is not enough", async () => {
    const bed = turns(20);
    bed.say(user(59_988), reply(988));
    const { run, tail, fits } = await recovered(bed, 0, 50_000);
    expect(run.checkpoints).toHaveLength(2);
    expect([tail, fits]).toEqual([1, true]);
  });

  it("[O10] [DSH-027] [KIMI-040] an unknown window and no threshold at all: the same rungs", async () => {
    const { tail, progress, ended } = await recovered(turns(40, { capacity: {} }), 0, 60_000);
    expect([tail, progress]).toEqual([10, true]);
    expect(ended).toMatchObject({ trigger: "overflow", outcome: "done" });
  });

  it("[O10] below the threshold all the same: the provider's word counts", async () => {
    const { progress, fits } = await recovered(turns(10), 0, 9_000);
    expect([progress, fits]).toEqual([true, true]);
  });
});

describe("pruning", () => {
  const policy = { prune: { over: 300, head: 20, tail: 10, protectGroups: 2, exemptTools: ["read"] } };

  it("[O11] [DSH-129] nothing is protected, and where that alone fits no summary is made", async () => {
    const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 }, policy });
    bed.say(calls(["a"]), result("a", 30_000));
    const { summarizer, seen } = writer();
    const { run, progress, fits } = await recovered(bed, 0, 20_000, summarizer);
    expect(run.rungs).toEqual(["prune"]);
    expect([progress, fits, bed.tip.gen, seen.length]).toEqual([true, true, 1, 0]);
  });

  it("[O11] [DSH-131] a landed prune is progress even if the summary then fails", async () => {
    const bed = turns(5, { policy });
    bed.say(calls(["a"]), result("a", 30_000));
    const failing = writer(Array.from({ length: 9 }, () => broke("http")));
    const { run, progress } = await recovered(bed, 0, 9_000, failing.summarizer);
    expect(run.rungs[0]).toBe("prune");
    expect(progress).toBe(true);
    expect(bed.rows("message/tool")).toHaveLength(1);
  });
});

describe("proof", () => {
  it("[O12] [DSH-134] [CLI-011] nothing legal to replace: no rung, no generation, no progress", async () => {
    const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 } });
    bed.say(calls(["a"]), result("a", 50));
    const { run, progress, ended } = await recovered(bed, 0, 40);
    expect([run.rungs, bed.tip.gen, progress]).toEqual([[], 0, false]);
    expect(ended).toMatchObject({ outcome: "failed", reason: "not-relieved", progress: false });
  });

  it("[O12] [DSH-135] [CF-039] a newer generation alone is none: the priced Surface must be smaller", async () => {
    const bed = turns(3);
    const { run } = await compacted(bed, byCode, overflow);
    const now = snapshotOf(run);
    expect(
      hasProgress(run, { ...now, measure: { ...now.measure, surface: run.before.measure.surface } }),
    ).toBe(false);
    expect(hasProgress(run, { ...now, branch: { ...now.branch, gen: run.before.generation } })).toBe(false);
  });

  it("[O12] a share of the threshold is not asked for: the least that fits will do", async () => {
    const bed = turns(40, { policy: { retainTokens: 77_000, boundary: "pair" } });
    const { progress, fits } = await recovered(bed, 0, 79_500);
    expect([progress, fits]).toEqual([true, true]);
  });

  it("[O13] the step stands in the claim, and the numbers of the refusal in its plan", async () => {
    const bed = turns(40);
    await compacted(bed, byCode, { ...overflow, step: 77, observed: { ratio: 1.5, ceiling: 60_000 } });
    expect(bed.rows("compaction/start")[0]!.meta).toMatchObject({
      trigger: "overflow",
      step: 77,
      tokens: 120_000,
    });
    expect(bed.rows("compaction/end")[0]!.meta.tokensBefore).toBe(120_000);
  });
});

/** Which prune forms, which span, and how large its checkpoint may be: the numbers behind a compaction. */
import { describe, expect, it } from "vitest";
import { measureNow, priceAt, viewOfBranch } from "../../src/compaction/ground.ts";
import {
  couldProgress,
  freesEnough,
  isPressed,
  isRelieved,
  type Keep,
  planOfCut,
  planSpan,
} from "../../src/compaction/plan.ts";
import type { PolicyInput } from "../../src/compaction/policy.ts";
import { Bed, type BedOptions, calls, entered, reply, result, user } from "../support/engine.ts";

/** A window of 10,001 tokens: ceiling 10,000, threshold 8,000, enough 7,200. */
const capacity = { window: 10_001, maxOutput: 1 };
const retain: Keep = { kind: "retain", share: 1 };

/** Turns of two messages, each message 100 tokens. */
function turns(count: number, options: BedOptions = {}): Bed {
  const bed = new Bed({ capacity, ...options });
  for (let turn = 0; turn < count; turn++) bed.say(user(88), reply(88));
  return bed;
}
const envelope = (tokens: number) => ({ envelope: { tokens, bytes: tokens } });
const cutOf = (bed: Bed, keep: Keep = retain, entering = {}) =>
  planSpan(bed.ground, bed.snapshot(entering), keep)?.cut;

describe("when there is something to do", () => {
  it("[C20] [DSH-054] [DSH-064] nothing below the threshold, something at it", () => {
    expect(isPressed(turns(39).snapshot())).toBe(false);
    const at = turns(40).snapshot();
    expect(at.measure.tokens).toBe(8_000);
    expect(isPressed(at)).toBe(true);
  });

  it("[C20] [DSH-041] [CF-016] [CLI-003] the envelope counts, though the Surface is the same", () => {
    const bed = turns(30);
    expect(isPressed(bed.snapshot())).toBe(false);
    expect(isPressed(bed.snapshot(envelope(2_000)))).toBe(true);
    expect(bed.snapshot(envelope(2_000)).measure.surface).toBe(6_000);
  });

  it("[C20] [KIMI-012] the entering batch counts before it is appended", () => {
    const bed = turns(39);
    expect(isPressed(bed.snapshot({ batch: bed.batch(user(188)) }))).toBe(true);
    expect(isPressed(bed.snapshot({ batch: bed.batch(user(187)) }))).toBe(false);
  });

  it("[C20] [DSH-053] trigger and cut stand on one and the same measure", () => {
    const bed = turns(40);
    const snapshot = bed.snapshot(envelope(7));
    expect(measureNow(bed.ground, bed.tip, viewOfBranch(bed.log, bed.tip), entered(envelope(7)))).toEqual(
      snapshot.measure,
    );
    expect(planSpan(bed.ground, snapshot, retain)?.span.tokens).toBe(snapshot.measure.surface - 1_600);
  });

  it("[C20] enough is the threshold less the runway", () => {
    expect(isRelieved(turns(36).snapshot())).toBe(true);
    expect(isRelieved(turns(37).snapshot())).toBe(false);
  });
});

describe("how much is retained", () => {
  const rows: [string, PolicyInput, number, number | undefined, object?][] = [
    ["a share of the ceiling: 1,600 of 10,000", {}, 1, 84],
    ["[CF-027] [CF-029] in the provider's tokens: half as much text at twice the ratio", {}, 2, 92],
    ["an absolute number where one is given", { retainTokens: 400 }, 1, 96],
    ["the nearest pair where turns are not asked for", { retainTokens: 500, boundary: "pair" }, 1, 95],
    ["the turn where they are", { retainTokens: 500 }, 1, 94],
    ["at most half of what the envelope leaves below the threshold", {}, 1, 96, envelope(7_200)],
    ["never less than the newest unit", { retainTokens: 0, boundary: "pair" }, 1, 99],
    [
      "[DSH-029] re-based: a tail as large as the threshold is halved, so that a cut is always left",
      { retainTokens: 8_000 },
      1,
      60,
    ],
    ["[GEM-001] re-based: also a tail of everything", { retainRatio: 1 }, 1, 60],
    [
      "[INV-016] nothing at all of an envelope beyond the threshold but the newest unit",
      { boundary: "pair" },
      1,
      99,
      envelope(9_000),
    ],
  ];
  it.each(rows)("[C21] %s", (_, policy, prior, cut, entering) => {
    expect(cutOf(turns(50, { policy, prior }), retain, entering)).toBe(cut);
  });

  it("[C21] each further round retains half of the one before", () => {
    const bed = turns(50);
    const rounds = [0, 1, 2].map((round) => cutOf(bed, { kind: "retain", share: 0.5 ** round }));
    expect(rounds).toEqual([84, 92, 96]);
  });

  it("[C21] overflow begins with the smaller of that tail and a quarter of the ceiling, then keeps one unit", () => {
    const bed = turns(50, { policy: { retainTokens: 4_000 } });
    expect(cutOf(bed)).toBe(60);
    expect(cutOf(bed, { kind: "quarter" })).toBe(74); // 2,500 of 10,000, and the turn behind it
    expect(cutOf(turns(50), { kind: "quarter" })).toBe(84);
    expect(cutOf(bed, { kind: "newest" })).toBe(99);
  });

  it("[C21] an unknown window still has a cut: of what the request weighs, or of the cap that one is willing to pay", () => {
    expect(cutOf(turns(50, { capacity: {} }))).toBe(84);
    const capped = turns(50, { capacity: {}, policy: { maxContextTokens: 5_000 } });
    expect(cutOf(capped)).toBe(92);
  });
});

describe("a turn cut", () => {
  it("[C5] is taken only if envelope, tail, batch and the checkpoint's cap still leave the runway", () => {
    const long = new Bed({ capacity, policy: { retainTokens: 2_000, summary: { maxTokens: 2_000 } } });
    long.say(user(88), reply(88), user(88), reply(1_588), reply(1_388), reply(588));
    expect(cutOf(long)).toBe(2); // 3,800 from the turn on, 1,900 for the checkpoint: within 7,200
    expect(cutOf(long, retain, envelope(1_000))).toBe(2);
    expect(cutOf(long, retain, envelope(3_000))).toBe(4);
  });
});

describe("the entering batch", () => {
  it("[C6] is the newest unit where it begins at a legal cut: the span may be the whole Surface", () => {
    const bed = turns(3);
    expect(cutOf(bed, { kind: "newest" }, { batch: bed.batch(user(9)) })).toBe(6);
    bed.say(user(9), calls(["a"]));
    expect(cutOf(bed, { kind: "newest" }, { batch: bed.batch(result("a", 9)) })).toBe(7);
  });

  it("[C6] [CDX-012] and it is never inside a span: no plan reaches behind the head", () => {
    const bed = turns(50);
    const batch = bed.batch(user(5_000));
    for (const keep of [retain, { kind: "quarter" }, { kind: "newest" }] as Keep[]) {
      const plan = planSpan(bed.ground, bed.snapshot({ batch }), keep)!;
      expect(plan.span.to).toBeLessThanOrEqual(bed.tip.head);
    }
  });
});

describe("the size of the checkpoint", () => {
  it("[C22] is half of what enough leaves beside envelope, tail and batch, at most the policy's", () => {
    const bed = turns(50);
    const plan = planSpan(bed.ground, bed.snapshot(envelope(1_000)), retain)!;
    expect(plan).toMatchObject({ cut: 84, tail: 1_600, cap: (7_200 - 1_000 - 1_600) / 2 });
    expect(plan.span).toEqual({ from: 4, to: 87, count: 84, tokens: 8_400 });
    const small = turns(50, { policy: { summary: { maxTokens: 300 } } });
    expect(planSpan(small.ground, small.snapshot(), retain)!.cap).toBe(300);
  });

  it("[C22] a shorter span leaves a longer tail, and one that is not worth a call is no plan", () => {
    const bed = turns(50);
    expect(planOfCut(bed.ground, bed.snapshot(), 40)).toMatchObject({ cut: 40, tail: 6_000, cap: 600 });
    expect(planOfCut(bed.ground, bed.snapshot(), 1)).toBeUndefined();
    expect(planSpan(new Bed().ground, new Bed().snapshot(), retain)).toBeUndefined();
  });
});

describe("progress", () => {
  it("[C23] a first round has to free a tenth of the threshold, in the provider's tokens", () => {
    const one = turns(50).snapshot();
    expect([freesEnough(one, 799), freesEnough(one, 800)]).toEqual([false, true]);
    const two = turns(50, { prior: 2 }).snapshot();
    expect([freesEnough(two, 399), freesEnough(two, 400)]).toEqual([false, true]);
    expect(freesEnough(turns(1, { capacity: {} }).snapshot(), 1)).toBe(true);
  });

  it("[C23] a span that is lighter than that is not even tried", () => {
    const bed = turns(3);
    expect(couldProgress(bed.snapshot(), planOfCut(bed.ground, bed.snapshot(), 4)!)).toBe(false);
    const more = turns(6);
    expect(couldProgress(more.snapshot(), planOfCut(more.ground, more.snapshot(), 8)!)).toBe(true);
  });
});

it("[C21] a price is what the request weighs when the pressure is so and so, also from an anchor", () => {
  const bed = turns(5, { prior: 2 });
  expect(priceAt(bed.snapshot(), 2_000)).toBe(1_000);
  const anchor = { node: bed.tip.head, total: 5_000, surface: 1_000, envelope: 0 };
  const usage = { input: 5_000, cacheRead: 0, cacheWrite: 0, output: 0 };
  bed.write({ type: "usage/reported", at: 1, branch: 2, meta: { usage, route: "fake/model", anchor } });
  const snapshot = bed.snapshot();
  expect(snapshot.measure).toMatchObject({ tokens: 5_000, source: "usage", surface: 1_000 });
  expect(priceAt(snapshot, 5_000)).toBe(1_000);
  expect(priceAt(snapshot, 4_000)).toBe(500);
});

it("[C24] what a refusal told holds for the plan: its ratio for the measure, its limit for every level", () => {
  const bed = turns(40);
  const snapshot = bed.snapshot({}, { ratio: 1.5, ceiling: 5_000 });
  expect(snapshot.measure).toMatchObject({ tokens: 12_000, source: "usage", ratio: 1.5 });
  expect(snapshot.budget).toMatchObject({ ceiling: 5_000, threshold: 5_000, enough: 5_000 });
  expect(bed.snapshot({}, { ceiling: 50_000 }).budget).toMatchObject({ ceiling: 10_000, threshold: 8_000 });
});

/** What a route can hold, from when on to compact, and what counts as enough. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { budgetOf, fits, isEnough, overThreshold } from "../../src/compaction/budget.ts";
import { type PolicyInput, resolvePolicy } from "../../src/compaction/policy.ts";
import type { Capacity } from "../../src/providers/provider.ts";

const budget = (capacity: Capacity, policy: PolicyInput = {}, asked?: number) =>
  budgetOf(resolvePolicy(policy), capacity, asked);
const load = (tokens: number, bytes = 0, images = 0) => ({ tokens, bytes, images });

describe("the ceiling and the threshold", () => {
  const rows: [string, Capacity, PolicyInput, number | undefined, number | undefined, number | undefined][] =
    [
      ["the window less 4,096 where nobody says", { window: 128_000 }, {}, undefined, 123_904, 99_123],
      ["the request's own output cap is reserved", { window: 128_000 }, {}, 32_000, 96_000, 76_800],
      ["else the route's", { window: 128_000, maxOutput: 8_000 }, {}, undefined, 120_000, 96_000],
      [
        "a reserve is never more than a quarter of the window",
        { window: 128_000 },
        {},
        100_000,
        96_000,
        76_800,
      ],
      [
        "an input limit below that governs",
        { window: 400_000, inputLimit: 272_000 },
        {},
        128_000,
        272_000,
        217_600,
      ],
      [
        "an input limit above it does not",
        { window: 200_000, inputLimit: 200_000 },
        {},
        32_000,
        168_000,
        134_400,
      ],
      ["an input limit stands without a window", { inputLimit: 100_000 }, {}, undefined, 100_000, 80_000],
      [
        "maxContextTokens lowers the threshold alone",
        { window: 1_000_000 },
        { maxContextTokens: 200_000 },
        undefined,
        995_904,
        200_000,
      ],
      [
        "a maxContextTokens above the threshold changes nothing",
        { window: 100_000 },
        { maxContextTokens: 99_999 },
        0,
        100_000,
        80_000,
      ],
      ["an unknown window has no ceiling and no threshold", {}, {}, undefined, undefined, undefined],
      [
        "with an unknown window maxContextTokens is the threshold",
        {},
        { maxContextTokens: 50_000 },
        1,
        undefined,
        50_000,
      ],
      ["a window of one token", { window: 1 }, {}, undefined, 1, 1],
      ["a window of three", { window: 3 }, {}, 4_096, 3, 2],
      ["a window of four", { window: 4 }, {}, 4_096, 3, 2],
      ["a ratio of 1 is the ceiling itself", { window: 10_000 }, { thresholdRatio: 1 }, 0, 10_000, 10_000],
    ];
  it.each(rows)("[C3] %s", (_, capacity, policy, asked, ceiling, threshold) => {
    expect(budget(capacity, policy, asked)).toMatchObject({ ceiling, threshold });
  });

  it("[C3] both are positive and ordered for every window, output cap and policy", () => {
    const any = fc.record({
      window: fc.integer({ min: 1, max: 2_000_000 }),
      inputLimit: fc.option(fc.integer({ min: 1, max: 2_000_000 }), { nil: undefined }),
      asked: fc.option(fc.integer({ min: 0, max: 4_000_000 }), { nil: undefined }),
      thresholdRatio: fc.double({ min: 0.0001, max: 1, noNaN: true }),
      runwayRatio: fc.double({ min: 0, max: 0.99, noNaN: true }),
    });
    fc.assert(
      fc.property(any, ({ window, inputLimit, asked, ...policy }) => {
        const made = budget({ window, ...(inputLimit === undefined ? {} : { inputLimit }) }, policy, asked);
        const { ceiling = 0, threshold = 0, enough = 0 } = made;
        expect(Number.isInteger(ceiling) && Number.isInteger(threshold) && Number.isInteger(enough)).toBe(
          true,
        );
        expect(enough).toBeGreaterThanOrEqual(1);
        expect(threshold).toBeGreaterThanOrEqual(enough);
        expect(ceiling).toBeGreaterThanOrEqual(threshold);
        expect(window).toBeGreaterThanOrEqual(ceiling);
      }),
    );
  });

  it("[C3] enough is the threshold less the runway", () => {
    expect(budget({ window: 100_000, maxOutput: 1 }).enough).toBe(Math.floor(79_999 * 0.9));
    expect(budget({ window: 100_000, maxOutput: 1 }, { runwayRatio: 0 }).enough).toBe(79_999);
    expect(budget({}).enough).toBeUndefined();
  });
});

/** Peers' trigger rows, each answered by the one formula of the design (80 % of the ceiling, reached at >=). */
describe("when to compact", () => {
  const rows: [string, Capacity, number | undefined, number, boolean][] = [
    ["[OC-001] 80,000 of 100,000 with 32,000 for the reply", { window: 100_000 }, 32_000, 80_000, true],
    [
      "[OC-004] an input limit of 272,000 governs a window of 400,000",
      { window: 400_000, inputLimit: 272_000 },
      128_000,
      274_000,
      true,
    ],
    [
      "[OC-006] 59,999 under an input limit of 120,000",
      { window: 200_000, inputLimit: 120_000 },
      10_000,
      59_999,
      false,
    ],
    [
      "[OC-007] an input limit as large as the window still leaves room for the reply",
      { window: 200_000, inputLimit: 200_000 },
      32_000,
      198_000,
      true,
    ],
    ["[OC-008] with an input limit", { window: 200_000, inputLimit: 200_000 }, 32_000, 181_000, true],
    ["[OC-008] and without one", { window: 200_000 }, 32_000, 181_000, true],
    ["[PI-005] 95,000 of 100,000 with 10,000 reserved", { window: 100_000 }, 10_000, 95_000, true],
    ["[PI-005] re-based: below 80 % of the 90,000", { window: 100_000 }, 10_000, 71_999, false],
    [
      "[INV-002] re-based: 160,000 of 200,000, where its fixed share said 170,000",
      { window: 200_000 },
      0,
      160_000,
      true,
    ],
    [
      "[INV-002] re-based: 79,999 of 100,000, where its fixed share said 83,616",
      { window: 100_000 },
      0,
      79_999,
      false,
    ],
    ["[INV-005] re-based: equal is reached", { window: 100_000 }, 0, 80_000, true],
    ["[INV-005] one less is not", { window: 100_000 }, 0, 79_999, false],
    ["[INV-006] nothing at all", { window: 100_000 }, 0, 0, false],
    ["[OH-003] re-based: at the limit, where it waited for one more", { window: 125 }, 0, 100, true],
    ["[KIMI-002] a reserve larger than the window is ignored", { window: 32_000 }, 50_000, 1, false],
    ["[KIMI-002] and the ratio of what is left decides", { window: 32_000 }, 50_000, 28_000, true],
    [
      "[KIMI-003] a declared input cap of 150,000 under a window of 200,000",
      { window: 200_000, inputLimit: 150_000 },
      undefined,
      160_000,
      true,
    ],
    [
      "[CLI-001] an input limit of 200,000 under a window of 400,000",
      { window: 400_000, inputLimit: 200_000 },
      undefined,
      160_000,
      true,
    ],
    [
      "[CLI-001] an input limit beyond the window",
      { window: 400_000, inputLimit: 500_000 },
      0,
      319_999,
      false,
    ],
    ["[CLI-001] re-based: the output is taken off, not a tenth", { window: 400_000 }, 128_000, 240_000, true],
    ["[CLI-001] re-based: a reserve is at most a quarter", { window: 400_000 }, 128_000, 239_999, false],
    [
      "[CLI-002] exactly at the share of the input limit",
      { window: 400_000, inputLimit: 272_000 },
      undefined,
      217_600,
      true,
    ],
    ["[CLI-002] slightly below it", { window: 400_000, inputLimit: 272_000 }, undefined, 217_599, false],
    [
      "[CLI-005] re-based: 80 %, not 90 %, of an input limit of 272,000",
      { window: 400_000, inputLimit: 272_000 },
      4_000,
      244_800,
      true,
    ],
  ];
  it.each(rows)("[C3] %s", (_, capacity, asked, tokens, expected) => {
    expect(overThreshold(load(tokens), budget(capacity, {}, asked))).toBe(expected);
  });

  it("[C3] [GEM-007] a share of 0.7: 600 of 1,000 is not over it, 700 is", () => {
    const made = budget({ window: 1_000 }, { thresholdRatio: 0.7 }, 0);
    expect(overThreshold(load(600), made)).toBe(false);
    expect(overThreshold(load(700), made)).toBe(true);
  });

  it.each([
    ["[OH-004] configured 500, route 100: 200 is over", 500, 125, 200, true],
    ["[OH-004] configured 100, route 500: 200 is over", 100, 625, 200, true],
    ["[OH-004] configured 100, route 500: 50 is not", 100, 625, 50, false],
  ])("[C3] %s: the stricter limit counts", (_, maxContextTokens, window, tokens, expected) => {
    expect(overThreshold(load(tokens), budget({ window }, { maxContextTokens }, 0))).toBe(expected);
  });

  it("[C3] [OH-005] re-based: soft between threshold and ceiling, hard beyond what the route can hold", () => {
    const made = budget({ window: 1_000 }, {}, 0);
    const kinds = [799, 800, 1_000, 1_001].map((tokens) => [
      overThreshold(load(tokens), made),
      fits(load(tokens), made),
    ]);
    expect(kinds).toEqual([
      [false, true],
      [true, true],
      [true, true],
      [true, false],
    ]);
  });

  it("[C3] nothing is ever over a threshold that is not known, and everything fits an unknown route", () => {
    const made = budget({});
    expect(overThreshold(load(10 ** 9), made)).toBe(false);
    expect(fits(load(10 ** 9, 10 ** 9, 10 ** 6), made)).toBe(true);
    expect(isEnough(load(10 ** 9), made)).toBe(true);
  });
});

describe("bytes and images", () => {
  const made = budget({ window: 100_000, maxRequestBytes: 1_000, maxImages: 20 });
  it.each([
    ["899 bytes", load(1, 899), false, true, true],
    ["900 bytes: nine tenths", load(1, 900), true, true, false],
    ["all of the bytes", load(1, 1_000), true, true, false],
    ["one byte more", load(1, 1_001), true, false, false],
    ["17 images", load(1, 0, 17), false, true, true],
    ["18 images", load(1, 0, 18), true, true, false],
    ["21 images", load(1, 0, 21), true, false, false],
  ])("[C3] are gauges of their own: %s", (_, of, over, fitting, enough) => {
    expect([overThreshold(of, made), fits(of, made), isEnough(of, made)]).toEqual([over, fitting, enough]);
  });
});

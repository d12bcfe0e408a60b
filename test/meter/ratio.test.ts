import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldRatio, noSamples, priorRatio, type RatioState, ratioOf } from "../../src/meter/ratio.ts";

const sample = fc.record({
  reported: fc.integer({ min: 1, max: 300_000 }),
  counted: fc.integer({ min: 1, max: 300_000 }),
});

/** The same from the definition: each sample weighs half for every 60,000 tokens counted after it. */
function naiveRatio(samples: readonly RatioState[], prior: number): number {
  let [reported, counted] = [prior * 20_000, 20_000];
  samples.forEach((one, i) => {
    const later = samples.slice(i + 1).reduce((sum, next) => sum + next.counted, 0);
    reported += one.reported * 0.5 ** (later / 60_000);
    counted += one.counted * 0.5 ** (later / 60_000);
  });
  return Math.min(2 * prior, Math.max(0.7 * prior, reported / counted));
}

describe("the prior of a route", () => {
  it.each([
    ["openai/gpt-5.2-codex", 1],
    ["openai/o4-mini", 1],
    ["openai/some-new-name", 1],
    ["azure/gpt-4o", 1],
    ["openrouter/openai/gpt-5.1", 1],
    ["bedrock/openai.gpt-oss-120b-1:0", 1],
    ["replay/o200k", 1],
    ["deepseek/deepseek-chat", 1.08],
    ["together/deepseek-ai/DeepSeek-V3", 1.08],
    ["openai/deepseek-reasoner", 1.08],
    ["anthropic/claude-opus-4-5-20251101", 1.25],
    ["anthropic/some-new-name", 1.25],
    ["openrouter/anthropic/claude-sonnet-4.5", 1.25],
    ["bedrock/us.anthropic.claude-sonnet-4-5-v1:0", 1.25],
    ["google/gemini-2.5-pro", 1.15],
    ["local/llama-3.3-70b", 1.15],
    ["openai-compatible/qwen3", 1.15],
    ["moonshot/kimi-k2", 1.15],
    ["", 1.15],
  ])("[M12] %s starts at %d", (route, prior) => {
    expect(priorRatio(route)).toBe(prior);
  });
});

describe("the ratio of a route", () => {
  it("[M12] is the prior while nothing was reported", () => {
    for (const prior of [1, 1.08, 1.25, 1.15]) expect(ratioOf(noSamples, prior)).toBeCloseTo(prior, 12);
  });

  it("[M13] equals its recomputation from all samples", () => {
    fc.assert(
      fc.property(
        fc.array(sample, { maxLength: 40 }),
        fc.constantFrom(1, 1.08, 1.25, 1.15),
        (samples, prior) => {
          const ratio = ratioOf(samples.reduce(foldRatio, noSamples), prior);
          expect(ratio).toBeCloseTo(naiveRatio(samples, prior), 9);
        },
      ),
    );
  });

  it("[M13] weighs the prior as 20,000 counted tokens", () => {
    const state = foldRatio(noSamples, { reported: 26_000, counted: 20_000 });
    expect(ratioOf(state, 1)).toBeCloseTo((26_000 + 20_000) / 40_000, 12);
  });

  it("[M13] forgets half of a sample for every 60,000 tokens counted after it", () => {
    const first = foldRatio(noSamples, { reported: 1_000_000, counted: 1_000_000 });
    const next = foldRatio(first, { reported: 60_000, counted: 60_000 });
    expect(next.counted).toBeCloseTo(500_000 + 60_000, 4);
    expect(next.reported).toBeCloseTo(500_000 + 60_000, 4);
  });

  it("[M13] stays between 0.7 and 2 times the prior whatever is reported", () => {
    fc.assert(
      fc.property(fc.array(sample), (samples) => {
        const ratio = ratioOf(samples.reduce(foldRatio, noSamples), 1.25);
        expect(ratio).toBeGreaterThanOrEqual(0.7 * 1.25);
        expect(ratio).toBeLessThanOrEqual(2 * 1.25);
      }),
    );
    expect(ratioOf(foldRatio(noSamples, { reported: 1, counted: 1e9 }), 1.25)).toBe(0.7 * 1.25);
    expect(ratioOf(foldRatio(noSamples, { reported: 1e12, counted: 1e6 }), 1.25)).toBe(2 * 1.25);
  });

  it("[M13] ignores a sample without positive, finite numbers on both sides", () => {
    const state = foldRatio(noSamples, { reported: 130, counted: 100 });
    for (const bad of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(foldRatio(state, { reported: bad, counted: 10 })).toBe(state);
      expect(foldRatio(state, { reported: 10, counted: bad })).toBe(state);
    }
  });

  it("[M13] leaves the state it is given untouched", () => {
    const state: RatioState = Object.freeze({ reported: 10, counted: 10 });
    expect(foldRatio(state, { reported: 5, counted: 5 })).not.toBe(state);
    expect(state).toEqual({ reported: 10, counted: 10 });
  });
});

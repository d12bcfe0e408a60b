import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { budgetOf } from "../../src/compaction/budget.ts";
import { defaultPolicy } from "../../src/compaction/policy.ts";
import {
  LEARNED_MS,
  type LearnedLimit,
  learn,
  lifted,
  overlayLearned,
  remember,
} from "../../src/providers/learned.ts";
import { classifyRefusal, type Overflow } from "../../src/providers/overflow.ts";
import type { Capacity } from "../../src/providers/provider.ts";
import { anthropic, openai } from "./refusals.ts";

const now = 1_000_000;
const until = now + LEARNED_MS;

function refused(body: unknown, sent: number, known: Capacity): LearnedLimit | undefined {
  const verdict = classifyRefusal({ status: 400, body });
  return verdict.kind === "overflow"
    ? learn({ kind: "refused", overflow: verdict, sent }, known, now)
    : undefined;
}

describe("a lesson", () => {
  const said =
    "This model's maximum context length is 131072 tokens. However, your messages resulted in 140000 tokens.";

  it.each([
    ["the window that the provider states", openai(said), 90_000, { window: 200_000 }, { window: 131_072 }],
    ["the same where no window is known", openai(said), 90_000, {}, { window: 131_072 }],
    [
      "a limit of the input alone",
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
      250_000,
      { window: 400_000 },
      { inputLimit: 272_000 },
    ],
    [
      "the window of a refusal that only the output cap caused",
      anthropic("input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease"),
      140_000,
      { window: 1_000_000 },
      { window: 200_000 },
    ],
    [
      "a little less than what was refused without a number",
      openai("Your input exceeds the context window of this model", "context_length_exceeded"),
      100_000,
      { window: 400_000 },
      { inputLimit: 90_000 },
    ],
    [
      "what was sent less what was too much",
      "prompt too long; exceeded max context length by 904 tokens",
      5_000,
      {},
      { inputLimit: 4_096 },
    ],
  ] as const)("is %s", (_, body, sent, known, expected) => {
    expect(refused(body, sent, known)).toEqual({ ...expected, until });
  });

  it.each([
    ["the known window", openai(said), 90_000, { window: 131_072 }],
    ["a larger one", "prompt tokens (330095) exceed model maximum (278528)", 300_000, { window: 272_000 }],
    ["an absurdly small one", "prompt is too long: 1200 tokens > 999 maximum", 1_100, { window: 8_192 }],
    [
      "an output cap",
      "max_tokens is too large: 9000. This model supports at most 8192 completion tokens",
      90_000,
      {},
    ],
    [
      "a limit per minute",
      openai(
        "Request too large on tokens per min (TPM): Limit 30000, Requested 34307.",
        "rate_limit_exceeded",
      ),
      34_000,
      { window: 128_000 },
    ],
    [
      "an input limit above the window",
      "prompt token count of 300000 exceeds the limit of 250000",
      300_000,
      { window: 200_000, inputLimit: 300_000 },
    ],
    ["a refusal that our own numbers explain", "context_length_exceeded", 300_000, { window: 200_000 }],
    ["a short request", "context_length_exceeded", 600, { window: 200_000 }],
  ] as const)("is none: %s", (_, body, sent, known) => {
    expect(refused(body, sent, known)).toBeUndefined();
  });

  it("is what a reply filled when the window ended it", () => {
    expect(learn({ kind: "full", total: 199_900 }, { window: 1_000_000 }, now)).toEqual({
      window: 199_900,
      until,
    });
    expect(learn({ kind: "full", total: 201_000 }, { window: 200_000 }, now)).toBeUndefined();
  });

  it("is where two prompts were cut, not where one was", () => {
    const cut = { kind: "truncated", read: 4_090, before: 4_096 } as const;
    expect(learn(cut, {}, now)).toEqual({ inputLimit: 4_096, until });
    expect(learn({ ...cut, before: 2_050 }, {}, now)).toBeUndefined();
  });
});

describe("learned limits over what is known", () => {
  const window: LearnedLimit = { window: 100_000, until };
  const input: LearnedLimit = { inputLimit: 60_000, until };

  it("lower it until they expire", () => {
    const base = { window: 200_000, inputLimit: 150_000, maxOutput: 8_000 };
    expect(overlayLearned(base, [window], until - 1)).toEqual({
      capacity: { ...base, window: 100_000 },
      learned: true,
    });
    expect(overlayLearned(base, [window], until)).toEqual({ capacity: base, learned: false });
    expect(overlayLearned({}, [input], now)).toEqual({ capacity: { inputLimit: 60_000 }, learned: true });
  });

  it("stand for each kind as the newest says", () => {
    const lower: LearnedLimit = { window: 80_000, until: until + 5 };
    expect(remember(remember(remember([], window), input), lower)).toEqual([input, lower]);
  });

  it.each([
    ["more input than the limit", { input: 60_001, output: 10 }, [window]],
    ["as much as the limit", { input: 60_000, output: 10 }, [window, input]],
    ["input and output beyond the window", { input: 50_000, output: 50_001 }, [input]],
    ["more than both", { input: 100_001, output: 1 }, []],
  ])("are lifted by a request that got through with %s", (_, accepted, left) => {
    expect(lifted([window, input], accepted)).toEqual(left);
  });

  it("[KIMI-038] a refusal at 120,000 of a declared 200,000 makes the next 120,000 compact first, also under a declared input limit", () => {
    for (const known of [{ window: 200_000 }, { window: 200_000, inputLimit: 180_000 }]) {
      const lesson = refused("context_length_exceeded", 120_000, known)!;
      const threshold = (capacity: Capacity) => budgetOf(defaultPolicy, capacity, undefined).threshold!;
      expect(threshold(known)).toBeGreaterThan(120_000);
      expect(threshold(overlayLearned(known, [lesson], now).capacity)).toBeLessThanOrEqual(120_000);
    }
  });

  const limits = fc.record(
    { window: fc.integer({ min: 1, max: 300_000 }), inputLimit: fc.integer({ min: 1, max: 300_000 }) },
    { requiredKeys: [] },
  );

  it("never raise anything, whatever was said", () => {
    const overflow = fc.record(
      {
        limit: fc.integer({ min: 256, max: 400_000 }),
        inputTokens: fc.integer({ min: 0, max: 400_000 }),
        excess: fc.integer({ min: 0, max: 400_000 }),
        inputOnly: fc.constant(true as const),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(limits, overflow, fc.integer({ min: 0, max: 400_000 }), (known, told, sent) => {
        const said: Overflow = { kind: "overflow", ...told };
        const lesson = learn({ kind: "refused", overflow: said, sent }, known, now);
        const { capacity, learned } = overlayLearned(known, lesson === undefined ? [] : [lesson], now);
        expect(learned).toBe(lesson !== undefined);
        const most = (one: Capacity) => Math.min(one.inputLimit ?? Infinity, one.window ?? Infinity);
        expect(most(capacity)).toBeLessThanOrEqual(most(known));
        expect(most(capacity)).toBeGreaterThanOrEqual(Math.min(most(known), 1_000));
        if (lesson !== undefined)
          expect(learn({ kind: "refused", overflow: said, sent }, capacity, now)).toBeUndefined();
      }),
    );
  });
});

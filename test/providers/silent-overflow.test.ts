import { describe, expect, it } from "vitest";
import { classifyRefusal, silentOverflow } from "../../src/providers/overflow.ts";

describe("a bare status", () => {
  it.each([
    [
      "[KIMI-039] 413 at three quarters of the window",
      413,
      "Request Entity Too Large",
      150_000,
      200_000,
      "overflow",
    ],
    ["[KIMI-039] 413 at nothing", 413, "Request Entity Too Large", 20, 200_000, "other"],
    ["413 at half", 413, "", 100_000, 200_000, "overflow"],
    ["413 just below half", 413, "", 99_999, 200_000, "other"],
    ["413 with an unknown window", 413, "", 150_000, undefined, "other"],
    ["[PI-067] 400 without a body, near the window", 400, "", 160_000, 200_000, "overflow"],
    ["[PI-067] 400 without a body, small", 400, "", 20_000, 200_000, "other"],
    ["400 with words of its own", 400, "bad request", 199_000, 200_000, "other"],
    ["[PI-067] 429 without a body", 429, "", 199_000, 200_000, "rate-limit"],
  ] as const)("[O3] counts only beside a large estimate: %s", (_, status, body, estimate, window, kind) => {
    expect(classifyRefusal({ status, body, estimate, window })).toMatchObject({ kind });
  });

  it("[O3] [PI-067] is read from an SDK's text where the transport tells none", () => {
    const at = { estimate: 190_000, window: 200_000 };
    expect(classifyRefusal({ body: "400 (no body)", ...at })).toEqual({ kind: "overflow" });
    expect(classifyRefusal({ body: "413 status code (no body)", ...at })).toEqual({ kind: "overflow" });
    expect(classifyRefusal({ body: "429 (no body)", ...at })).toEqual({ kind: "rate-limit" });
  });
});

describe("a reply with status 200", () => {
  const usage = (input: number, output: number, cacheRead = 0, cacheWrite = 0) => ({
    input,
    output,
    cacheRead,
    cacheWrite,
  });

  it.each([
    ["[PI-065] full window, nothing produced", usage(58, 0, 1_048_512), "length", 1_048_576, "full", false],
    ["a small rest produced", usage(199_000, 900), "max_tokens", 200_000, "full", false],
    ["an empty reply near the window", usage(127_500, 0), "stop", 128_000, "full", false],
    [
      "[PI-050] more than the window, and answered",
      usage(150_000, 400, 60_000),
      "stop",
      200_000,
      "over-window",
      true,
    ],
    [
      "more than the window with cache writes",
      usage(10, 400, 0, 200_000),
      "end_turn",
      200_000,
      "over-window",
      true,
    ],
    ["cut above the window", usage(154_485, 462), "length", 128_000, "over-window", false],
  ] as const)("[O6] overflowed silently: %s", (_, reported, finish, window, sign, answered) => {
    const inputTokens = reported.input + reported.cacheRead + reported.cacheWrite;
    expect(silentOverflow({ usage: reported, finish, window })).toEqual({ sign, answered, inputTokens });
  });

  it("[O6] overflowed when the provider's finish reason says so, whatever is known", () => {
    const finish = "model_context_window_exceeded";
    expect(silentOverflow({ finish })).toEqual({ sign: "finish", answered: false });
    expect(silentOverflow({ finish, usage: usage(5, 5), window: 200_000 })).toMatchObject({ sign: "finish" });
  });

  it.each([
    ["[PI-066] the output cap far below the window", usage(1_000, 4_096), "length", 200_000],
    ["[PI-066] no output at a small input", usage(100, 0), "length", 200_000],
    ["no output just below 99 % of the window", usage(197_999, 0), "length", 200_000],
    ["exactly the window, answered", usage(200_000, 10), "stop", 200_000],
    ["an unknown window", usage(900_000, 0), "length", undefined],
    ["no usage", undefined, "length", 200_000],
  ] as const)("[O6] did not: %s", (_, reported, finish, window) => {
    expect(silentOverflow({ usage: reported, finish, window })).toBeUndefined();
  });

  it.each([
    ["less than half of what was sent", { sent: 10_000 }, 4_096, 200, "stop", true],
    ["a server's half window", { sent: 9_000 }, 2_050, 200, "stop", true],
    [
      "less than the request before, which this one only added to",
      { before: 8_000 },
      4_098,
      200,
      "stop",
      true,
    ],
    ["less, and nothing came of it", { sent: 10_000 }, 4_096, 0, "stop", false],
    ["less, and cut off", { sent: 10_000 }, 4_096, 12, "length", false],
  ] as const)(
    "[O6] was made from a prompt that lost its beginning: %s",
    (_, given, input, output, finish, answered) => {
      const replied = { usage: usage(input, output), finish, ...given };
      expect(silentOverflow(replied)).toEqual({ sign: "truncated", answered, inputTokens: input });
      expect(silentOverflow({ ...replied, window: 200_000 })).toMatchObject({ sign: "truncated" });
    },
  );

  it.each([
    ["an estimate that is a third too high", { sent: 6_000 }, 4_000],
    ["a short request", { sent: 1_900 }, 100],
    ["a prompt that lost some old thinking", { before: 8_000 }, 7_300],
    ["a provider that counts nothing", { sent: 90_000, before: 80_000 }, 0],
    ["one that counts the cache apart", { sent: 90_000 }, 99],
  ] as const)("[O6] was made from the whole prompt: %s", (what, given, input) => {
    const cached = what.includes("cache") ? 85_000 : 0;
    expect(silentOverflow({ usage: usage(input, 50, cached), finish: "stop", ...given })).toBeUndefined();
  });
});

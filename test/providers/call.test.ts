import { describe, expect, it } from "vitest";
import { callModel } from "../../src/providers/call.ts";
import { type Behaviour, createStrictProvider } from "../support/strict-provider.ts";
import { bodyFor, dialects, failure, KEY, trial, upstreamFor } from "./trial.ts";

const each = it.each(dialects);

describe("a call that succeeds", () => {
  each(
    "[V13] [DSH-089] posts the body with its cap as a stream, with the key where %s wants it",
    async (dialect) => {
      const { result, provider } = await trial({ dialect });
      expect(result.ok).toBe(true);
      const seen = provider.requests[0]!;
      expect(seen.url).toBe(
        `https://llm.example/base${dialect === "anthropic" ? "/v1/messages" : "/chat/completions"}`,
      );
      expect(seen.body).toMatchObject({ model: "m", max_tokens: 321, stream: true });
      expect(seen.redirect).toBe("manual");
      expect(seen.redirect).toBe("manual");
      expect(seen.headers.get("content-type")).toBe("application/json");
      const [mine, theirs] =
        dialect === "anthropic" ? ["x-api-key", "authorization"] : ["authorization", "x-api-key"];
      expect(seen.headers.get(mine)).toContain(KEY);
      expect(seen.headers.get(theirs)).toBeNull();
      expect(seen.headers.get("anthropic-version")).toBe(dialect === "anthropic" ? "2023-06-01" : null);
    },
  );

  each("[V13] [DSH-097] gives text, finish, usage, model and request id of %s", async (dialect) => {
    const usage = { input: 12, cacheRead: 5, cacheWrite: 2, output: 3 };
    const { result } = await trial({
      dialect,
      will: [{ do: "reply", text: "Grüße 🚢, and on.", thinking: "private", usage }],
    });
    expect(result).toEqual({
      ok: true,
      ms: expect.any(Number),
      reply: {
        text: "Grüße 🚢, and on.",
        toolCalls: 0,
        finish: "stop",
        finishReason: dialect === "anthropic" ? "end_turn" : "stop",
        usage,
        requestId: "req_strict",
        model: "m-0001",
      },
    });
  });

  each("[V13] does not depend on where the bytes of %s are cut", async (dialect) => {
    const text = "Grüße 🚢 über den Fluß.";
    for (const chunk of [1, 2, 3, 7, 64, 10_000]) {
      const { result } = await trial({ dialect, will: [{ do: "reply", text, chunk }] });
      expect(result).toMatchObject({ ok: true, reply: { text } });
    }
  });

  each("[V13] hands over empty, cut and calling replies of %s for the caller to judge", async (dialect) => {
    const [length, tool] = dialect === "anthropic" ? ["max_tokens", "tool_use"] : ["length", "tool_calls"];
    const call = { name: "read", args: "{}" };
    const replies = await Promise.all(
      [
        { text: "", thinking: "only this" },
        { text: "half", finish: length },
        { text: "a", calls: [call, call] },
      ].map(async (reply) => (await trial({ dialect, will: [{ do: "reply", ...reply }] })).result),
    );
    expect(replies).toMatchObject([
      { ok: true, reply: { text: "", finish: "stop" } },
      { ok: true, reply: { text: "half", finish: "length", finishReason: length } },
      { ok: true, reply: { text: "a", toolCalls: 2, finish: "tool", finishReason: tool } },
    ]);
  });

  it("[V13] takes an OpenAI stream that ends behind its finish reason without [DONE]", async () => {
    const body = 'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}';
    const { result } = await trial({ dialect: "openai-chat", will: [{ do: "garbage", body }] });
    expect(result).toMatchObject({ ok: true, reply: { text: "ok", finish: "stop" } });
  });

  it("[V13] leaves an upstream without a key without one", async () => {
    const provider = createStrictProvider();
    const { key: _, ...upstream } = upstreamFor("openai-chat");
    const options = { signal: new AbortController().signal, timeoutMs: 1_000, fetch: provider.fetch };
    expect((await callModel(upstream, bodyFor(), options)).ok).toBe(true);
    expect(provider.requests[0]!.headers.get("authorization")).toBeNull();
  });
});

describe("a call that is refused", () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const cases: [
    what: string,
    behaviour: Behaviour,
    reason: string,
    status: number | undefined,
    retryable: boolean,
  ][] = [
    ["an overflow", { do: "overflow", limit: 8_000, input: 9_000 }, "overflow", 400, false],
    ["a rate limit", { do: "rate-limit" }, "rate-limit", 429, true],
    ["a server error", { do: "server-error" }, "http", 500, true],
    ["an overload", { do: "server-error", status: 529 }, "http", 529, true],
    ["a gateway's timeout", { do: "refuse", status: 408, body: "<html>timeout</html>" }, "http", 408, true],
    [
      "[PI-024] a used up quota",
      { do: "refuse", status: 429, body: { error: { code: "insufficient_quota", message: "no" } } },
      "http",
      429,
      false,
    ],
    [
      "a bad request",
      { do: "refuse", status: 400, body: { error: { message: "no such parameter" } } },
      "http",
      400,
      false,
    ],
    [
      "a redirect",
      { do: "refuse", status: 302, body: "", headers: { location: "https://evil.example" } },
      "http",
      302,
      false,
    ],
    [
      "an error with status 200",
      { do: "refuse", status: 200, body: { error: { code: 502, message: "no upstream" } } },
      "stream",
      200,
      true,
    ],
    [
      "[DSH-098] an error inside the stream",
      { do: "error-event", after: "Half", error: overloaded },
      "stream",
      200,
      true,
    ],
    [
      "[DSH-098] another error inside the stream",
      {
        do: "error-event",
        after: "Half",
        error: { type: "error", error: { type: "invalid_request_error", message: "no" } },
      },
      "stream",
      200,
      false,
    ],
    [
      "an overflow inside the stream",
      {
        do: "error-event",
        after: "",
        error: { type: "error", error: { code: "context_length_exceeded", message: "no" } },
      },
      "overflow",
      200,
      false,
    ],
    [
      "a rate limit inside the stream",
      {
        do: "error-event",
        after: "",
        error: { type: "error", error: { type: "rate_limit_error", message: "slow down" } },
      },
      "rate-limit",
      200,
      true,
    ],
  ];

  for (const dialect of dialects) {
    it.each(cases)(
      `[V14] tells reason, status and whether to retry (${dialect}): %s`,
      async (_, behaviour, reason, status, retryable) => {
        const { result, provider } = await trial({ dialect, will: [behaviour] });
        expect(failure(result)).toMatchObject({ reason, status, retryable });
        expect(provider.requests).toHaveLength(1);
      },
    );
  }

  each("[V14] an illegal request to %s is refused by the provider and not tried again", async (dialect) => {
    const call =
      dialect === "anthropic"
        ? { role: "assistant", content: [{ type: "tool_use", id: "t", name: "x", input: {} }] }
        : {
            role: "assistant",
            tool_calls: [{ id: "t", type: "function", function: { name: "x", arguments: "{}" } }],
          };
    const messages = [{ role: "user", content: "hi" }, call];
    const body = bodyFor({ messages, tools: [{ name: "x" }] });
    const { result } = await trial({ dialect, body });
    expect(failure(result)).toMatchObject({ reason: "http", status: 400, retryable: false });
    expect(failure(result).detail).toContain("tool_");
  });
});

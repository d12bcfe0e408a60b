/** The fake itself: the vendors' own clients read it, and it refuses what the vendors refuse. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { classifyRefusal } from "../../src/providers/overflow.ts";
import { createStrictProvider, type StrictOptions, type StrictProvider } from "../support/strict-provider.ts";

const ask = [{ role: "user" as const, content: "hi" }];

function openai(provider: StrictProvider): OpenAI {
  return new OpenAI({ apiKey: "k", baseURL: "https://llm.example/v1", fetch: provider.fetch, maxRetries: 0 });
}

function anthropic(provider: StrictProvider): Anthropic {
  return new Anthropic({ apiKey: "k", baseURL: "https://llm.example", fetch: provider.fetch, maxRetries: 0 });
}

describe("the vendors' own clients", () => {
  it("[V19] OpenAI's reads its stream, its reply and its errors", async () => {
    const provider = createStrictProvider({ key: "k" });
    const client = openai(provider);
    const calls = [{ name: "read", args: '{"path":"a"}' }];
    provider.will(
      { do: "reply", text: "Hello", calls },
      { do: "reply", text: "Hello", calls },
      { do: "rate-limit" },
    );
    const tools = [{ type: "function" as const, function: { name: "read", parameters: {} } }];
    const request = { model: "m", messages: ask, tools };
    const streamed = await client.chat.completions
      .stream({ ...request, stream_options: { include_usage: true } })
      .finalChatCompletion();
    const whole = await client.chat.completions.create(request);
    for (const answer of [streamed, whole]) {
      expect(answer.choices[0]?.message.content).toBe("Hello");
      expect(answer.choices[0]?.message.tool_calls?.[0]).toMatchObject({
        function: { name: "read", arguments: '{"path":"a"}' },
      });
      expect(answer.choices[0]?.finish_reason).toBe("tool_calls");
      expect(answer.usage?.completion_tokens).toBe(2);
    }
    await expect(client.chat.completions.create(request)).rejects.toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
    });
  });

  it("[V19] Anthropic's reads its stream, its reply and its errors", async () => {
    const provider = createStrictProvider({ key: "k" });
    const client = anthropic(provider);
    const calls = [{ name: "read", args: '{"path":"a"}' }];
    provider.will(
      { do: "reply", text: "Hello", thinking: "hm", calls },
      { do: "reply", text: "Hello", thinking: "hm", calls },
      { do: "server-error", status: 529 },
    );
    const tools = [{ name: "read", input_schema: { type: "object" as const } }];
    const request = { model: "m", max_tokens: 100, messages: ask, tools };
    for (const answer of [
      await client.messages.stream(request).finalMessage(),
      await client.messages.create(request),
    ]) {
      expect(answer.content).toMatchObject([
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "Hello" },
        { type: "tool_use", name: "read", input: { path: "a" } },
      ]);
      expect(answer.stop_reason).toBe("tool_use");
    }
    await expect(client.messages.create(request)).rejects.toMatchObject({ status: 529 });
  });
});

async function refusedBy(dialect: "openai" | "anthropic", fields: object, options: StrictOptions = {}) {
  const provider = createStrictProvider(options);
  const path = dialect === "openai" ? "/v1/chat/completions" : "/v1/messages";
  const body = {
    model: "m",
    messages: ask,
    ...(dialect === "anthropic" ? { max_tokens: 100 } : {}),
    ...fields,
  };
  const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const response = await provider.fetch(`https://llm.example${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const use = { role: "assistant", content: [{ type: "tool_use", id: "t", name: "x", input: {} }] };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "r" }] };
const mark = { cache_control: { type: "ephemeral" } };
const marked = (count: number) => ({
  messages: [
    { role: "user", content: Array.from({ length: count }, () => ({ type: "text", text: "a", ...mark })) },
  ],
});
const manual = {
  thinking: { type: "enabled", budget_tokens: 2_000 },
  max_tokens: 4_000,
  tools: [{ name: "x" }],
};
const thought = { type: "thinking", thinking: "", signature: "s" };

describe("what the real provider refuses", () => {
  it.each([
    [
      "openai",
      "a result without its call",
      { messages: [{ role: "tool", tool_call_id: "t", content: "r" }] },
      "role 'tool'",
    ],
    ["openai", "an empty list of tools", { tools: [] }, "too short"],
    ["openai", "a tool choice without tools", { tool_choice: "none" }, "tool_choice"],
    ["openai", "stream options without a stream", { stream_options: {} }, "stream_options"],
    ["openai", "two caps", { max_tokens: 1, max_completion_tokens: 1 }, "max_tokens"],
    ["anthropic", "no cap", { max_tokens: undefined }, "max_tokens"],
    [
      "anthropic",
      "a call without its result",
      { messages: [...ask, use], tools: [{ name: "x" }] },
      "tool_use",
    ],
    ["anthropic", "tool blocks without tools", { messages: [...ask, use, result] }, "define tools"],
    ["anthropic", "five cache marks", marked(5), "maximum of 4"],
    ["anthropic", "an assistant first", { messages: [{ role: "assistant", content: "hi" }] }, "messages.0"],
    ["anthropic", "a budget above the cap", { ...manual, max_tokens: 1_500 }, "budget_tokens"],
    [
      "anthropic",
      "an open loop without its thinking",
      { ...manual, messages: [...ask, use, result] },
      "Expected `thinking`",
    ],
  ] as const)("[V20] %s refuses %s", async (dialect, _, fields, words) => {
    const { status, text } = await refusedBy(dialect, fields);
    expect(status).toBe(400);
    expect(text).toContain(words);
  });

  it.each([
    ["openai", "a plain request", {}],
    ["anthropic", "a plain request", {}],
    ["anthropic", "four cache marks", marked(4)],
    [
      "anthropic",
      "an open loop with its thinking",
      { ...manual, messages: [...ask, { ...use, content: [thought, ...use.content] }, result] },
    ],
    [
      "anthropic",
      "calls with results and tools",
      { messages: [...ask, use, result], tools: [{ name: "x" }] },
    ],
  ] as const)("[V20] %s takes %s", async (dialect, _, fields) => {
    expect((await refusedBy(dialect, fields)).status).toBe(200);
  });

  it("[V20] a request over the window, in words that are known as an overflow", async () => {
    const window = { window: 1_000, count: () => 990 };
    const over = { window: 1_000, count: () => 1_001 };
    const judged = async (dialect: "openai" | "anthropic", fields: object, options: StrictOptions) => {
      const { status, text } = await refusedBy(dialect, fields, options);
      return classifyRefusal({ status, body: text });
    };
    const cap = { kind: "overflow", limit: 1_000, tokens: 1_090, inputTokens: 990, maxTokensOnly: true };
    const whole = { kind: "overflow", limit: 1_000, tokens: 1_001, inputTokens: 1_001 };
    expect(await judged("openai", { max_tokens: 100 }, window)).toEqual(cap);
    expect(await judged("anthropic", {}, window)).toEqual(cap);
    expect(await judged("openai", {}, over)).toEqual(whole);
    expect(await judged("anthropic", {}, over)).toEqual(whole);
    expect((await refusedBy("openai", { max_tokens: 10 }, window)).status).toBe(200);
  });

  it("[V20] thinking that is bound to another history, and takes it back with its own", async () => {
    const provider = createStrictProvider({ binding: "prefix" });
    const client = anthropic(provider);
    provider.will({ do: "reply", text: "Hello", thinking: "hm" });
    const first = await client.messages.create({ model: "m", max_tokens: 9, messages: ask });
    const next = (question: string) =>
      client.messages.create({
        model: "m",
        max_tokens: 9,
        messages: [
          { role: "user", content: question },
          { role: "assistant", content: first.content },
          { role: "user", content: "on" },
        ],
      });
    await expect(next("hi")).resolves.toMatchObject({ stop_reason: "end_turn" });
    const refused = await next("ho").catch((error: unknown) => error);
    expect(classifyRefusal({ body: refused })).toEqual({ kind: "binding" });
  });
});

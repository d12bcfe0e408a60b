import { describe, expect, it } from "vitest";
import { conversationRequest, thinkingBudget } from "../../src/compaction/summary-request.ts";
import { violations } from "../../src/dialects/legal.ts";

type Json = Record<string, unknown>;
const raw = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const bytes = (json: string): Uint8Array => new TextEncoder().encode(json);
const words = (body: Uint8Array): string => new TextDecoder().decode(body);
const parsed = (body: Uint8Array): Json & { messages: Json[] } => JSON.parse(words(body));

const openai = {
  dialect: "openai-chat",
  model: "gpt-x",
  envelope: {
    system: raw("You are terse."),
    tools: raw([{ type: "function", function: { name: "ls", parameters: {} } }]),
    params: raw({ temperature: 0.5, seed: 7 }),
  },
  messages: [raw({ role: "user", content: "hi" }), raw({ role: "assistant", content: "ho" })],
  directive: "Summarize.",
  maxTokens: 900,
} as const;
const anthropic = {
  ...openai,
  dialect: "anthropic",
  envelope: {
    system: raw("You are terse."),
    tools: raw([{ name: "ls", input_schema: {} }]),
    params: raw({ temperature: 0.5 }),
  },
} as const;

describe("the conversation shape", () => {
  it("[C80] [CDX-001] [DSH-089] is the session's own envelope and messages and the directive as the last user message", () => {
    const body = parsed(conversationRequest(openai));
    expect(body).toEqual({
      model: "gpt-x",
      tools: JSON.parse(words(openai.envelope.tools)),
      temperature: 0.5,
      seed: 7,
      tool_choice: "none",
      max_completion_tokens: 900,
      messages: [
        { role: "system", content: "You are terse." },
        { role: "user", content: "hi" },
        { role: "assistant", content: "ho" },
        { role: "user", content: "Summarize." },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(parsed(conversationRequest(anthropic))).toEqual({
      model: "gpt-x",
      system: "You are terse.",
      tools: [{ name: "ls", input_schema: {} }],
      temperature: 0.5,
      max_tokens: 900,
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "ho" },
        { role: "user", content: "Summarize." },
      ],
      stream: true,
    });
  });

  it("[C80] [DSH-090] [GEM-017] passes every message on byte for byte, images and numbers that JSON.parse would change included", () => {
    const odd = bytes(
      '{"role":"user", "content":[{"type":"text","text":"\\ud83d x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}],"n":12345678901234567890}',
    );
    const body = words(conversationRequest({ ...anthropic, messages: [odd] }));
    expect(body).toContain(`"messages":[${words(odd)},{"role":"user"`);
    expect(
      words(
        conversationRequest({ ...anthropic, envelope: { params: bytes('{"seed":1e400, "top_p":1.0}') } }),
      ),
    ).toContain('"seed":1e400,"top_p":1.0');
  });

  it("[C80] is legal behind a tool result in both dialects", () => {
    const chat = parsed(
      conversationRequest({
        ...openai,
        messages: [
          raw({ role: "user", content: "go" }),
          raw({
            role: "assistant",
            content: null,
            tool_calls: [{ id: "a", type: "function", function: { name: "ls", arguments: "{}" } }],
          }),
          raw({ role: "tool", tool_call_id: "a", content: "x" }),
        ],
      }),
    );
    expect(violations("openai-chat", chat.messages.map(raw))).toEqual([]);
    const claude = parsed(
      conversationRequest({
        ...anthropic,
        messages: [
          raw({ role: "user", content: "go" }),
          raw({ role: "assistant", content: [{ type: "tool_use", id: "a", name: "ls", input: {} }] }),
          raw({ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "x" }] }),
        ],
      }),
    );
    expect(violations("anthropic", claude.messages.map(raw))).toEqual([]);
  });

  it.each([
    ["a text", raw("terse"), [{ role: "system", content: "terse" }]],
    [
      "content parts",
      raw([{ type: "text", text: "terse" }]),
      [{ role: "system", content: [{ type: "text", text: "terse" }] }],
    ],
    [
      "whole messages",
      raw([
        { role: "developer", content: "a" },
        { role: "system", content: "b" },
      ]),
      [
        { role: "developer", content: "a" },
        { role: "system", content: "b" },
      ],
    ],
    ["an empty list", raw([]), []],
  ])("[C80] takes a Chat Completions system prompt as %s", (_, system, expected) => {
    const { messages } = parsed(conversationRequest({ ...openai, envelope: { system } }));
    expect(messages.slice(0, -3)).toEqual(expected);
  });

  it("[C81] drops every parameter that shapes the output, keeps the others, and forbids tools", () => {
    const shaping = {
      response_format: { type: "json_object" },
      stop: ["x"],
      n: 3,
      logprobs: true,
      top_logprobs: 2,
      logit_bias: {},
      parallel_tool_calls: true,
      tool_choice: { type: "function", function: { name: "ls" } },
      stream: false,
      stream_options: {},
      modalities: ["audio"],
      audio: {},
      prediction: {},
      model: "other",
      messages: [],
      tools: [],
      max_completion_tokens: 5,
      verbosity: "low",
    };
    const kept = {
      temperature: 0,
      top_p: 0.9,
      reasoning_effort: "high",
      prompt_cache_key: "b1",
      service_tier: "flex",
      user: "u",
      metadata: {},
    };
    const body = parsed(
      conversationRequest({
        ...openai,
        envelope: { ...openai.envelope, params: raw({ ...shaping, ...kept }) },
      }),
    );
    const {
      model,
      tools,
      tool_choice: choice,
      messages,
      stream,
      stream_options: options,
      max_completion_tokens: max,
      ...rest
    } = body;
    expect(rest).toEqual(kept);
    expect([model, choice, stream, options, max]).toEqual([
      "gpt-x",
      "none",
      true,
      { include_usage: true },
      900,
    ]);
    expect(tools).toHaveLength(1);
    expect(messages).toHaveLength(4);
  });

  it("[C81] [PI-020] on Anthropic leaves tool choice and thinking as they are, for the cache", () => {
    const params = {
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      thinking: { type: "adaptive" },
      stop_sequences: ["x"],
      output_config: { effort: "low", format: { type: "json_schema" } },
      metadata: { user_id: "u" },
    };
    const body = parsed(
      conversationRequest({ ...anthropic, envelope: { ...anthropic.envelope, params: raw(params) } }),
    );
    expect(body).toMatchObject({
      tool_choice: params.tool_choice,
      thinking: { type: "adaptive" },
      metadata: { user_id: "u" },
      max_tokens: 900,
      output_config: { effort: "low" },
    });
    expect(body.output_config).not.toHaveProperty("format");
    expect(body).not.toHaveProperty("stop_sequences");
    const forced = conversationRequest({
      ...anthropic,
      envelope: { params: raw({ tool_choice: { type: "any" } }) },
    });
    expect(parsed(forced)).not.toHaveProperty("tool_choice");
  });

  it("[C82] gives a thinking budget room on top of the text, and makes it give way where the route has none", () => {
    const params = raw({ thinking: { type: "enabled", budget_tokens: 4_000, display: "omitted" } });
    const body = (maxOutput?: number) =>
      parsed(
        conversationRequest({
          ...anthropic,
          maxTokens: 2_000,
          envelope: { params },
          ...(maxOutput === undefined ? {} : { maxOutput }),
        }),
      );
    expect(body()).toMatchObject({
      max_tokens: 6_000,
      thinking: { type: "enabled", budget_tokens: 4_000, display: "omitted" },
    });
    expect(body(5_000)).toMatchObject({
      max_tokens: 5_000,
      thinking: { type: "enabled", budget_tokens: 4_000 },
    });
    expect(body(4_096)).toMatchObject({
      max_tokens: 4_096,
      thinking: { type: "enabled", budget_tokens: 2_096, display: "omitted" },
    });
    expect(body(2_500)).toMatchObject({ max_tokens: 2_000, thinking: { type: "disabled" } });
    expect([
      thinkingBudget(params),
      thinkingBudget(undefined),
      thinkingBudget(raw({ thinking: { type: "adaptive" } })),
    ]).toEqual([4_000, 0, 0]);
  });

  it("[C82] [KIMI-041] caps the output at the smaller of what is wanted and what the route can", () => {
    expect(
      parsed(conversationRequest({ ...openai, maxTokens: 8_192, maxOutput: 4_096 })).max_completion_tokens,
    ).toBe(4_096);
    expect(
      parsed(conversationRequest({ ...openai, maxTokens: 8_192, maxOutput: 64_000 })).max_completion_tokens,
    ).toBe(8_192);
    const old = { ...openai, envelope: { params: raw({ max_tokens: 10 }) } };
    expect(parsed(conversationRequest(old))).toMatchObject({ max_tokens: 900 });
    expect(parsed(conversationRequest(old))).not.toHaveProperty("max_completion_tokens");
  });

  it("[C81] sends no tool choice without tools", () => {
    for (const tools of [undefined, raw([])]) {
      const body = parsed(conversationRequest({ ...openai, envelope: tools === undefined ? {} : { tools } }));
      expect(body).not.toHaveProperty("tool_choice");
      expect(body).not.toHaveProperty("tools");
    }
  });
});

import { describe, expect, it } from "vitest";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { foldAnthropic } from "../../src/providers/anthropic-stream.ts";
import { foldOpenai } from "../../src/providers/openai-stream.ts";
import { foldResponses } from "../../src/providers/responses-stream.ts";
import {
  emptyStream,
  finishOf,
  replyOf,
  type StreamEvent,
  type StreamState,
} from "../../src/providers/stream-state.ts";
import { streamingBody } from "../../src/providers/streaming-body.ts";
import { usageOf } from "../../src/providers/usage.ts";

const fold = { "openai-chat": foldOpenai, anthropic: foldAnthropic, "openai-responses": foldResponses };

function run(dialect: DialectName, values: readonly unknown[]): StreamState {
  const events = values.map((value): StreamEvent => {
    if (typeof value === "string") return { data: value };
    const type = (value as { type?: string }).type;
    return {
      ...(dialect === "anthropic" && type !== undefined ? { event: type } : {}),
      data: JSON.stringify(value),
    };
  });
  return events.reduce<StreamState>((state, event) => fold[dialect](state, event), emptyStream);
}

const delta = (value: object, finish_reason: string | null = null) => ({
  model: "m-1",
  choices: [{ index: 0, delta: value, finish_reason }],
});
const block = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });
const grow = (value: object) => ({ type: "content_block_delta", index: 0, delta: value });
const start = {
  type: "message_start",
  message: { model: "c-1", usage: { input_tokens: 7, output_tokens: 1 } },
};
const ends = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 3 } },
  { type: "message_stop" },
];

describe("an OpenAI stream", () => {
  it("[V9] [DSH-097] becomes its text; reasoning is passed over, calls are counted", () => {
    const state = run("openai-chat", [
      delta({ role: "assistant", content: "" }),
      delta({ reasoning_content: "private" }),
      delta({ reasoning: "private" }),
      delta({ content: "Hel" }),
      delta({ content: "lo" }),
      delta({ tool_calls: [{ index: 0, id: "a", function: { name: "x", arguments: "" } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }),
      delta({ tool_calls: [{ index: 1, id: "b", function: { name: "y", arguments: "{}" } }] }),
      delta({}, "tool_calls"),
      { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3 } },
      "[DONE]",
    ]);
    expect(state).toMatchObject({
      text: "Hello",
      toolCalls: 2,
      finishReason: "tool_calls",
      done: true,
      model: "m-1",
    });
    expect(state.usage).toEqual({ prompt_tokens: 12, completion_tokens: 3 });
  });

  it("[V9] counts calls of servers that send no index, and the old function call", () => {
    const call = { id: "a", function: { name: "x", arguments: "{}" } };
    expect(run("openai-chat", [delta({ tool_calls: [call, call] })]).toolCalls).toBe(2);
    expect(
      run("openai-chat", [
        delta({ function_call: { name: "x" } }),
        delta({ function_call: { arguments: "" } }),
      ]).toolCalls,
    ).toBe(1);
  });

  it("[V9] reads the first choice alone, and text in parts", () => {
    const state = run("openai-chat", [
      {
        choices: [
          { index: 1, delta: { content: "no" } },
          {
            index: 0,
            delta: {
              content: [
                { type: "thinking", thinking: [] },
                { type: "text", text: "yes" },
              ],
            },
          },
        ],
      },
    ]);
    expect(state.text).toBe("yes");
  });

  it.each([
    ["audio", delta({ audio: { data: "…" } })],
    ["images", delta({ images: [{}] })],
    ["a part that is an image", delta({ content: [{ type: "image_url" }] })],
    ["content that is a number", delta({ content: 5 })],
  ])("[V9] [DSH-101] loses nothing silently: %s fails the reply", (_, chunk) => {
    expect(run("openai-chat", [delta({ content: "a" }), chunk]).failure).toMatchObject({ kind: "garbage" });
  });

  it("[V9] a refusal to answer is no answer", () => {
    const state = run("openai-chat", [delta({ refusal: "I can not." }), delta({}, "stop"), "[DONE]"]);
    expect(state.text).toBe("");
    expect(replyOf("openai-chat", { ...state, finishReason: "stop" }, undefined).finish).toBe("filter");
  });

  it.each([
    ["an event that is no JSON", "{oops"],
    ["an event that is a list", "[]"],
    ["an end without a finish reason", "[DONE]"],
  ])("[V10] %s is garbage, and nothing after it counts", (_, event) => {
    const state = run("openai-chat", [delta({ content: "a" }), event, delta({ content: "b" }, "stop")]);
    expect(state.failure).toMatchObject({ kind: "garbage" });
    expect(state.text).toBe("a");
  });

  it("[V10] keeps the provider's own error as it came", () => {
    const error = { error: { message: "Overloaded", code: 502 } };
    expect(run("openai-chat", [delta({ content: "a" }), error]).failure).toEqual({
      kind: "error",
      data: JSON.stringify(error),
    });
    expect(foldOpenai(emptyStream, { event: "error", data: '{"message":"x"}' }).failure).toMatchObject({
      kind: "error",
    });
  });
});

describe("an Anthropic stream", () => {
  it("[V9] [DSH-097] becomes its text; calls are counted, usage is cumulative", () => {
    const state = run("anthropic", [
      start,
      { type: "ping" },
      block({ type: "thinking", thinking: "" }),
      grow({ type: "thinking_delta", thinking: "private" }),
      grow({ type: "signature_delta", signature: "s" }),
      block({ type: "redacted_thinking", data: "…" }),
      block({ type: "text", text: "" }),
      grow({ type: "text_delta", text: "Hel" }),
      grow({ type: "text_delta", text: "lo" }),
      block({ type: "tool_use", id: "t", name: "x", input: {} }),
      grow({ type: "input_json_delta", partial_json: "{}" }),
      block({ type: "server_tool_use", id: "t", name: "web_search", input: {} }),
      block({ type: "web_search_tool_result", content: [] }),
      { type: "something_new", text: "?" },
      ...ends("tool_use"),
    ]);
    expect(state).toMatchObject({
      text: "Hello",
      toolCalls: 2,
      finishReason: "tool_use",
      done: true,
      model: "c-1",
    });
    expect(state.usage).toEqual({ input_tokens: 7, output_tokens: 3 });
  });

  it("[V9] [DSH-101] loses nothing silently: another block fails the reply", () => {
    expect(run("anthropic", [start, block({ type: "image" })]).failure).toMatchObject({ kind: "garbage" });
  });

  it("[V10] garbage and errors end it", () => {
    expect(run("anthropic", [start, "{oops"]).failure).toMatchObject({ kind: "garbage" });
    expect(run("anthropic", [start, { type: "message_stop" }]).failure).toMatchObject({ kind: "garbage" });
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(run("anthropic", [start, error, ...ends("end_turn")]).failure).toEqual({
      kind: "error",
      data: JSON.stringify(error),
    });
  });
});

describe("words and numbers of a reply", () => {
  it.each([
    ["stop", "stop"],
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["length", "length"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_calls", "tool"],
    ["function_call", "tool"],
    ["tool_use", "tool"],
    ["content_filter", "filter"],
    ["refusal", "filter"],
    ["pause_turn", "other"],
    ["compaction", "other"],
    ["toString", "other"],
  ])("[V11] [DSH-099] finish reason %s means %s", (reason, finish) => {
    expect(finishOf(reason)).toBe(finish);
  });

  it.each([
    [
      "openai-chat",
      {
        prompt_tokens: 100,
        completion_tokens: 9,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      },
      { input: 10, cacheRead: 60, cacheWrite: 30, output: 9 },
    ],
    [
      "openai-chat",
      { prompt_tokens: 100, completion_tokens: 9, prompt_cache_hit_tokens: 64 },
      { input: 36, cacheRead: 64, cacheWrite: 0, output: 9 },
    ],
    [
      "openai-chat",
      { prompt_tokens: 5, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 99 } },
      { input: 0, cacheRead: 5, cacheWrite: 0, output: 0 },
    ],
    [
      "anthropic",
      { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30, output_tokens: 9 },
      { input: 10, cacheRead: 60, cacheWrite: 30, output: 9 },
    ],
    [
      "anthropic",
      { input_tokens: 10, output_tokens: 9, cache_read_input_tokens: null },
      { input: 10, cacheRead: 0, cacheWrite: 0, output: 9 },
    ],
    [
      "openai-responses",
      {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60 },
        output_tokens: 90,
        output_tokens_details: { reasoning_tokens: 80 },
      },
      { input: 40, cacheRead: 60, cacheWrite: 0, output: 90, reasoning: 80 },
    ],
    ["openai-responses", { prompt_tokens: 10, completion_tokens: 9 }, undefined],
    ["anthropic", { prompt_tokens: 10, completion_tokens: 9 }, undefined],
    ["openai-chat", { prompt_tokens: "10", completion_tokens: 9 }, undefined],
    ["openai-chat", { prompt_tokens: -1, completion_tokens: 9 }, undefined],
    ["openai-chat", null, undefined],
  ] as const)("[V11] usage of %s %j is disjoint: %j", (dialect, raw, usage) => {
    expect(usageOf(dialect, raw)).toEqual(usage);
  });
});

describe("a request's body", () => {
  const encode = (text: string) => new TextEncoder().encode(text);
  const asked = (dialect: DialectName, text: string) =>
    new TextDecoder().decode(streamingBody(dialect, encode(text)));

  it("[V12] asks for a stream with usage, and stays as it is otherwise", () => {
    expect(asked("openai-chat", '{ "seed":12345678901234567890,"model":"m" }')).toBe(
      '{ "seed":12345678901234567890,"model":"m" ,"stream":true,"stream_options":{"include_usage":true}}',
    );
    expect(asked("anthropic", '{"model":"m"}')).toBe('{"model":"m","stream":true}');
    expect(asked("openai-responses", '{"model":"m"}')).toBe('{"model":"m","stream":true}');
  });

  it("[V12] asks once, whatever it said before", () => {
    const body = '{"stream":false,"stream_options":{"include_usage":false},"a":{"stream":1},"stream":false}';
    const said = asked("openai-chat", body);
    expect(said.match(/"stream":true/g)).toHaveLength(1);
    expect(JSON.parse(said)).toEqual({
      a: { stream: 1 },
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(said.match(/"stream_options"/g)).toHaveLength(1);
  });

  it("[V12] that is not JSON is refused", () => {
    expect(() => asked("anthropic", '{"a":')).toThrow();
    expect(() => asked("anthropic", "[]")).toThrow();
  });
});

/** Summary calls on OpenAI Responses: what is sent, and how its stream is folded. */
import { describe, expect, it } from "vitest";
import { conversationRequest, transcriptRequest } from "../../src/compaction/summary-request.ts";
import { foldResponses } from "../../src/providers/responses-stream.ts";
import { emptyStream, replyOf, type StreamState } from "../../src/providers/stream-state.ts";

const run = (...events: unknown[]): StreamState =>
  events.reduce<StreamState>(
    (state, value) =>
      foldResponses(state, { data: typeof value === "string" ? value : JSON.stringify(value) }),
    emptyStream,
  );
const text = (delta: string) => ({ type: "response.output_text.delta", delta });
const created = { type: "response.created", response: { id: "resp_1", model: "gpt-x" } };
const usage = { input_tokens: 10, output_tokens: 5 };
const completed = { type: "response.completed", response: { status: "completed", usage } };
const incomplete = (reason: string) => ({
  type: "response.incomplete",
  response: { status: "incomplete", incomplete_details: { reason }, usage },
});
const reply = (state: StreamState) =>
  replyOf("openai-responses", { ...state, finishReason: state.finishReason ?? "" }, undefined);

describe("a Responses stream", () => {
  it("[V11] becomes the text of its deltas, without reasoning, with its usage", () => {
    const thought = { type: "response.reasoning_summary_text.delta", delta: "hm" };
    const state = run(created, thought, text("a"), text("b"), completed, text("late"));
    expect(state).toMatchObject({ done: true, text: "ab" });
    expect(reply(state)).toEqual({
      text: "ab",
      toolCalls: 0,
      finish: "stop",
      finishReason: "completed",
      usage: { input: 10, cacheRead: 0, cacheWrite: 0, output: 5 },
      model: "gpt-x",
    });
  });

  it.each([
    ["max_output_tokens", "length"],
    ["content_filter", "filter"],
    ["steered", "other"],
  ])("[V11] cut for %s is %s", (reason, finish) => {
    expect(reply(run(created, text("a"), incomplete(reason))).finish).toBe(finish);
  });

  it("[V11] counts calls and knows a refusal", () => {
    const call = { type: "response.output_item.added", item: { type: "function_call", name: "f" } };
    const message = { type: "response.output_item.added", item: { type: "message" } };
    expect(run(created, message, call, call, completed).toolCalls).toBe(2);
    const refusal = { type: "response.refusal.delta", delta: "no" };
    expect(reply(run(created, refusal, completed)).finish).toBe("filter");
  });

  it("[V11] tells the provider's error, wherever it stands, as a refusal's body", () => {
    const error = { code: "context_length_exceeded", message: "too long" };
    for (const event of [
      { type: "response.failed", response: { status: "failed", error } },
      { type: "error", ...error },
      { error },
    ]) {
      const { failure } = run(created, event);
      expect(failure?.kind).toBe("error");
      expect(JSON.parse((failure as { data: string }).data)).toMatchObject({ error });
    }
  });

  it("[V11] that is none is garbage, and its early end no reply", () => {
    expect(run("{oops").failure).toMatchObject({ kind: "garbage" });
    expect(run(created, "[DONE]").failure).toMatchObject({ kind: "garbage" });
    expect(run(created, text("a")).finishReason).toBeUndefined();
  });
});

describe("a summary request", () => {
  const raw = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const parsed = (body: Uint8Array) => JSON.parse(new TextDecoder().decode(body));
  const messages = [raw({ role: "user", content: "hi" }), raw({ role: "assistant", content: "ho" })];
  const base = {
    dialect: "openai-responses",
    model: "gpt-x",
    directive: "Summarize.",
    maxTokens: 900,
  } as const;

  it("[C80] is the session's own envelope and items and the directive at the end", () => {
    const params = {
      reasoning: { effort: "low" },
      text: { format: { type: "json_object" } },
      max_output_tokens: 9,
    };
    const envelope = {
      system: raw("Be terse."),
      tools: raw([{ type: "function", name: "ls" }]),
      params: raw(params),
    };
    expect(parsed(conversationRequest({ ...base, envelope, messages }))).toEqual({
      model: "gpt-x",
      tools: [{ type: "function", name: "ls" }],
      reasoning: { effort: "low" },
      instructions: "Be terse.",
      tool_choice: "none",
      max_output_tokens: 900,
      input: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "ho" },
        { role: "user", content: "Summarize." },
      ],
      stream: true,
    });
  });

  it.each([
    ["items", [{ role: "developer", content: "a" }], undefined, [{ role: "developer", content: "a" }]],
    [
      "blocks",
      [{ type: "input_text", text: "a" }],
      undefined,
      [{ role: "developer", content: [{ type: "input_text", text: "a" }] }],
    ],
    ["a text beside instructions", "a", { instructions: "b" }, [{ role: "developer", content: "a" }]],
    ["nothing", [], undefined, []],
  ])("[C80] loses no system prompt: %s", (_, system, params, expected) => {
    const envelope = { system: raw(system), ...(params === undefined ? {} : { params: raw(params) }) };
    const body = parsed(conversationRequest({ ...base, envelope, messages: [] }));
    expect(body.input.slice(0, -1)).toEqual(expected);
    expect(body.instructions).toBe(params?.instructions);
  });

  it("[C80] in transcript shape is one user message, with a cap that is not refused", () => {
    const body = parsed(transcriptRequest({ ...base, maxTokens: 5, messages: [] }));
    expect(body).toMatchObject({ model: "gpt-x", max_output_tokens: 16, stream: true });
    expect(body.input).toHaveLength(1);
    expect(body).not.toHaveProperty("messages");
  });
});

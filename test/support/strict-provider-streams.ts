/** How the strict fake provider puts a reply on the wire: as the dialect's events, or as one JSON body. */
import type { DialectName } from "../../src/dialects/dialect.ts";

export interface FakeCall {
  name: string;
  /** JSON text of the arguments. */
  args: string;
}

export interface FakeReply {
  text: string;
  thinking?: string | undefined;
  signature?: string | undefined;
  calls: readonly FakeCall[];
  /** The provider's word. */
  finish: string;
  model: string;
  usage: { input: number; cacheRead: number; cacheWrite: number; output: number };
  /** Whether an OpenAI stream ends with usage (`stream_options.include_usage`). */
  withUsage: boolean;
}

/** Server-sent events of a whole reply, in order; the text comes in pieces of 16 characters. */
export function eventsOf(dialect: DialectName, reply: FakeReply): string[] {
  return dialect === "anthropic" ? anthropicEvents(reply) : openaiEvents(reply);
}

/** Events of the beginning of a reply that never ends: the text and nothing that would close it. */
export function openingOf(dialect: DialectName, reply: FakeReply): string[] {
  const events = eventsOf(dialect, reply);
  const isText = (event: string) => event.includes(dialect === "anthropic" ? "text_delta" : '"content":"');
  return events.slice(0, events.findLastIndex(isText) + 1);
}

export function errorEvent(dialect: DialectName, error: unknown): string {
  return dialect === "anthropic" ? named("error", error as { type: string }) : data(error);
}

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function named(event: string, value: object): string {
  return `event: ${event}\n${data({ type: event, ...value })}`;
}

function pieces(text: string): string[] {
  return text.match(/.{1,16}/gsu) ?? [];
}

// --- OpenAI Chat
// -----------------------------------------------------------------------------------------------

function openaiUsage({ usage }: FakeReply) {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
  };
}

function openaiEvents(reply: FakeReply): string[] {
  const chunk = (choices: unknown[], usage: unknown = null) =>
    data({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: reply.model,
      choices,
      usage,
    });
  const delta = (value: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: value, logprobs: null, finish_reason: finish }]);
  return [
    delta({ role: "assistant", content: "", refusal: null }),
    ...pieces(reply.thinking ?? "").map((piece) => delta({ reasoning_content: piece })),
    ...pieces(reply.text).map((piece) => delta({ content: piece })),
    ...reply.calls.flatMap(({ name, args }, index) => [
      delta({
        tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: "" } }],
      }),
      ...pieces(args).map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    delta({}, reply.finish),
    ...(reply.withUsage ? [chunk([], openaiUsage(reply))] : []),
    "data: [DONE]\n\n",
  ];
}

// --- Anthropic
// -------------------------------------------------------------------------------------------------

function anthropicInput({ usage }: FakeReply) {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
  };
}

function anthropicEvents(reply: FakeReply): string[] {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: reply.model,
    content: [],
    stop_reason: null,
    usage: { ...anthropicInput(reply), output_tokens: 1 },
  };
  let index = 0;
  const block = (content_block: object, deltas: object[]) => {
    const at = index++;
    return [
      named("content_block_start", { index: at, content_block }),
      ...deltas.map((delta) => named("content_block_delta", { index: at, delta })),
      named("content_block_stop", { index: at }),
    ];
  };
  const thinking = pieces(reply.thinking ?? "").map((piece) => ({ type: "thinking_delta", thinking: piece }));
  const signature = { type: "signature_delta", signature: reply.signature ?? "" };
  const texts = pieces(reply.text).map((text) => ({ type: "text_delta", text }));
  return [
    named("message_start", { message }),
    named("ping", {}),
    ...(thinking.length === 0
      ? []
      : block({ type: "thinking", thinking: "", signature: "" }, [...thinking, signature])),
    ...(texts.length === 0 ? [] : block({ type: "text", text: "" }, texts)),
    ...reply.calls.flatMap(({ name, args }, i) =>
      block(
        { type: "tool_use", id: `toolu_${i}`, name, input: {} },
        pieces(args).map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ),
    ),
    named("message_delta", {
      delta: { stop_reason: reply.finish, stop_sequence: null },
      usage: { output_tokens: reply.usage.output },
    }),
    named("message_stop", {}),
  ];
}

// --- one body
// --------------------------------------------------------------------------------------------------

/** The reply of a request that did not ask for a stream. */
export function bodyOf(dialect: DialectName, reply: FakeReply): object {
  if (dialect === "anthropic") {
    const content = [
      ...(reply.thinking === undefined
        ? []
        : [{ type: "thinking", thinking: reply.thinking, signature: reply.signature ?? "" }]),
      ...(reply.text === "" ? [] : [{ type: "text", text: reply.text }]),
      ...reply.calls.map(({ name, args }, i) => ({
        type: "tool_use",
        id: `toolu_${i}`,
        name,
        input: JSON.parse(args),
      })),
    ];
    const usage = { ...anthropicInput(reply), output_tokens: reply.usage.output };
    const { model, finish } = reply;
    return { id: "msg_1", type: "message", role: "assistant", model, content, stop_reason: finish, usage };
  }
  const calls = reply.calls.map(({ name, args }, i) => ({
    id: `call_${i}`,
    type: "function",
    function: { name, arguments: args },
  }));
  const message = {
    role: "assistant",
    content: reply.text === "" ? null : reply.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const choices = [{ index: 0, message, finish_reason: reply.finish }];
  const { model } = reply;
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices,
    usage: openaiUsage(reply),
  };
}

/** How a strict provider puts a reply on the wire: as the dialect's events, or as one JSON body. */
import type { WireDialect } from "../../src/dialects/wire.ts";
import { responsesBody, responsesEvents } from "./wire-responses.ts";

export interface FakeCall {
  name: string;
  /** JSON text of the arguments. */
  args: string;
}

export interface FakeReply {
  text: string;
  /** Tells this reply's ids from those of other replies; absent: ids are the same in every reply. */
  id?: string | undefined;
  /** OpenAI Chat's `n`; the choices differ in the ids of their calls. Default 1. */
  choices?: number | undefined;
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
export function eventsOf(dialect: WireDialect, reply: FakeReply): string[] {
  if (dialect === "openai-responses") return responsesEvents(reply);
  return dialect === "anthropic" ? anthropicEvents(reply) : openaiEvents(reply);
}

/** The id of the n-th call of a reply, as results name it. */
export function callId(dialect: WireDialect, { id }: FakeReply, n: number): string {
  return `${dialect === "anthropic" ? "toolu" : "call"}_${id === undefined ? "" : `${id}_`}${n}`;
}

/** Events of the beginning of a reply that never ends: the text and nothing that would close it. */
export function openingOf(dialect: WireDialect, reply: FakeReply): string[] {
  const events = eventsOf(dialect, reply);
  const sign = {
    anthropic: "text_delta",
    "openai-chat": '"content":"',
    "openai-responses": "output_text.delta",
  };
  const isText = (event: string) => event.includes(sign[dialect]);
  return events.slice(0, events.findLastIndex(isText) + 1);
}

export function errorEvent(dialect: WireDialect, error: unknown): string {
  return dialect === "openai-chat" ? data(error) : named("error", error as { type: string });
}

export function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export function named(event: string, value: object): string {
  return `event: ${event}\n${data({ type: event, ...value })}`;
}

export function pieces(text: string): string[] {
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
      id: `chatcmpl-${reply.id ?? 1}`,
      object: "chat.completion.chunk",
      created: 1,
      model: reply.model,
      choices,
      usage,
    });
  return [
    ...choicesOf(reply).flatMap((choice, index) =>
      deltasOf(choice).map(([delta, finish_reason]) =>
        chunk([{ index, delta, logprobs: null, finish_reason }]),
      ),
    ),
    ...(reply.withUsage ? [chunk([], openaiUsage(reply))] : []),
    "data: [DONE]\n\n",
  ];
}

type Delta = [delta: object, finish: string | null];

function deltasOf(reply: FakeReply): Delta[] {
  const open = (value: object): Delta => [value, null];
  return [
    open({ role: "assistant", content: "", refusal: null }),
    ...pieces(reply.thinking ?? "").map((piece) => open({ reasoning_content: piece })),
    ...pieces(reply.text).map((piece) => open({ content: piece })),
    ...reply.calls.flatMap(({ name, args }, index) => {
      const id = callId("openai-chat", reply, index);
      return [
        open({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
        ...pieces(args).map((piece) => open({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ];
    }),
    [{}, reply.finish],
  ];
}

/** One reply per choice; the first has the reply's own ids. */
function choicesOf(reply: FakeReply): FakeReply[] {
  return Array.from({ length: reply.choices ?? 1 }, (_, at) =>
    at === 0 ? reply : { ...reply, id: `${reply.id ?? ""}c${at}` },
  );
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
    id: `msg_${reply.id ?? 1}`,
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
    ...(reply.thinking === undefined
      ? []
      : block({ type: "thinking", thinking: "", signature: "" }, [...thinking, signature])),
    ...(texts.length === 0 ? [] : block({ type: "text", text: "", citations: null }, texts)),
    ...reply.calls.flatMap(({ name, args }, i) =>
      block(
        { type: "tool_use", id: callId("anthropic", reply, i), name, input: {} },
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
export function bodyOf(dialect: WireDialect, reply: FakeReply): object {
  if (dialect === "openai-responses") return responsesBody(reply);
  if (dialect === "anthropic") {
    const content = [
      ...(reply.thinking === undefined
        ? []
        : [{ type: "thinking", thinking: reply.thinking, signature: reply.signature ?? "" }]),
      ...(reply.text === "" ? [] : [{ type: "text", text: reply.text, citations: null }]),
      ...reply.calls.map(({ name, args }, i) => ({
        type: "tool_use",
        id: callId("anthropic", reply, i),
        name,
        input: JSON.parse(args),
      })),
    ];
    const usage = { ...anthropicInput(reply), output_tokens: reply.usage.output };
    const { model, finish } = reply;
    return {
      id: `msg_${reply.id ?? 1}`,
      type: "message",
      role: "assistant",
      model,
      content,
      stop_reason: finish,
      stop_sequence: null,
      usage,
    };
  }
  const choices = choicesOf(reply).map((choice, index) => ({
    index,
    message: messageOf(choice),
    logprobs: null,
    finish_reason: reply.finish,
  }));
  const { model } = reply;
  return {
    id: `chatcmpl-${reply.id ?? 1}`,
    object: "chat.completion",
    created: 1,
    model,
    choices,
    usage: openaiUsage(reply),
  };
}

function messageOf(reply: FakeReply): object {
  const calls = reply.calls.map(({ name, args }, i) => ({
    id: callId("openai-chat", reply, i),
    type: "function",
    function: { name, arguments: args },
  }));
  return {
    role: "assistant",
    content: reply.text === "" ? null : reply.text,
    refusal: null,
    annotations: [],
    ...(reply.thinking === undefined ? {} : { reasoning_content: reply.thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

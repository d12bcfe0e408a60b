/** Replies of OpenAI Chat Completions around prepared assistant messages. */
import { type Json, pieces, type Said, type StreamEvent } from "./provider.ts";

const usage = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};

function envelope(object: string, body: Json): Json {
  const model = body.model;
  return {
    id: "chatcmpl-1",
    object,
    created: 1_790_000_000,
    model,
    service_tier: "default",
    system_fingerprint: null,
  };
}

function finish(message: Json): string {
  return message.tool_calls === undefined ? "stop" : "tool_calls";
}

export function chatAnswer(said: Said, body: Json): Json {
  const choices = said.map((message, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: finish(message),
  }));
  return { ...envelope("chat.completion", body), choices, usage };
}

export function chatStream(said: Said, body: Json): StreamEvent[] {
  const message = said[0] ?? {};
  const chunk = (delta: Json, finish_reason: string | null = null): StreamEvent => [
    undefined,
    {
      ...envelope("chat.completion.chunk", body),
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
      obfuscation: "xY1",
    },
  ];
  const { content, reasoning_content, tool_calls } = message as {
    content?: string | null;
    reasoning_content?: string;
    tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  };
  const events = [chunk({ role: "assistant", content: content ? "" : null, refusal: null })];
  for (const text of pieces(reasoning_content ?? "")) events.push(chunk({ reasoning_content: text }));
  for (const text of pieces(content ?? "")) events.push(chunk({ content: text }));
  for (const [index, call] of (tool_calls ?? []).entries()) {
    events.push(
      chunk({ tool_calls: [{ ...call, index, function: { name: call.function.name, arguments: "" } }] }),
    );
    for (const part of pieces(call.function.arguments)) {
      events.push(chunk({ tool_calls: [{ index, function: { arguments: part } }] }));
    }
  }
  const includes = (body.stream_options as Json | undefined)?.include_usage === true;
  const last: StreamEvent[] = includes
    ? [[undefined, { ...envelope("chat.completion.chunk", body), choices: [], usage }]]
    : [];
  return [...events, chunk({}, finish(message)), ...last, [undefined, "[DONE]"]];
}

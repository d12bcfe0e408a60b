/**
 * Fold of an Anthropic Messages stream (`message_start` to `message_stop`) into one reply. Keeps text
 * blocks; thinking is passed over, tool uses are counted. Pure.
 */
import {
  brokenOff,
  decode,
  garbage,
  type Json,
  objectOf,
  type StreamEvent,
  type StreamState,
  word,
} from "./stream-state.ts";

/**
 * The reply is whole at `message_stop`; there is no `[DONE]`. Unknown events are passed over, as the API
 * asks of its clients.
 */
export function foldAnthropic(state: StreamState, event: StreamEvent): StreamState {
  if (state.done || state.failure !== undefined || event.event === "ping") return state;
  const data = decode(event.data);
  if (data === undefined) return garbage(state, "an event is not a JSON object");
  switch (data.type) {
    case "message_start":
      return started(state, objectOf(data.message) ?? {});
    case "content_block_start":
      return blockStarted(state, objectOf(data.content_block) ?? {});
    case "content_block_delta":
      return blockGrew(state, objectOf(data.delta) ?? {});
    case "message_delta":
      return messageChanged(state, objectOf(data.delta) ?? {}, objectOf(data.usage) ?? {});
    case "message_stop":
      return state.finishReason === undefined
        ? garbage(state, "the stream ended without a stop reason")
        : { ...state, done: true };
    case "error":
      return brokenOff(state, event);
    default:
      return event.event === "error" ? brokenOff(state, event) : state;
  }
}

function started(state: StreamState, message: Json): StreamState {
  const model = word(message.model);
  return {
    ...state,
    usage: { ...state.usage, ...objectOf(message.usage) },
    ...(model === undefined ? {} : { model }),
  };
}

function blockStarted(state: StreamState, block: Json): StreamState {
  const type = word(block.type) ?? "";
  if (type === "text") return { ...state, text: state.text + textOf(block) };
  if (type === "thinking" || type === "redacted_thinking") return state;
  if (type.endsWith("tool_use")) return { ...state, toolCalls: state.toolCalls + 1 };
  // What a server-side tool answered belongs to a call that is already counted.
  if (type.endsWith("_tool_result")) return state;
  return garbage(state, "the reply holds content that is not text");
}

function blockGrew(state: StreamState, delta: Json): StreamState {
  return delta.type === "text_delta" ? { ...state, text: state.text + textOf(delta) } : state;
}

function textOf(holder: Json): string {
  return typeof holder.text === "string" ? holder.text : "";
}

/** Numbers of `message_delta` are cumulative and replace earlier ones; a null leaves them. */
function messageChanged(state: StreamState, delta: Json, usage: Json): StreamState {
  const known = Object.entries(usage).filter(([, value]) => value !== null);
  const finishReason = word(delta.stop_reason) ?? state.finishReason;
  return {
    ...state,
    usage: { ...state.usage, ...Object.fromEntries(known) },
    ...(finishReason === undefined ? {} : { finishReason }),
  };
}

/**
 * Fold of an OpenAI Chat Completions stream (`chat.completion.chunk` events, then `[DONE]`) into one reply.
 * Keeps the text of the first choice; reasoning is passed over, tool calls are counted. Pure.
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
 * Parts of a delta that hold an answer which is not text; a summary made of them would silently lose
 * something.
 */
const otherContent = ["audio", "images"] as const;

/**
 * The reply is whole when its finish reason has come: `[DONE]` then ends it, and so does the end of the
 * body (some compatible servers send no `[DONE]`).
 */
export function foldOpenai(state: StreamState, event: StreamEvent): StreamState {
  if (state.done || state.failure !== undefined) return state;
  if (event.data.trim() === "[DONE]") {
    return state.finishReason === undefined
      ? garbage(state, "the stream ended without a finish reason")
      : { ...state, done: true };
  }
  const chunk = decode(event.data);
  if (chunk === undefined) return garbage(state, "an event is not a JSON object");
  if (event.event === "error" || hasError(chunk)) return brokenOff(state, event);
  const usage = objectOf(chunk.usage) ?? state.usage;
  const model = state.model ?? word(chunk.model);
  const next = { ...state, usage, ...(model === undefined ? {} : { model }) };
  const choice = firstChoice(chunk.choices);
  return choice === undefined ? next : foldChoice(next, choice);
}

function hasError(chunk: Json): boolean {
  return chunk.error !== undefined && chunk.error !== null;
}

function firstChoice(choices: unknown): Json | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.map(objectOf).find((choice) => choice !== undefined && (choice.index ?? 0) === 0);
}

function foldChoice(state: StreamState, choice: Json): StreamState {
  const delta = objectOf(choice.delta) ?? {};
  if (otherContent.some((key) => delta[key] !== undefined && delta[key] !== null)) {
    return garbage(state, "the reply holds content that is not text");
  }
  const text = textOf(delta.content);
  if (text === undefined) return garbage(state, "the reply holds content that is not text");
  const finishReason = word(choice.finish_reason) ?? state.finishReason;
  const refusal = typeof delta.refusal === "string" && delta.refusal !== "";
  return countCalls(
    {
      ...state,
      text: state.text + text,
      refused: state.refused || refusal,
      ...(finishReason === undefined ? {} : { finishReason }),
    },
    delta,
  );
}

/**
 * A string; or, on servers that think in parts, the text parts of a list. Undefined for anything that is
 * neither text nor thinking.
 */
function textOf(content: unknown): string | undefined {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  let text = "";
  for (const part of content.map(objectOf)) {
    if (part?.type === "text" && typeof part.text === "string") text += part.text;
    else if (part?.type !== "thinking") return undefined;
  }
  return text;
}

/**
 * A call comes in many deltas under one index; servers that send no index send each call whole, with its
 * name.
 */
function countCalls(state: StreamState, delta: Json): StreamState {
  let { toolCalls, lastCall } = state;
  for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls.map(objectOf) : []) {
    const index = call?.index;
    if (typeof index === "number") {
      if (index > lastCall) toolCalls++;
      lastCall = Math.max(lastCall, index);
    } else if (objectOf(call?.function)?.name !== undefined) {
      toolCalls++;
    }
  }
  if (objectOf(delta.function_call) !== undefined && toolCalls === 0) toolCalls = 1;
  return toolCalls === state.toolCalls ? state : { ...state, toolCalls, lastCall };
}

/**
 * Fold of an OpenAI Responses stream (`openai` 7.59, ResponseStreamEvent) into one reply. Text comes in
 * deltas; reasoning is passed over, calls that the client would have to run are counted. Pure.
 */
import { callTypes } from "../dialects/responses-types.ts";
import {
  decode,
  garbage,
  type Json,
  objectOf,
  type StreamEvent,
  type StreamState,
  word,
} from "./stream-state.ts";

/** The reply is whole at `response.completed` or `response.incomplete`; no `[DONE]` is promised behind it. */
export function foldResponses(state: StreamState, event: StreamEvent): StreamState {
  if (state.done || state.failure !== undefined) return state;
  if (event.data.trim() === "[DONE]") return garbage(state, "the stream ended before the response did");
  const data = decode(event.data);
  if (data === undefined) return garbage(state, "an event is not a JSON object");
  switch (data.type) {
    case "response.output_text.delta":
      return typeof data.delta === "string"
        ? { ...state, text: state.text + data.delta }
        : garbage(state, "a delta holds no text");
    case "response.refusal.delta":
      return { ...state, refused: true };
    case "response.output_item.added": {
      const type = objectOf(data.item)?.type;
      const calls = typeof type === "string" && callTypes.has(type) ? 1 : 0;
      return { ...state, toolCalls: state.toolCalls + calls };
    }
    case "response.created":
      return named(state, objectOf(data.response));
    case "response.completed":
    case "response.incomplete":
      return ended(state, data.type, objectOf(data.response));
    case "response.failed":
      return broken(state, objectOf(data.response)?.error);
    case "error":
      // Its code and message stand in the event itself, or in `error` as everywhere else.
      return broken(state, data.error ?? data);
    default:
      return data.type === undefined && data.error ? broken(state, data.error) : state;
  }
}

function named(state: StreamState, response: Json | undefined): StreamState {
  const model = word(response?.model) ?? state.model;
  return model === undefined ? state : { ...state, model };
}

function ended(state: StreamState, type: string, response: Json | undefined): StreamState {
  if (response === undefined) return garbage(state, "the last event holds no response");
  const reason = word(objectOf(response.incomplete_details)?.reason);
  return {
    ...named(state, response),
    usage: objectOf(response.usage) ?? state.usage,
    finishReason: type === "response.completed" ? "completed" : (reason ?? "incomplete"),
    done: true,
  };
}

/** As the body of a refusal, which is what the overflow signatures read. */
function broken(state: StreamState, error: unknown): StreamState {
  return { ...state, failure: { kind: "error", data: JSON.stringify({ error: error ?? {} }) } };
}

/**
 * What a streamed reply has come to so far, whatever the dialect. A dialect's fold takes a state and one
 * event and answers the next state; it never throws. Free of transport: no bytes, no clock, no `await`.
 */
import type { DialectName } from "../dialects/dialect.ts";
import type { ModelReply } from "./provider.ts";
import { usageOf } from "./usage.ts";

/** One server-sent event. */
export interface StreamEvent {
  event?: string | undefined;
  data: string;
}

export interface StreamState {
  text: string;
  toolCalls: number;
  /** Highest index of a tool call seen, where calls are told apart by index. */
  lastCall: number;
  finishReason?: string;
  /** The provider refused to answer in words that are no answer. */
  refused: boolean;
  /** Usage in the dialect's own shape, merged over the events. */
  usage: Readonly<Record<string, unknown>>;
  model?: string;
  /** True once the provider has said that the reply is whole. */
  done: boolean;
  failure?: StreamFailure;
}

/** `garbage`: not what the dialect allows. `error`: the data of the provider's own error event. */
export type StreamFailure = { kind: "garbage"; what: string } | { kind: "error"; data: string };

export type StreamFold = (state: StreamState, event: StreamEvent) => StreamState;

export const emptyStream: StreamState = {
  text: "",
  toolCalls: 0,
  lastCall: -1,
  refused: false,
  usage: {},
  done: false,
};

export function brokenOff(state: StreamState, event: StreamEvent): StreamState {
  return { ...state, failure: { kind: "error", data: event.data } };
}

export function garbage(state: StreamState, what: string): StreamState {
  return { ...state, failure: { kind: "garbage", what } };
}

/** The provider's word for the end of a reply, in ours. A word that is not known stays `other`. */
export function finishOf(reason: string): ModelReply["finish"] {
  switch (reason) {
    case "stop":
    case "completed":
    case "end_turn":
    case "stop_sequence":
      return "stop";
    case "length":
    case "max_tokens":
    case "max_output_tokens":
    // The window cut the reply, not the cap: for a reader of the text that is the same.
    case "model_context_window_exceeded":
      return "length";
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool";
    case "content_filter":
    case "refusal":
      return "filter";
    default:
      return "other";
  }
}

export type Json = Readonly<Record<string, unknown>>;

/** A JSON object, or undefined for anything else. */
export function objectOf(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The decoded object of an event's data, or undefined. */
export function decode(data: string): Json | undefined {
  try {
    return objectOf(JSON.parse(data));
  } catch {
    return undefined;
  }
}

/** A provider's own word (a model, a finish reason), short enough to keep. */
export function word(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 128) : undefined;
}

/** The reply of a stream that is whole: the provider has given its finish reason, so it must be there. */
export function replyOf(
  dialect: DialectName,
  state: StreamState & { finishReason: string },
  requestId: string | undefined,
): ModelReply {
  const usage = usageOf(dialect, state.usage);
  return {
    text: state.text,
    toolCalls: state.toolCalls,
    finish: state.refused ? "filter" : finishOf(state.finishReason),
    finishReason: state.finishReason,
    ...(usage === undefined ? {} : { usage }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(state.model === undefined ? {} : { model: state.model }),
  };
}

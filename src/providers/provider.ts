import type { DialectName } from "../dialects/dialect.ts";

/** Provider-reported usage of one request, disjoint: `input` is what was neither read from nor written to a cache. */
export interface Usage {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  /** Part of `output` that was thought and is never sent again (OpenAI reasoning); absent where nobody says. */
  reasoning?: number;
}

/** Capacity of an exact route. Absent means unknown. Tokens, bytes, images. */
export interface Capacity {
  window?: number;
  inputLimit?: number;
  maxOutput?: number;
  maxRequestBytes?: number;
  maxImages?: number;
}

/** Limits of one model as its provider's own list states them. */
export type ListedLimits = Pick<Capacity, "window" | "inputLimit" | "maxOutput">;

/** Whether a kept thinking block is bound to what stands before it (providers.md 0.1). */
export type ThinkingBinding = "none" | "prefix";

/** A route as configuration, the provider's list, table and defaults resolve it. `ratio` is the prior: provider tokens per o200k token. */
export interface Route {
  /** `provider/model` */
  name: string;
  capacity: Capacity;
  capacitySource: "config" | "provider" | "table" | "unknown";
  ratio: number;
  thinkingBinding: ThinkingBinding;
}

/** Where to send a request of a configured provider. `key` is the secret itself: never logged. */
export interface Upstream {
  provider: string;
  model: string;
  baseUrl: string;
  dialect: DialectName;
  key?: string;
  /** The client's own key travels to this provider, see `client-key.ts`. */
  forward?: true;
  /** Token of an AI Gateway in front of the provider: a secret like `key`. */
  gatewayKey?: string;
  /** Milliseconds until the status line, and of silence inside a body. Absent: `defaultTimeouts`. */
  timeouts?: { readonly firstByteMs: number; readonly idleMs: number };
}

/** One complete model reply of a streamed call. `text` holds text only, never thinking. */
export interface ModelReply {
  text: string;
  toolCalls: number;
  /** `stop`: ended by itself; `length`: cut at the output cap; `other`: the provider's own word in `finishReason`. */
  finish: "stop" | "length" | "tool" | "filter" | "other";
  finishReason: string;
  usage?: Usage;
  requestId?: string;
  model?: string;
}

export type CallFailureReason =
  | "timeout"
  | "cancelled"
  | "network"
  | "http"
  | "stream"
  | "garbage"
  | "overflow"
  | "rate-limit";

export type CallResult =
  | { ok: true; reply: ModelReply; ms: number }
  | { ok: false; reason: CallFailureReason; status?: number; detail: string; retryable: boolean; ms: number };

/** Sends a body to an upstream as a stream and folds the reply. Never throws; secrets never reach `detail`. */
export type CallModel = (
  upstream: Upstream,
  body: Uint8Array,
  options: { signal: AbortSignal; timeoutMs: number; fetch: typeof fetch },
) => Promise<CallResult>;

import type { WireDialect } from "../../src/dialects/wire.ts";
import type { ThinkingBinding } from "../../src/providers/provider.ts";
import type { Json } from "./json.ts";

/** What goes wrong with one request. Faults in a stream strike behind `after` events of it (default 4). */
export type ProviderFault =
  /** No answer until the client leaves. */
  | { do: "hang" }
  | { do: "status"; status: 429 | 500 | 503 | 529; headers?: Record<string, string> }
  | { do: "garbage"; body?: string }
  /** The connection breaks; the body ends without its terminal event; nothing more comes. */
  | { do: "die" | "cut" | "stall"; after?: number }
  /** The provider's own error inside a stream that began well. */
  | { do: "error-event"; after?: number; overflow?: boolean }
  /** A good answer, each event of it late. */
  | { do: "slow"; everyMs: number };

export interface Asked {
  /** Counts the requests to the model's endpoints from 1. */
  nth: number;
  dialect: WireDialect;
  headers: Headers;
  body: Json;
}

export interface ProviderOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Window of every model in tokens; absent: no request is too long. `models` lowers it by name. */
  window?: number;
  models?: Readonly<Record<string, { window: number }>>;
  /** Refuse models that are not in `models`. Default false. */
  onlyModels?: boolean;
  maxOutput?: number;
  /** Tokens of this provider for one token of the count; 1.6 is denser than counted. Default 1. */
  density?: number;
  /** `prefix`: thinking is bound to everything in front of it. Default none. */
  binding?: ThinkingBinding;
  /** Chat replies carry `reasoning_content` and want it back in messages with calls. Default false. */
  reasoningContent?: boolean;
  /** Responses replies think, as if every request asked for it. Default true. */
  reasoning?: boolean;
  /** Anthropic caches only in front of cache marks, as the real one does. Default: every prefix, marked or not. */
  cacheByMarks?: boolean;
  /** The only key that is let in. */
  key?: string;
  /** Where the dialects' endpoints begin. Defaults `/openai/v1` and `/anthropic/v1`. */
  paths?: { openai?: string; anthropic?: string };
  /** Wait before the first byte. */
  delayMs?: number;
  /** Events per write of a stream. Default 8. */
  eventsPerWrite?: number;
  /** Asked before each request; what it answers happens. */
  fault?: (asked: Asked) => ProviderFault | undefined;
  /** The same without code: every n-th request. */
  faultEvery?: { every: number; fault: ProviderFault };
}

export interface Repeated {
  key: string;
  times: number;
}

export interface ProviderStats {
  /** Requests to the model's endpoints, whatever became of them. */
  requests: number;
  /** Completed answers, that is billed ones. */
  answered: number;
  /** Answers whose client left before the end. */
  abandoned: number;
  /** Refusals of illegal requests by kind; overflows stand apart. */
  refusals: Record<string, number>;
  overflows: number;
  /** The newest refusals and overflows in the provider's words, at most 20. */
  words: string[];
  faults: Record<string, number>;
  /** Input of answered requests; `cachedTokens` of it stood in an earlier request's prefix. */
  inputTokens: number;
  cachedTokens: number;
  cachedShare: number;
  outputTokens: number;
  largestInput: number;
  /** How often each final answer of a task was given. */
  completions: Record<string, number>;
  /** Answers to requests that were no work of a task: summaries, titles. */
  plain: number;
  counted: number;
  /** Distinct bodies answered, and those answered more than once. */
  billed: { distinct: number; repeated: Repeated[] };
  /** Rounds of tasks answered (`task#round`), and those answered more than once, whatever their bodies. */
  rounds: { distinct: number; repeated: Repeated[] };
}

export interface Provider {
  /** Origin without a slash at the end; `openai` and `anthropic` are base URLs as the SDKs take them. */
  url: string;
  openai: string;
  anthropic: string;
  port: number;
  stats(): ProviderStats;
  /** Adds to the queue of faults; the next requests take them in order. */
  will(...faults: ProviderFault[]): void;
  close(): Promise<void>;
}

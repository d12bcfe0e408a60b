/** Overflows that no error tells of: what a reply with status 200 gives away by its finish and its usage. Pure. */
import type { Usage } from "./provider.ts";

/** A reply that came with status 200. `finish` is the provider's word or ours; tokens. */
export interface Replied {
  usage?: Usage | undefined;
  finish?: string | undefined;
  window?: number | undefined;
  outputTokens?: number | undefined;
  /**
   * Our own estimate of what was sent. Only where the client left truncation to nobody: a provider that was
   * asked to shorten the prompt does what it was told.
   */
  sent?: number | undefined;
  /** Input that was reported for the request before, where this one only added to it. */
  before?: number | undefined;
}

export interface SilentOverflow {
  /**
   * `finish`: the provider said so; `over-window`: it took more than the window; `full`: the window ended
   * the reply; `truncated`: the provider read less than it was sent.
   */
  sign: "finish" | "over-window" | "full" | "truncated";
  /** The reply is complete all the same: never run it again, compact before the next step. */
  answered: boolean;
  /** Input as the provider counted it, cache included. */
  inputTokens?: number;
}

const cutByLength: ReadonlySet<string> = new Set(["length", "max_tokens", "max_output_tokens"]);
/** Below these two shares of what must have been read, something was left out and no estimate is that wrong. */
const READ_OF_SENT = 0.5;
const READ_OF_BEFORE = 0.9;
/** Short requests say nothing: no window is that small, and estimates of them are rough. Tokens. */
const LEAST_SENT = 2_000;

/**
 * The signs of an overflow that no error tells of. Undefined when there is none; a length stop far below
 * the window is the output cap, not the window. Sources: Anthropic and z.ai
 * (`model_context_window_exceeded`), z.ai (usage beyond the window), Xiaomi MiMo and Qwen (length stop at
 * 99 % of the window), Ollama (a prompt shortened without a word).
 */
export function silentOverflow(replied: Replied): SilentOverflow | undefined {
  const { usage, finish = "", window } = replied;
  const output = replied.outputTokens ?? usage?.output;
  const input = usage === undefined ? undefined : usage.input + usage.cacheRead + usage.cacheWrite;
  const whole = !cutByLength.has(finish) && output !== 0;
  const found = (sign: SilentOverflow["sign"]): SilentOverflow => ({
    sign,
    answered: (sign === "over-window" || sign === "truncated") && whole,
    ...(input === undefined ? {} : { inputTokens: input }),
  });
  if (finish === "model_context_window_exceeded") return found("finish");
  if (input === undefined) return undefined;
  if (window !== undefined && input > window) return found("over-window");
  if (window !== undefined && !whole && input >= 0.99 * window) return found("full");
  return isTruncated(input, replied) ? found("truncated") : undefined;
}

/** No input at all is a provider that does not count, not one that read nothing. */
function isTruncated(input: number, { sent = 0, before = 0 }: Replied): boolean {
  if (input === 0) return false;
  return (
    (sent >= LEAST_SENT && input < READ_OF_SENT * sent) ||
    (before >= LEAST_SENT && input < READ_OF_BEFORE * before)
  );
}

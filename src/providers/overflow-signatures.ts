/**
 * How providers say that a request does not fit, as data: codes, and patterns over the provider's own
 * message with named groups for its numbers. One entry per wording; a new provider is a new entry.
 * Sources: OpenAI's and Anthropic's error pages and their messages as public issues quote them.
 */

/** Codes and types that mean overflow by themselves. */
export const overflowCodes: ReadonlySet<string> = new Set([
  "context_length_exceeded", // OpenAI, Azure, Groq
  "model_max_prompt_tokens_exceeded", // GitHub Copilot
  "exceed_context_size_error", // llama.cpp, with the fields n_prompt_tokens and n_ctx
]);

export const rateCodes: ReadonlySet<string> = new Set([
  "rate_limit_exceeded",
  "rate_limit_error",
  "too_many_requests",
  "throttlingexception",
]);

export const quotaCodes: ReadonlySet<string> = new Set(["insufficient_quota", "billing_error"]);

/** One pattern out of alternatives. */
function words(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join("|"), "i");
}

/** Money or allowance is used up: waiting a minute does not help. */
export const quotaWords = words(
  "insufficient[ _-]quota",
  "exceeded your current quota",
  "balance (?:is )?(?:depleted|insufficient|too low)",
  "insufficient (?:balance|credits)",
  "usage[ _-]limit[ _-]exceeded",
  "out of credits",
  "billing hard limit",
);

/** Too much in too short a time, whatever else the message says about tokens. */
export const rateWords = words(
  "rate[ _-]?limit",
  "too many requests",
  "\\bper[ -](?:second|minute|min|hour|day)\\b",
  "\\b[TR]P[MD]\\b",
  "throttl",
  "please wait",
  "try again (?:in|later)",
  "\\bquota\\b",
  "resource[ _](?:has been )?exhausted",
);

/** The output cap is refused as such: the history has nothing to do with it. */
export const outputCapWords = words(
  "max_tokens must be less than",
  "max(?:_completion)?_tokens is too large",
  "maximum (?:allowed )?number of output tokens",
);

const place = "^(?:messages\\.\\d+\\.content\\.\\d+: )?";
const thinking = "`?thinking`? or `?redacted_thinking`?";

/**
 * Thinking that is bound to a history which is no longer the same (Anthropic, "Preserved thinking: prefix
 * checks").
 */
export const bindingWords = words(
  `${place}Invalid \`signature\` in \`thinking\` block\\. The block is bound to a different conversation`,
  `${place}${thinking} blocks in the latest assistant message cannot be modified`,
);

/**
 * A wording. `pattern` is anchored at the start of the message; groups `limit`, `input`, `functions`,
 * `output`, `total` are numbers of tokens. `rest`, tried in order after `pattern` has matched, reads more
 * of them from what follows.
 */
export interface OverflowSignature {
  provider: string;
  pattern: RegExp;
  rest?: readonly RegExp[];
}

/** Replaces `<name>` by a group for a number with or without separators. */
function wording(source: string): RegExp {
  return new RegExp(`^(?:${source.replace(/<(\w+)>/g, "(?<$1>\\d[\\d,_]{0,14})")})`, "i");
}

const however = "[.,;]? however,?";
const breakdown =
  "<input> in the messages(?:, <functions> in the functions)?(?:, <output> in the completion)?";
const olderBreakdown = "<input> in your prompt; <output> for the completion";

export const overflowSignatures: readonly OverflowSignature[] = [
  {
    provider: "openai",
    pattern: wording("(?:this model's )?maximum context length is <limit> tokens"),
    rest: [
      wording(`${however} (?:you requested|your messages resulted in) <total> tokens \\(${breakdown}\\)`),
      wording(`${however} you requested <total> tokens \\(${olderBreakdown}\\)`),
      wording(`${however} your messages resulted in <input> tokens`),
      wording(`${however} you requested <total> tokens`),
    ],
  },
  {
    provider: "openai",
    pattern: wording("input tokens exceed (?:the )?(?:configured )?limit(?: of <limit> tokens)?"),
    rest: [wording("[.,;]? your messages resulted in <input> tokens")],
  },
  {
    provider: "openai",
    pattern: wording("(?:your )?input exceeds the (?:model(?:'s)? )?context (?:window|length)"),
  },
  { provider: "anthropic", pattern: wording("prompt is too long: <input> tokens > <limit> maximum") },
  { provider: "anthropic", pattern: wording("prompt is too long") },
  {
    provider: "anthropic",
    pattern: wording("input length and `?max_tokens`? exceed context limit: <input> \\+ <output> > <limit>"),
  },
  { provider: "any", pattern: wording("context[ _-](?:length|window)[ _-](?:exceeded|overflow(?:ed)?)\\b") },
  { provider: "any", pattern: wording("maximum context (?:length|window)\\b") },
  { provider: "any", pattern: wording("(?:the )?input is too long for (?:this|the|requested) model") },
  { provider: "any", pattern: wording("request too large for (?:the )?model context") },
  { provider: "any", pattern: wording("too many (?:input )?tokens[.!]?$") },
];

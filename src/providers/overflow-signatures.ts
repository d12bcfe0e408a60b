/**
 * Codes and words that tell what a refusal is about, whoever sent it. What an overflow sounds like stands in
 * `overflow-wordings.ts`, what is none of these in `look-alikes.ts`.
 * Sources: OpenAI's and Anthropic's error pages and their messages as public issues quote them.
 */

/** Codes and types that mean overflow by themselves. */
export const overflowCodes: ReadonlySet<string> = new Set([
  "context_length_exceeded", // OpenAI, Azure, Groq
  "model_max_prompt_tokens_exceeded", // GitHub Copilot
  "exceed_context_size_error", // llama.cpp, with the fields n_prompt_tokens and n_ctx
  "contextwindowexceedederror", // LiteLLM's type
  "1261", // z.ai
]);

export const rateCodes: ReadonlySet<string> = new Set([
  "rate_limit_exceeded",
  "rate_limit_error",
  "too_many_requests",
  "throttlingexception",
]);

export const quotaCodes: ReadonlySet<string> = new Set(["insufficient_quota", "billing_error"]);

/** Error types that providers send for a fault of their own (OpenAI, Anthropic). */
export const transientCodes: ReadonlySet<string> = new Set([
  "overloaded_error",
  "api_error",
  "timeout_error",
  "server_error",
  "internal_server_error",
  "service_unavailable",
]);

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

/** One request that is over a limit per minute: no waiting brings it through. Tokens. */
export const minuteCeiling =
  /\blimit:? (\d[\d,]{0,12})(?:, used \d[\d,]{0,12})?, requested:? (\d[\d,]{0,12})/i;

/**
 * The output cap is refused as such: the history has nothing to do with it. vLLM begins in the same way and
 * goes on with its window.
 */
export const outputCapWords = words(
  "max[_ ]tokens must be less than",
  "max(?:_completion)?_tokens is too large(?!: \\d+\\. this model's maximum context length)",
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

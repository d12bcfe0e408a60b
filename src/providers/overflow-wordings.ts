/**
 * How providers word that a request does not fit, as data: patterns over the provider's own message with named
 * groups for its numbers. One entry per wording; a new provider is a new entry. Sources: the providers' error
 * pages, the servers' own sources, and their messages as public issues quote them.
 */

/**
 * A wording. `pattern` is anchored at the start of the message; groups `limit`, `input`, `functions`,
 * `output`, `total` are numbers of tokens, `excess` is what is too much. `rest`, tried in order after
 * `pattern` has matched, reads more of them from what follows.
 */
export interface OverflowSignature {
  provider: string;
  pattern: RegExp;
  rest?: readonly RegExp[];
  /** `limit` is one of the input alone; else it is the window, or nobody can tell. */
  inputOnly?: true;
  /** Said by others too about something else: it counts at this status alone. */
  status?: number;
}

/** Replaces `<name>` by a group for a number with or without separators. */
function wording(source: string): RegExp {
  return new RegExp(`^(?:${source.replace(/<(\w+)>/g, "(?<$1>\\d[\\d,_]{0,14})")})`, "i");
}

const say = (provider: string, pattern: string, ...rest: string[]): OverflowSignature => ({
  provider,
  pattern: wording(pattern),
  ...(rest.length === 0 ? {} : { rest: rest.map(wording) }),
});
const sayInput = (provider: string, pattern: string, ...rest: string[]): OverflowSignature => ({
  ...say(provider, pattern, ...rest),
  inputOnly: true,
});

const however = "[.,;]? however,?";
const breakdown =
  "<input> in the messages(?:, <functions> in the functions)?(?:, <output> in the completion)?";
const olderBreakdown = "<input> in your prompt; <output> for the completion";
const routed = "<input> of text input(?:, <functions> of tool input)?(?:, <output> in the output)?";
const vllmOutput = "<output> output tokens and your prompt contains at least <input> input tokens";
const openaiWindow = "(?:this (?:model|endpoint)'s )?maximum context length is <limit> tokens";

export const overflowSignatures: readonly OverflowSignature[] = [
  // OpenAI, Azure, DeepSeek and vLLM share the opening; OpenRouter says "endpoint".
  say(
    "openai",
    openaiWindow,
    `${however} (?:you requested|your messages resulted in) <total> tokens \\(${breakdown}\\)`,
    `${however} you requested <total> tokens \\(${olderBreakdown}\\)`,
    `${however} you requested about <total> tokens \\(${routed}\\)`,
    `${however} you requested ${vllmOutput}`,
    `${however} your (?:messages resulted in|request has) <input> (?:input )?tokens`,
    `${however} you requested <input> tokens in the messages`,
    `${however} you requested (?:about )?<total> tokens`,
  ),
  sayInput(
    "openai",
    "input tokens exceed (?:the )?(?:configured )?limit(?: of <limit> tokens)?",
    "[.,;]? your messages resulted in <input> tokens",
  ),
  say("openai", "(?:your )?input exceeds the (?:model(?:'s)? )?context (?:window|length)"),
  say("anthropic", "prompt is too long: <input> tokens > <limit> maximum"),
  say("anthropic", "prompt is too long"),
  say("anthropic", "input length and `?max_tokens`? exceed context limit: <input> \\+ <output> > <limit>"),
  sayInput("github-copilot", "prompt token count of <input> exceeds the limit of <limit>"),
  sayInput(
    "google",
    "(?:the )?input token count \\(<input>\\) exceeds the maximum number of tokens allowed \\(<limit>\\)",
  ),
  sayInput("google", "(?:the )?input token count is <input> but (?:the )?model only supports up to <limit>"),
  say("google", "(?:the )?input token count(?: \\(?\\d+\\)?)? exceeds the maximum number of tokens allowed"),
  sayInput("xai", "this model's maximum prompt length is <limit> but the request contains <input> tokens"),
  say("bedrock", "prompt tokens \\(<input>\\) exceed model maximum \\(<limit>\\)"),
  say("bedrock", "(?:the )?number of input tokens exceeds (?:the )?maximum length"),
  say("bedrock", "(?:malformed input request: )?expected maxLength\\b"),
  say(
    "mistral",
    "prompt contains <input> tokens\\b[^.]{0,60}\\btoo large for model with <limit> maximum context length",
  ),
  say(
    "groq, cerebras",
    "please reduce the length of the messages or completion",
    "\\. current length is <total> while limit is <limit>",
  ),
  // SGLang and the providers that run it (Together, Novita, Parasail).
  say(
    "sglang",
    "(?:the )?input \\(<input> tokens\\) is longer than the model's context length \\(<limit> tokens\\)",
  ),
  say(
    "sglang",
    "requested token count exceeds the model's maximum context length(?: of <limit> tokens)?",
    "\\. you requested a total of <total> tokens: <input> tokens from the input messages and <output> tokens for",
  ),
  // Hugging Face's text-generation server and those that run it.
  say(
    "tgi",
    "`inputs` tokens \\+ `max_new_tokens` must be <= <limit>",
    "\\. given: <input> `inputs` tokens and <output> `max_new_tokens`",
  ),
  sayInput("tgi", "`inputs` must have less than <limit> tokens", "\\. given: <input>"),
  { ...say("tgi", "length limit exceeded\\.?$"), status: 422 },
  say(
    "vllm",
    "(?:the )?(?:decoder )?prompt \\((?:total )?length <input>\\) is longer than the maximum model length of <limit>",
  ),
  say(
    "vllm",
    "'?max_tokens'?(?: or 'max_completion_tokens')? is too large: <output>\\. this model's maximum context length is <limit> tokens",
    " and your request has <input> input tokens",
  ),
  say("any", "input length \\(?<input>\\)? exceeds (?:the )?model's maximum context length \\(?<limit>\\)?"),
  sayInput("any", "input length \\(?<input>\\)? exceeds the maximum allowed input length of <limit> tokens"),
  sayInput("deepinfra", "requested input length <input> exceeds maximum input length <limit>"),
  say(
    "workers-ai",
    "the estimated number of input and maximum output tokens \\(<total>\\) exceeded this model context window limit \\(<limit>\\)",
  ),
  say(
    "llama.cpp",
    "(?:the )?request \\(<input> tokens\\) exceeds the available context size \\(<limit> tokens\\)",
  ),
  say("llama.cpp", "(?:the )?request exceeds the available context size"),
  say("ollama", "prompt too long; exceeded (?:the )?max context length by <excess> tokens"),
  say("ollama", "(?:the )?input length exceeds (?:the )?(?:model's )?(?:maximum )?context length"),
  // Tokens that the server was told to keep: no count of the request.
  say(
    "lm-studio",
    "trying to keep the first \\d+ tokens when (?:the )?context (?:the )?overflows",
    "\\. however, the model is loaded with context length of only <limit> tokens",
  ),
  say(
    "lm-studio",
    "(?:the number of )?tokens to keep from the initial prompt is greater than the context length",
  ),
  say(
    "lm-studio",
    "input does not fit in (?:the )?context length",
    "\\. the input has <input> tokens, but the context length only supports <limit> tokens",
  ),
  say("lm-studio", "(?:the )?context size has been exceeded"),
  sayInput(
    "cohere",
    "too many tokens: total number of tokens in the prompt cannot exceed <limit>",
    " - received <input>",
  ),
  say("minimax", "context window exceeds limit"),
  say("moonshot", "your request exceeded model token limit: <limit>", " \\(requested: <total>\\)"),
  say("moonshot", "input token length too long"),
  say("z.ai", "prompt (?:is )?(?:too long|超长|exceeds max(?:imum)? length)"),
  sayInput("dashscope", "range of input length should be(?: \\[\\d+, ?<limit>\\])?"),
  say("any", "context[ _-](?:length|window)[ _-](?:exceeded|overflow(?:ed)?)\\b"),
  say("any", "maximum context (?:length|window)\\b"),
  say("any", "(?:the )?input is too long for (?:this|the|requested) model"),
  say("any", "request too large for (?:the )?model context"),
  say("any", "too many (?:input )?tokens[.!]?$"),
  // A proxy's own verdict in front of the words that it passes on.
  say("litellm", "litellm\\.ContextWindowExceededError\\b"),
];

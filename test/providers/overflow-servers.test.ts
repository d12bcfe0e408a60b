/** How open servers, and those that run them, say that a request does not fit. */
import { describe } from "vitest";
import { at400, full, input, overflowCases } from "./overflow-rows.ts";
import { openai } from "./refusals.ts";

describe("open servers and those that run them", () => {
  overflowCases([
    [
      "[PI-059] SGLang, Together",
      {
        ...at400({
          object: "error",
          message: "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
          type: "BadRequestError",
          code: 400,
        }),
        window: 262_144,
      },
      full(262_144, 516_368),
    ],
    [
      "SGLang, exactly the window: it must have room for one token more",
      at400("The input (4096 tokens) is longer than the model's context length (4096 tokens)."),
      full(4_096, 4_096),
    ],
    [
      "SGLang's sum, the cap too high",
      at400(
        "Requested token count exceeds the model's maximum context length of 64000 tokens. You requested a " +
          "total of 71897 tokens: 7897 tokens from the input messages and 64000 tokens for the completion.",
      ),
      { limit: 64_000, tokens: 71_897, inputTokens: 7_897, maxTokensOnly: true },
    ],
    [
      "[PI-060] 503 by a proxy that passes a refusal on",
      {
        status: 503,
        body: {
          error: {
            message:
              "Requested token count exceeds the model's maximum context length of 131072 tokens. You " +
              "requested a total of 140000 tokens: 135000 tokens from the input messages and 5000 tokens for the completion.",
          },
        },
        window: 131_072,
      },
      { limit: 131_072, tokens: 140_000, inputTokens: 135_000 },
    ],
    [
      "[PI-060] 503 that the text alone states",
      { body: "503 Requested token count exceeds the model's maximum context length of 131072 tokens." },
      { limit: 131_072 },
    ],
    [
      "[PI-061] parentheses",
      {
        ...at400("Input length (265330) exceeds model's maximum context length (262144)."),
        window: 262_144,
      },
      full(262_144, 265_330),
    ],
    [
      "[PI-063] Poolside",
      {
        ...at400("Input length 131393 exceeds the maximum allowed input length of 131040 tokens."),
        window: 131_072,
      },
      input(131_040, 131_393),
    ],
    [
      "Together's sum",
      {
        status: 422,
        body: openai(
          "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 " +
            "`inputs` tokens and 512 `max_new_tokens`",
        ),
      },
      { limit: 8_193, tokens: 8_512, inputTokens: 8_000, maxTokensOnly: true },
    ],
    [
      "Hugging Face",
      {
        status: 422,
        body: {
          error: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
          error_type: "validation",
        },
      },
      input(4_096, 5_000),
    ],
    ["Hugging Face, in short", { status: 422, body: { error: "length limit exceeded" } }, {}],
    [
      "DeepInfra",
      at400("Requested input length 33000 exceeds maximum input length 32767"),
      input(32_767, 33_000),
    ],
    [
      "vLLM's prompt",
      at400({
        object: "error",
        message:
          "The prompt (length 5000) is longer than the maximum model length of 4096. Make sure that it fits.",
        type: "BadRequestError",
        param: null,
        code: 400,
      }),
      full(4_096, 5_000),
    ],
    [
      "vLLM's decoder prompt",
      at400("The decoder prompt (length 40001) is longer than the maximum model length of 40000."),
      full(40_000, 40_001),
    ],
    [
      "vLLM's input tokens",
      at400(
        openai(
          "This model's maximum context length is 4096 tokens. However, your request has 5000 input " +
            "tokens. Please reduce the length of the input messages.",
        ),
      ),
      full(4_096, 5_000),
    ],
    [
      "vLLM's messages",
      at400(
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, " +
          "Please reduce the length of the messages.",
      ),
      full(4_096, 5_000),
    ],
    [
      "vLLM's sum, one token too long",
      at400(
        "maximum context length is 196608 tokens. However, you requested 16384 output tokens and your " +
          "prompt contains at least 180225 input tokens, for a total of at least 196609 tokens.",
      ),
      { limit: 196_608, tokens: 196_609, inputTokens: 180_225, maxTokensOnly: true },
    ],
    [
      "vLLM's cap, the cap too high",
      at400(
        "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length " +
          "is 4096 tokens and your request has 500 input tokens (4000 > 4096 - 500).",
      ),
      { limit: 4_096, tokens: 4_500, inputTokens: 500, maxTokensOnly: true },
    ],
    [
      "vLLM's cap, the history too long",
      at400(
        "max_tokens is too large: 100. This model's maximum context length is 4096 tokens and your " +
          "request has 4200 input tokens (100 > 4096 - 4200).",
      ),
      { limit: 4_096, tokens: 4_300, inputTokens: 4_200 },
    ],
    [
      "llama.cpp",
      at400({
        error: {
          code: 400,
          message:
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
          type: "exceed_context_size_error",
          n_prompt_tokens: 9_000,
          n_ctx: 8_192,
        },
      }),
      full(8_192, 9_000),
    ],
    [
      "llama.cpp, older words beside its numbers",
      at400({
        error: {
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
          n_prompt_tokens: 9_000,
          n_ctx: 8_192,
        },
      }),
      full(8_192, 9_000),
    ],
    [
      "llama.cpp, older",
      at400("the request exceeds the available context size. try increasing the context size"),
      {},
    ],
    [
      "Ollama",
      at400({ error: "prompt too long; exceeded max context length by 512 tokens" }),
      { excess: 512 },
    ],
    ["Ollama, in short", at400({ error: "the input length exceeds the context length" }), {}],
    [
      "LM Studio, what it was told to keep is no count of the request",
      at400(
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with " +
          "context length of only 4096 tokens, which is not enough.",
      ),
      { limit: 4_096 },
    ],
    [
      "LM Studio, another wording",
      at400({
        error: "The number of tokens to keep from the initial prompt is greater than the context length.",
      }),
      {},
    ],
  ]);
});

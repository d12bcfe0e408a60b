/** How the vendors of hosted models say that a request does not fit. */
import { describe } from "vitest";
import { at400, full, input, overflowCases } from "./overflow-rows.ts";
import { openai } from "./refusals.ts";

describe("hosted models", () => {
  overflowCases([
    [
      "Responses",
      at400({
        error: {
          message:
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
          type: "invalid_request_error",
          param: "input",
          code: "context_length_exceeded",
        },
      }),
      {},
    ],
    [
      "GitHub Copilot, by its code and its words",
      at400({
        error: {
          message: "prompt token count of 135421 exceeds the limit of 128000",
          code: "model_max_prompt_tokens_exceeded",
        },
      }),
      input(128_000, 135_421),
    ],
    [
      "GitHub Copilot, by its words",
      at400("prompt token count of 135421 exceeds the limit of 128000"),
      input(128_000, 135_421),
    ],
    [
      "Gemini",
      at400([
        {
          error: {
            code: 400,
            message:
              "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
            status: "INVALID_ARGUMENT",
          },
        },
      ]),
      input(1_048_576, 1_196_265),
    ],
    [
      "Gemini, older",
      at400({
        error: {
          code: 400,
          message: "The input token count is 40000 but model only supports up to 32768.",
          status: "INVALID_ARGUMENT",
        },
      }),
      input(32_768, 40_000),
    ],
    [
      "Gemini through a proxy that leaves the numbers out",
      at400("input token count exceeds the maximum number of tokens allowed"),
      {},
    ],
    [
      "Bedrock",
      at400({ __type: "ValidationException", message: "Input is too long for requested model." }),
      {},
    ],
    [
      "Bedrock, passing the model's words on",
      at400(
        "ValidationException: The model returned the following errors: prompt is too long: 210000 tokens " +
          "> 200000 maximum",
      ),
      full(200_000, 210_000),
    ],
    [
      "Bedrock, as its SDK words it",
      {
        body:
          "An error occurred (ValidationException) when calling the ConverseStream operation: The model " +
          "returned the following errors: Input is too long for requested model.",
      },
      {},
    ],
    ["Bedrock, too many input tokens", at400({ message: "Too many input tokens" }), {}],
    [
      "Bedrock, in characters",
      at400({
        message:
          "Malformed input request: expected maxLength: 2500000, actual: 3100000, please reformat your input.",
      }),
      {},
    ],
    [
      "Nova, in the stream",
      {
        status: 200,
        body: {
          message:
            "The model returned the following errors: The number of input tokens exceeds maximum length",
        },
      },
      {},
    ],
    [
      "[PI-062] Bedrock's newer endpoint",
      {
        ...at400({
          error: {
            message: "prompt tokens (330095) exceed model maximum (278528)",
            type: "validation_error",
          },
        }),
        window: 272_000,
      },
      full(278_528, 330_095),
    ],
    [
      "Mistral",
      at400({
        object: "error",
        message:
          "Prompt contains 40563 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        type: "invalid_request_invalid_args",
        code: "3051",
      }),
      full(32_768, 40_563),
    ],
    [
      "xAI",
      at400({
        code: "Client specified an invalid argument",
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      }),
      input(131_072, 537_812),
    ],
    ["Groq", at400(openai("Please reduce the length of the messages or completion.")), {}],
    [
      "Groq, by its code",
      at400(openai("Please reduce the length of the messages or completion.", "context_length_exceeded")),
      {},
    ],
    [
      "Cerebras",
      at400({
        message:
          "Please reduce the length of the messages or completion. Current length is 8900 while limit is 8192",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      }),
      { limit: 8_192, tokens: 8_900 },
    ],
    ["Cerebras, 413 without a body", { status: 413, body: "", estimate: 7_000, window: 8_192 }, {}],
    ["Cerebras, 400 without a body", { status: 400, body: "", estimate: 7_000, window: 8_192 }, {}],
    [
      "DeepSeek",
      at400(
        openai(
          "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens " +
            "(135904 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
        ),
      ),
      { limit: 131_072, tokens: 140_000, inputTokens: 135_904 },
    ],
    [
      "Cohere",
      at400({
        message:
          "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt.",
      }),
      input(4_081, 4_292),
    ],
    [
      "MiniMax",
      at400({
        type: "error",
        error: { type: "bad_request_error", message: "invalid params, context window exceeds limit (2013)" },
      }),
      {},
    ],
    [
      "Moonshot",
      at400({
        error: {
          message: "Invalid request: Your request exceeded model token limit: 131072 (requested: 140001)",
          type: "invalid_request_error",
        },
      }),
      { limit: 131_072, tokens: 140_001 },
    ],
    ["Moonshot's table", at400({ error: { message: "Input token length too long" } }), {}],
    ["z.ai, by its code", at400({ error: { code: "1261", message: "?" } }), {}],
    ["z.ai, in Chinese", at400({ error: { message: "Prompt 超长" } }), {}],
    ["z.ai, in English", at400({ error: { message: "Prompt exceeds max length" } }), {}],
    [
      "DashScope",
      at400({
        error: {
          message: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
          type: "invalid_request_error",
        },
      }),
      { limit: 129_024, inputOnly: true },
    ],
    ["DashScope, cut short", at400("Range of input length should be ..."), {}],
  ]);
});

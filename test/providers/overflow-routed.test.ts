/** A refusal as routers and proxies pass it on, and as it comes inside a stream. */
import { describe, expect, it } from "vitest";
import { classifyRefusal, type Refused } from "../../src/providers/overflow.ts";
import { at400, full, overflowCases } from "./overflow-rows.ts";
import { anthropic, openai } from "./refusals.ts";

describe("routers and proxies", () => {
  overflowCases([
    [
      "OpenRouter",
      at400({
        error: {
          message:
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 50000 tokens " +
            "(30000 of text input, 4000 of tool input, 16000 in the output). Please reduce the length of either one.",
          code: 400,
        },
      }),
      { limit: 32_768, tokens: 50_000, inputTokens: 34_000 },
    ],
    [
      "OpenRouter, the cap too high",
      at400(
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 50000 tokens " +
          "(20000 of text input, 30000 in the output).",
      ),
      { limit: 32_768, tokens: 50_000, inputTokens: 20_000, maxTokensOnly: true },
    ],
    [
      "OpenRouter, a sum alone",
      at400(
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 50000 tokens",
      ),
      { limit: 32_768, tokens: 50_000 },
    ],
    [
      "Workers AI, its own numbers are input and cap together",
      {
        status: 413,
        body: {
          errors: [
            {
              message:
                "AiError: AiError: The estimated number of input and maximum output tokens (26000) exceeded this " +
                "model context window limit (24000).",
              code: 5021,
            },
          ],
          success: false,
        },
      },
      { limit: 24_000, tokens: 26_000 },
    ],
    [
      "Workers AI, thrown by its binding",
      {
        body: new Error(
          "3010: AiError: The estimated number of input and maximum output tokens (26000) exceeded this model " +
            "context window limit (24000).",
        ),
      },
      { limit: 24_000, tokens: 26_000 },
    ],
    [
      "LiteLLM around OpenAI",
      at400({
        error: {
          message:
            "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum " +
            "context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
          code: "400",
        },
      }),
      full(8_192, 9_000),
    ],
    [
      "LiteLLM around JSON, with words of its own behind it",
      at400({
        error: {
          message:
            `litellm.BadRequestError: AnthropicException - ${JSON.stringify(anthropic("prompt is too long: 210000 tokens > 200000 maximum"))}` +
            ". Received Model Group=claude",
        },
      }),
      full(200_000, 210_000),
    ],
    [
      "LiteLLM around bytes",
      at400(
        `litellm.ContextWindowExceededError: AnthropicException - b'${JSON.stringify(anthropic("prompt is too long: 210000 tokens > 200000 maximum"))}'`,
      ),
      full(200_000, 210_000),
    ],
    ["LiteLLM's own verdict", at400("litellm.ContextWindowExceededError: nothing that we know"), {}],
    [
      "Python's error, as it is printed",
      {
        body:
          "Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'prompt is " +
          "too long: 210000 tokens > 200000 maximum'}}",
      },
      full(200_000, 210_000),
    ],
  ]);
});

describe("inside a stream that began with 200", () => {
  const stream = (body: unknown): Refused => ({ status: 200, body });
  overflowCases([
    [
      "a Responses reply that failed",
      stream({
        type: "response.failed",
        sequence_number: 2,
        response: {
          id: "resp_1",
          status: "failed",
          error: {
            code: "context_length_exceeded",
            message: "Your input exceeds the context window of this model. Please adjust your input.",
          },
          output: [],
        },
      }),
      {},
    ],
    [
      "a Responses error event",
      stream({
        type: "error",
        sequence_number: 1,
        code: "context_length_exceeded",
        message: "Your input exceeds the context window of this model.",
        param: "input",
      }),
      {},
    ],
    [
      "an Anthropic error event",
      stream(anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
      full(200_000, 210_000),
    ],
    [
      "an error chunk of Chat Completions",
      stream({
        error: {
          code: 400,
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        },
      }),
      full(8_192, 9_000),
    ],
    [
      "OpenRouter's error chunk with the words behind it",
      stream({
        id: "gen-1",
        error: {
          code: 400,
          message: "Provider returned error",
          metadata: { raw: JSON.stringify(openai("prompt is too long: 300 tokens > 256 maximum")) },
        },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      }),
      full(256, 300),
    ],
    [
      "an error in a choice",
      stream({
        choices: [
          {
            index: 0,
            error: { code: 400, message: "prompt is too long: 300 tokens > 256 maximum" },
            finish_reason: "error",
          },
        ],
      }),
      full(256, 300),
    ],
    [
      "LM Studio's event as text",
      stream(
        'event: error\ndata: {"error":{"message":"Input does not fit in context length. The input has 5000 tokens, ' +
          'but the context length only supports 4096 tokens."}}\n\n',
      ),
      full(4_096, 5_000),
    ],
    ["LM Studio's error", stream({ error: "Context size has been exceeded." }), {}],
  ]);
});

describe("a sum without its parts", () => {
  const body =
    "AiError: The estimated number of input and maximum output tokens (26000) exceeded this model context window " +
    "limit (24000).";
  const sum = { kind: "overflow", limit: 24_000, tokens: 26_000 };

  it.each([
    [
      "input and cap, and the cap alone is too high",
      { maxOutput: 8_000, estimate: 17_000 },
      { inputTokens: 18_000, maxTokensOnly: true },
    ],
    [
      "input and cap, and the input is too long",
      { maxOutput: 1_000, estimate: 25_100 },
      { inputTokens: 25_000 },
    ],
    ["input alone, as far as our estimate tells", { maxOutput: 8_000, estimate: 25_500 }, {}],
    ["unknown in its parts without the cap", { estimate: 17_000 }, {}],
    ["unknown in its parts without an estimate", { maxOutput: 8_000 }, {}],
    ["unknown in its parts beside a cap beyond it", { maxOutput: 26_000, estimate: 100 }, {}],
  ])("[O4] is %s", (_, known, parts) => {
    expect(classifyRefusal({ status: 413, body, ...known })).toEqual({ ...sum, ...parts });
  });
});

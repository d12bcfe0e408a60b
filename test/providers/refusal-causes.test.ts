/** What a refusal is about that is no overflow. */
import { describe, expect, it } from "vitest";
import { classifyRefusal, type RefusalClass, type Refused } from "../../src/providers/overflow.ts";
import { anthropic, openai } from "./refusals.ts";

type Row = [what: string, refused: Refused, expected: RefusalClass];

describe("no overflow", () => {
  const window = 200_000;
  const rows: Row[] = [
    [
      "Anthropic's bytes, however large the estimate",
      {
        status: 413,
        body: anthropic("Request exceeds the maximum size", "request_too_large"),
        estimate: 190_000,
        window,
      },
      { kind: "other", what: "bytes" },
    ],
    [
      "a gateway's bytes beside a small estimate",
      { status: 413, body: "<html>Request Entity Too Large</html>", estimate: 900, window },
      { kind: "other", what: "bytes" },
    ],
    [
      "Google's bytes",
      {
        status: 400,
        body: openai("Request payload size exceeds the limit: 20971520 bytes."),
        estimate: 190_000,
        window,
      },
      { kind: "other", what: "bytes" },
    ],
    [
      "Anthropic's images, with how many it takes",
      { status: 400, body: anthropic("Too much media: 0 document pages + 108 images > 100") },
      { kind: "other", what: "images", limit: 100 },
    ],
    [
      "one image too large",
      {
        status: 400,
        body: anthropic(
          "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        ),
      },
      { kind: "other", what: "images" },
    ],
    [
      "vLLM's images",
      { status: 400, body: openai("At most 1 image(s) may be provided in one request.") },
      { kind: "other", what: "images", limit: 1 },
    ],
    [
      "Cohere's cap, with the words of an overflow",
      {
        status: 400,
        body: {
          message:
            "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.",
        },
      },
      { kind: "other", what: "output-limit" },
    ],
    [
      "a key",
      { status: 401, body: openai("Incorrect API key provided: sk-x.", "invalid_api_key") },
      { kind: "other", what: "auth" },
    ],
    [
      "a key inside a stream",
      { status: 200, body: anthropic("invalid x-api-key", "authentication_error") },
      { kind: "other", what: "auth" },
    ],
    [
      "a model by its code",
      { status: 400, body: openai("The model `gpt-9` does not exist", "model_not_found") },
      { kind: "other", what: "not-found" },
    ],
    [
      "a model by Anthropic's type",
      { status: 404, body: anthropic("model: claude-9", "not_found_error") },
      { kind: "other", what: "not-found" },
    ],
    [
      "calls without results",
      {
        status: 400,
        body: openai("An assistant message with 'tool_calls' must be followed by tool messages"),
      },
      { kind: "other", what: "shape" },
    ],
    [
      "a template's roles",
      { status: 400, body: "No user query found in messages." },
      { kind: "other", what: "shape" },
    ],
    [
      "Anthropic under load, in the stream",
      { status: 200, body: anthropic("Overloaded", "overloaded_error") },
      { kind: "other", what: "transient" },
    ],
    ["a service that is not there", { body: "Service unavailable" }, { kind: "other", what: "transient" }],
    ["529", { status: 529, body: "" }, { kind: "other", what: "transient" }],
    [
      "an overflow at 500 without a number",
      { status: 500, body: openai("Your input exceeds the context window of this model") },
      { kind: "other", what: "transient" },
    ],
    [
      "Bedrock's throttle",
      { status: 400, body: "ThrottlingException: Too many tokens, please wait before trying again." },
      { kind: "rate-limit" },
    ],
    [
      "Cerebras by the minute",
      { status: 429, body: "Tokens per minute limit exceeded - too many tokens processed" },
      { kind: "rate-limit" },
    ],
    [
      "Anthropic by the minute",
      {
        status: 429,
        body: anthropic(
          "This request would exceed the number of request tokens of your per-minute rate limit",
          "rate_limit_error",
        ),
      },
      { kind: "rate-limit" },
    ],
    [
      "OpenAI's minute that no request of this size ever fits",
      {
        status: 429,
        body: openai(
          "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 34307. " +
            "The input or output tokens must be reduced in order to run successfully.",
          "rate_limit_exceeded",
          "tokens",
        ),
      },
      { kind: "rate-limit", ceiling: 30_000 },
    ],
    [
      "OpenAI's minute that is only used up",
      {
        status: 429,
        body: openai(
          "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.",
          "rate_limit_exceeded",
        ),
      },
      { kind: "rate-limit" },
    ],
    [
      "Google's free tier",
      {
        status: 429,
        body: {
          error: {
            code: 429,
            message:
              "You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count",
            status: "RESOURCE_EXHAUSTED",
          },
        },
      },
      { kind: "quota" },
    ],
    [
      "a user who quotes one",
      { status: 400, body: openai("Invalid content: 'Context overflow: prompt too large for the model'") },
      { kind: "other" },
    ],
    [
      "thinking bound to another history, told inside a stream",
      {
        status: 200,
        body: anthropic(
          "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        ),
      },
      { kind: "binding" },
    ],
    [
      "an axum server's buffer, that is no text generation",
      { status: 413, body: "length limit exceeded" },
      { kind: "other", what: "bytes" },
    ],
    [
      "a number above a maximum that names no tokens",
      { status: 400, body: "input exceeds maximum allowed value" },
      { kind: "other" },
    ],
    [
      "a rate limit inside a Responses stream",
      {
        status: 200,
        body: {
          type: "response.failed",
          response: { error: { code: "rate_limit_exceeded", message: "Rate limit reached" } },
        },
      },
      { kind: "rate-limit" },
    ],
  ];

  it.each(rows)("[O2] and what it is instead: %s", (_, refused, expected) => {
    expect(classifyRefusal(refused)).toEqual(expected);
  });
});

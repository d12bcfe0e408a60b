import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyRefusal } from "../../src/providers/overflow.ts";
import { anthropic, openai, type Row } from "./refusals.ts";

describe("an overflow", () => {
  const rows: Row[] = [
    [
      "[DSH-152] OpenAI's code with its text",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 128000 tokens. However, your messages resulted in " +
            "130001 tokens. Please reduce the length of the messages.",
          "context_length_exceeded",
        ),
      },
      { kind: "overflow", limit: 128_000, tokens: 130_001, inputTokens: 130_001 },
    ],
    [
      "the code without a word",
      { status: 400, body: { error: { code: "context_length_exceeded" } } },
      { kind: "overflow" },
    ],
    [
      "the code inside a stream",
      {
        status: 200,
        body: {
          error: {
            code: "context_length_exceeded",
            message: "Your input exceeds the context window of this model.",
          },
        },
      },
      { kind: "overflow" },
    ],
    [
      "the code behind a status of no size",
      { status: 404, body: openai("?", "context_length_exceeded") },
      { kind: "overflow" },
    ],
    [
      "Azure's inner code",
      {
        status: 400,
        body: { error: { code: "BadRequest", innererror: { code: "context_length_exceeded" } } },
      },
      { kind: "overflow" },
    ],
    [
      "Copilot's code",
      { status: 400, body: { error: { code: "model_max_prompt_tokens_exceeded", message: "?" } } },
      { kind: "overflow" },
    ],
    [
      "llama.cpp's type with its fields",
      {
        status: 400,
        body: {
          error: {
            type: "exceed_context_size_error",
            message: "request (9000 tokens) exceeds",
            n_prompt_tokens: 9_000,
            n_ctx: 8_192,
          },
        },
      },
      { kind: "overflow", limit: 8_192, tokens: 9_000, inputTokens: 9_000 },
    ],
    [
      "OpenAI's breakdown, history too long",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 8192 tokens. However, you requested 9300 tokens " +
            "(8300 in the messages, 1000 in the completion). Please reduce the length.",
        ),
      },
      { kind: "overflow", limit: 8_192, tokens: 9_300, inputTokens: 8_300 },
    ],
    [
      "OpenAI's breakdown, cap too high",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 1048576 tokens. However, you requested 1050237 " +
            "tokens (666237 in the messages, 384000 in the completion).",
        ),
      },
      { kind: "overflow", limit: 1_048_576, tokens: 1_050_237, inputTokens: 666_237, maxTokensOnly: true },
    ],
    [
      "OpenAI's breakdown with functions",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 4097 tokens. However, you requested 4200 tokens " +
            "(3000 in the messages, 200 in the functions, 1000 in the completion).",
        ),
      },
      { kind: "overflow", limit: 4_097, tokens: 4_200, inputTokens: 3_200, maxTokensOnly: true },
    ],
    [
      "OpenAI's breakdown of messages alone",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 4097 tokens. However, your messages resulted in " +
            "4200 tokens (4000 in the messages, 200 in the functions).",
        ),
      },
      { kind: "overflow", limit: 4_097, tokens: 4_200, inputTokens: 4_200 },
    ],
    [
      "a sum without its parts",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 4097 tokens, however you requested 4200 tokens.",
        ),
      },
      { kind: "overflow", limit: 4_097, tokens: 4_200 },
    ],
    [
      "the older wording of the breakdown",
      {
        status: 400,
        body: openai(
          "This model's maximum context length is 4097 tokens, however you requested 4200 tokens " +
            "(3200 in your prompt; 1000 for the completion). Please reduce your prompt.",
        ),
      },
      { kind: "overflow", limit: 4_097, tokens: 4_200, inputTokens: 3_200, maxTokensOnly: true },
    ],
    [
      "Azure's configured limit",
      {
        status: 400,
        body: openai(
          "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in " +
            "300,123 tokens. Please reduce the length of the messages.",
        ),
      },
      { kind: "overflow", limit: 272_000, inputOnly: true, tokens: 300_123, inputTokens: 300_123 },
    ],
    [
      "[DSH-153] Anthropic's prompt",
      { status: 400, body: anthropic("prompt is too long: 213462 tokens > 200000 maximum") },
      { kind: "overflow", limit: 200_000, tokens: 213_462, inputTokens: 213_462 },
    ],
    [
      "Anthropic's sum, cap too high",
      {
        status: 400,
        body: anthropic(
          "input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000, decrease " +
            "input length or `max_tokens` and try again",
        ),
      },
      { kind: "overflow", limit: 200_000, tokens: 218_535, inputTokens: 197_202, maxTokensOnly: true },
    ],
    [
      "Anthropic's sum, history too long",
      {
        status: 400,
        body: anthropic(
          "input length and `max_tokens` exceed context limit: 200001 + 10 > 200000, decrease input " +
            "length or `max_tokens` and try again",
        ),
      },
      { kind: "overflow", limit: 200_000, tokens: 200_011, inputTokens: 200_001 },
    ],
    [
      "the text of an SDK's error",
      {
        body: `400 ${JSON.stringify(anthropic("prompt is too long: 300 tokens > 256 maximum"))}`,
      },
      { kind: "overflow", limit: 256, tokens: 300, inputTokens: 300 },
    ],
    [
      "an SDK's error as it was thrown",
      { body: Object.assign(new Error("400 prompt is too long: 300 tokens > 256 maximum"), { status: 400 }) },
      { kind: "overflow", limit: 256, tokens: 300, inputTokens: 300 },
    ],
    [
      "a router's wrapper, decoded once",
      {
        status: 400,
        body: {
          error: {
            code: 400,
            message: "Provider returned error",
            metadata: { raw: JSON.stringify(anthropic("prompt is too long: 300 tokens > 256 maximum")) },
          },
        },
      },
      { kind: "overflow", limit: 256, tokens: 300, inputTokens: 300 },
    ],
    [
      "JSON inside the message, decoded once",
      {
        status: 400,
        body: { error: { message: JSON.stringify(openai("prompt is too long: 300 tokens > 256 maximum")) } },
      },
      { kind: "overflow", limit: 256, tokens: 300, inputTokens: 300 },
    ],
    ["[DSH-148] the code as text", { body: "context_length_exceeded" }, { kind: "overflow" }],
    ["[DSH-148] context-window-overflowed", { body: "context-window-overflowed" }, { kind: "overflow" }],
    [
      "[DSH-148] a limit alone",
      { body: "maximum context length is 128000 tokens" },
      { kind: "overflow", limit: 128_000 },
    ],
    ["[DSH-148] input too long", { body: "input is too long for this model" }, { kind: "overflow" }],
    ["[DSH-148] request too large", { body: "request too large for model context" }, { kind: "overflow" }],
    [
      "[DSH-148] the window limit",
      { body: "input exceeds the model context window limit" },
      { kind: "overflow" },
    ],
    [
      "[ROO-006] context length exceeded",
      { status: 400, body: "context length exceeded" },
      { kind: "overflow" },
    ],
    [
      "[ROO-006] maximum context window",
      { status: 400, body: "maximum context window" },
      { kind: "overflow" },
    ],
    [
      "[ROO-006] input tokens exceed limit",
      { status: 400, body: "input tokens exceed limit" },
      { kind: "overflow" },
    ],
    [
      "[ROO-006] too many tokens, and nothing about time",
      { status: 400, body: "too many tokens" },
      { kind: "overflow" },
    ],
  ];

  it.each(rows)("[O1] is known by code or by the provider's own message: %s", (_, refused, expected) => {
    expect(classifyRefusal(refused)).toEqual(expected);
  });
});

describe("numbers of a refusal", () => {
  it.each([
    [
      "that do not add up",
      "maximum context length is 4097 tokens. However, you requested 9999 tokens (3000 in the " +
        "messages, 1000 in the completion)",
    ],
    ["that fit", "prompt is too long: 100000 tokens > 200000 maximum"],
    ["of an absurd limit", "prompt is too long: 900 tokens > 3 maximum"],
    ["beyond reason", "prompt is too long: 999999999999 tokens > 200000 maximum"],
  ])("[O4] are dropped when they could not be true: %s", (_, body) => {
    expect(classifyRefusal({ status: 400, body })).toEqual({ kind: "overflow" });
  });
});

describe("any body at all", () => {
  it("[O5] is classified without a throw", () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined }),
        (body, status) => {
          expect(["overflow", "rate-limit", "quota", "binding", "other"]).toContain(
            classifyRefusal({ status, body }).kind,
          );
        },
      ),
    );
  });

  it("[O5] of a megabyte is judged as fast as a short one", () => {
    const texts = [
      "prompt is too long: ",
      "1".repeat(99),
      "`",
      "messages.0.content.0: ",
      "rate limit per ",
      '{"a":',
      "* ",
    ];
    const started = Date.now();
    for (const text of texts) {
      const body = text.repeat(1_000_000 / text.length);
      expect(classifyRefusal({ status: 400, body }).kind).toBeDefined();
      expect(classifyRefusal({ status: 400, body: { error: { message: body } } }).kind).toBeDefined();
    }
    expect(Date.now() - started).toBeLessThan(500);
  });
});

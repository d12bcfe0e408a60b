import { describe, expect, it } from "vitest";
import type { OtherCause } from "../../src/providers/look-alikes.ts";
import { classifyRefusal } from "../../src/providers/overflow.ts";
import { anthropic, openai, type Row } from "./refusals.ts";

const tpm429 =
  "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used " +
  "29000, Requested 5000. Please try again in 8s.";
const tpm413 =
  "Request too large for model `llama` in organization `org_1` service tier `on_demand` on tokens per" +
  " minute (TPM): Limit 6000, Requested 7200, please reduce your message size and try again.";

describe("a look-alike", () => {
  const other = { kind: "other" } as const;
  const about = (what: OtherCause) => ({ kind: "other", what }) as const;
  const rate = { kind: "rate-limit" } as const;
  const minute = { kind: "rate-limit", ceiling: 6_000 } as const;
  const quota = { kind: "quota" } as const;
  const long = "prompt is too long: 213462 tokens > 200000 maximum";
  const rows: Row[] = [
    ["[DSH-149] malformed arguments", { status: 400, body: "malformed tool arguments" }, other],
    ["[DSH-149] a temperature", { status: 400, body: "temperature exceeds maximum allowed value" }, other],
    ["[DSH-149] a value", { status: 400, body: "input exceeds maximum allowed value" }, other],
    ["[DSH-149] a setting", { status: 400, body: "context window size must be positive" }, other],
    ["[DSH-150] insufficient quota", { body: "insufficient_quota" }, quota],
    [
      "[DSH-150] insufficient quota, as a code",
      { status: 429, body: openai("You exceeded it.", "insufficient_quota") },
      quota,
    ],
    ["[DSH-150] a balance", { body: "account balance depleted" }, quota],
    ["[DSH-150] a usage limit", { body: "usage-limit-exceeded" }, quota],
    ["[DSH-150] credits", { body: "out of credits" }, quota],
    [
      "[DSH-150] a current quota",
      { status: 429, body: "You exceeded your current quota, please check your plan" },
      quota,
    ],
    ["[DSH-150] a rate limit", { body: "rate limit reached" }, rate],
    ["[DSH-150] a quota that comes back", { body: "quota resets in one minute" }, rate],
    [
      "Anthropic's credit",
      { status: 400, body: anthropic("Your credit balance is too low to access the Anthropic API.") },
      quota,
    ],
    ["payment required", { status: 402, body: anthropic(long) }, quota],
    ["[DSH-153] throttling", { body: "ThrottlingException: Too many tokens, rate limit reached" }, rate],
    [
      "Bedrock's day",
      { status: 429, body: "Too many tokens per day, please wait before trying again." },
      rate,
    ],
    [
      "a limit per minute in 400",
      { status: 400, body: "This request exceeds the limit of 30000 tokens per minute" },
      rate,
    ],
    ["OpenAI's TPM", { status: 429, body: openai(tpm429, "rate_limit_exceeded", "tokens") }, rate],
    [
      "Groq's TPM in 413",
      { status: 413, body: openai(tpm413, "rate_limit_exceeded", "tokens"), estimate: 7_200, window: 8_192 },
      minute,
    ],
    [
      "Groq's TPM in 413 by its words alone",
      { status: 413, body: openai(tpm413), estimate: 7_200, window: 8_192 },
      minute,
    ],
    [
      "Google's resource",
      {
        status: 429,
        body: { error: { code: 429, message: "Resource has been exhausted", status: "RESOURCE_EXHAUSTED" } },
      },
      rate,
    ],
    ["overflow words at 429", { status: 429, body: anthropic(long) }, rate],
    ["a status that the body alone states", { body: { error: { code: 429, message: long } } }, rate],
    ["[ROO-006] overflow words at 500", { status: 500, body: "context length exceeded" }, about("transient")],
    [
      "an overflow code at 503",
      { status: 503, body: openai("?", "context_length_exceeded") },
      about("transient"),
    ],
    ["overflow words at 401", { status: 401, body: anthropic(long) }, about("auth")],
    ["overflow words at 403", { status: 403, body: anthropic(long) }, about("auth")],
    ["overflow words at 404", { status: 404, body: anthropic(long) }, about("not-found")],
    [
      "a cap above the model's",
      {
        status: 400,
        body: openai("max_tokens is too large: 384000. This model supports at most 131072 completion tokens"),
      },
      about("output-limit"),
    ],
    [
      "Anthropic's cap",
      {
        status: 400,
        body: anthropic(
          "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude",
        ),
      },
      about("output-limit"),
    ],
    [
      "a veto on a cap",
      { status: 400, body: "too many tokens: max_tokens must be less than 4096" },
      about("output-limit"),
    ],
    ["[DSH-156] 413 and no estimate", { body: "413: Payload Too Large" }, about("bytes")],
    [
      "[DSH-156] a body limit",
      { status: 400, body: "Failed to buffer the request body: length limit exceeded" },
      about("bytes"),
    ],
    ["[DSH-156] a vector", { status: 400, body: "vector length limit exceeded" }, other],
    ["roles", { status: 400, body: anthropic("messages: roles must alternate") }, about("shape")],
    [
      "pairs",
      {
        status: 400,
        body: anthropic(
          "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
      },
      about("shape"),
    ],
    [
      "a string that is too long",
      { status: 400, body: openai("Invalid 'user': string too long.", "string_above_max_length") },
      other,
    ],
    [
      "an echo of what the user wrote",
      { status: 400, body: openai(`Invalid value in messages[3]: '${long}'`) },
      other,
    ],
    [
      "an echo beside the error",
      { status: 400, body: { error: { message: "bad" }, input: [{ content: long }], prompt: long } },
      other,
    ],
    [
      "an echo two wrappers deep",
      {
        status: 400,
        body: { error: { message: JSON.stringify({ error: { message: JSON.stringify(anthropic(long)) } }) } },
      },
      other,
    ],
    ["[CF-051] a timeout", { body: "Request timed out" }, other],
    ["[CF-051] a failed tool", { body: "tool failed: could not reduce the length" }, other],
    ["[CF-051] nothing", {}, other],
    ["[CF-051] an odd object", { body: { foo: [1, { error: 5 }] } }, other],
    ["[DSH-157] an empty text", { status: 400, body: "" }, other],
    ["[DSH-157] null", { status: 400, body: null }, other],
    [
      "thinking of another history",
      {
        status: 400,
        body: anthropic(
          "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a " +
            "different conversation. Remove the block, or set …",
        ),
      },
      { kind: "binding" },
    ],
    [
      "thinking that was changed",
      {
        status: 400,
        body: anthropic(
          "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant " +
            "message cannot be modified.",
        ),
      },
      { kind: "binding" },
    ],
  ];

  it.each(rows)("[O2] is no overflow: %s", (_, refused, expected) => {
    expect(classifyRefusal(refused)).toEqual(expected);
  });

  it("[O2] [DSH-157] getters that throw are no crash", () => {
    const hostile = Object.defineProperty({}, "error", {
      get() {
        throw new Error("no");
      },
    });
    expect(classifyRefusal({ status: 400, body: hostile })).toEqual(other);
    expect(classifyRefusal({ status: 400, body: { error: hostile } })).toEqual(other);
  });
});

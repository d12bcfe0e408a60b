/**
 * What the strict fake provider refuses, and in which words: authentication, shape, order and pairs,
 * thinking, cache marks, tools, window. Reads decoded requests; the wordings are those of the real
 * providers where they are known.
 */
import { createHash } from "node:crypto";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import type { ThinkingBinding } from "../../src/providers/provider.ts";

export type Json = Record<string, unknown>;

export interface CheckOptions {
  key?: string | undefined;
  window?: number | undefined;
  binding?: ThinkingBinding | undefined;
  count: (body: Json) => number;
}

/** A refusal in the dialect's own shape. */
export interface Refusal {
  status: number;
  body: unknown;
}

export function refusal(
  dialect: DialectName,
  status: number,
  type: string,
  message: string,
  code?: string,
): Refusal {
  const body =
    dialect === "anthropic"
      ? { type: "error", error: { type, message }, request_id: "req_strict" }
      : { error: { message, type, param: null, code: code ?? null } };
  return { status, body };
}

function invalid(dialect: DialectName, message: string): Refusal {
  return refusal(dialect, 400, "invalid_request_error", message);
}

/** The first fault of a request, or undefined when the real provider would have answered it. */
export function faultOf(
  dialect: DialectName,
  headers: Headers,
  body: Json | undefined,
  options: CheckOptions,
): Refusal | undefined {
  const denied = checkKey(dialect, headers, options.key);
  if (denied !== undefined) return denied;
  if (body === undefined) return invalid(dialect, "We could not parse the JSON body of your request.");
  if (typeof body.model !== "string" || body.model === "")
    return invalid(dialect, "you must provide a model parameter");
  if (!Array.isArray(body.messages)) return invalid(dialect, "messages: Field required");
  const message = dialect === "anthropic" ? anthropicFault(headers, body, options) : openaiFault(body);
  if (message !== undefined) return invalid(dialect, message);
  const broken = orderFault(dialect, body.messages);
  if (broken !== undefined) return invalid(dialect, broken);
  return dialect === "anthropic" ? anthropicOverflow(body, options) : openaiOverflow(body, options);
}

function checkKey(dialect: DialectName, headers: Headers, key: string | undefined): Refusal | undefined {
  // Anthropic takes either header; its own client sends the second.
  const bearer = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1];
  const shown = (dialect === "anthropic" ? headers.get("x-api-key") : null) ?? bearer;
  if (key === undefined || shown === key) return undefined;
  // OpenAI echoes what it was shown, masked; this fake echoes it whole, the worst that a provider could do.
  return dialect === "anthropic"
    ? refusal(dialect, 401, "authentication_error", `invalid x-api-key: ${shown}`)
    : refusal(
        dialect,
        401,
        "invalid_request_error",
        `Incorrect API key provided: ${shown}.`,
        "invalid_api_key",
      );
}

function orderFault(dialect: DialectName, messages: readonly unknown[]): string | undefined {
  const encoder = new TextEncoder();
  const broken = violations(
    dialect,
    messages.map((message) => encoder.encode(JSON.stringify(message))),
  )[0];
  if (broken === undefined) return undefined;
  const { at, rule } = broken;
  if (rule === "call-without-result") {
    return dialect === "anthropic"
      ? `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after.`
      : "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
          "'tool_call_id'.";
  }
  if (rule === "result-without-call") {
    return dialect === "anthropic"
      ? `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks.`
      : "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
  }
  return `messages.${at}: ${rule}`;
}

// --- OpenAI Chat
// -----------------------------------------------------------------------------------------------

function openaiFault(body: Json): string | undefined {
  const { tools } = body;
  if (tools !== undefined && (!Array.isArray(tools) || tools.length === 0))
    return "[] is too short - 'tools'";
  for (const key of ["tool_choice", "parallel_tool_calls"]) {
    if (body[key] !== undefined && tools === undefined)
      return `'${key}' is only allowed when 'tools' are specified.`;
  }
  if (body.stream_options !== undefined && body.stream !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  }
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) {
    return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
  }
  return undefined;
}

function openaiOverflow(body: Json, { window, count }: CheckOptions): Refusal | undefined {
  if (window === undefined) return undefined;
  const input = count(body);
  const cap = numberOf(body.max_completion_tokens ?? body.max_tokens) ?? 0;
  if (input + cap <= window) return undefined;
  return overflowRefusal("openai-chat", { limit: window, input, ...(cap === 0 ? {} : { output: cap }) });
}

// --- Anthropic
// -------------------------------------------------------------------------------------------------

function anthropicFault(headers: Headers, body: Json, options: CheckOptions): string | undefined {
  if (headers.get("anthropic-version") === null) return "anthropic-version: header is required";
  const cap = numberOf(body.max_tokens);
  if (cap === undefined || cap < 1) return "max_tokens: Field required";
  const marks = [...blocksOf(body)].filter((block) => block.cache_control !== undefined).length;
  if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`;
  const messages = list(body.messages);
  const usesTools = messages.some((message) =>
    list(message.content).some((block) => block.type === "tool_use" || block.type === "tool_result"),
  );
  if (usesTools && list(body.tools).length === 0) {
    return "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.";
  }
  return thinkingFault(body, messages, cap) ?? bindingFault(body, messages, options.binding);
}

function* blocksOf(body: Json): Generator<Json, void> {
  yield* list(body.tools);
  yield* list(body.system);
  for (const message of list(body.messages)) {
    for (const block of list(message.content)) {
      yield block;
      if (block.type === "tool_result") yield* list(block.content);
    }
  }
}

/** Manual thinking: its budget, and the reply of an open tool loop must still start with its thinking. */
function thinkingFault(body: Json, messages: readonly Json[], cap: number): string | undefined {
  const thinking = objectOf(body.thinking);
  if (thinking?.type !== "enabled") return undefined;
  const budget = numberOf(thinking.budget_tokens) ?? 0;
  if (budget < 1024) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
  if (budget >= cap) return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  if (!list(messages.at(-1)?.content).some((block) => block.type === "tool_result")) return undefined;
  const at = messages.findLastIndex((message) => message.role === "assistant");
  const first = list(messages[at]?.content)[0]?.type;
  return first === "thinking" || first === "redacted_thinking"
    ? undefined
    : `messages.${at}.content.0.type: ` +
        `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`.`;
}

/** A signature that this fake has made is bound to everything before the message that holds it. */
function bindingFault(
  body: Json,
  messages: readonly Json[],
  binding: ThinkingBinding | undefined,
): string | undefined {
  if (binding !== "prefix") return undefined;
  for (const [i, message] of messages.entries()) {
    const j = list(message.content).findIndex(
      (block) => block.type === "thinking" && block.signature !== signatureFor(body, messages.slice(0, i)),
    );
    if (j >= 0) {
      return (
        `messages.${i}.content.${j}: Invalid \`signature\` in \`thinking\` block. The block is bound to ` +
        "a different conversation. Remove the block, or set " +
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
      );
    }
  }
  return undefined;
}

/** Signature of thinking that answers these messages; cache marks do not count. */
export function signatureFor(body: Json, messages: readonly unknown[]): string {
  const prefix = JSON.stringify([body.system ?? null, body.tools ?? null, messages], (key, value: unknown) =>
    key === "cache_control" ? undefined : value,
  );
  return createHash("sha256").update(prefix).digest("base64");
}

function anthropicOverflow(body: Json, { window, count }: CheckOptions): Refusal | undefined {
  if (window === undefined) return undefined;
  const input = count(body);
  const output = numberOf(body.max_tokens) ?? 0;
  if (input > window) return overflowRefusal("anthropic", { limit: window, input });
  return input + output > window ? overflowRefusal("anthropic", { limit: window, input, output }) : undefined;
}

// --- both
// ------------------------------------------------------------------------------------------------------

/**
 * The provider's own words for a request that does not fit; with `output`, for one whose cap does not fit
 * either.
 */
export function overflowRefusal(
  dialect: DialectName,
  { limit, input, output }: { limit: number; input: number; output?: number },
): Refusal {
  if (dialect === "anthropic") {
    const message =
      output === undefined
        ? `prompt is too long: ${input} tokens > ${limit} maximum`
        : `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, ` +
          "decrease input length or `max_tokens` and try again";
    return invalid(dialect, message);
  }
  const asked =
    output === undefined
      ? `your messages resulted in ${input} tokens. Please reduce the length of the messages.`
      : `you requested ${input + output} tokens (${input} in the messages, ${output} in the completion). ` +
        "Please reduce the length of the messages or completion.";
  const message = `This model's maximum context length is ${limit} tokens. However, ${asked}`;
  return refusal(dialect, 400, "invalid_request_error", message, "context_length_exceeded");
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf).filter((one) => one !== undefined) : [];
}

function objectOf(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null ? (value as Json) : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

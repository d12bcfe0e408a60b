/**
 * What a strict provider refuses, and in which words: authentication, shape, order and pairs, thinking,
 * cache marks, tools, window. Reads decoded requests; the wordings are those of the real providers where
 * they are known. Shared by the fake inside the tests and the provider over HTTP.
 */
import { violations } from "../../src/dialects/legal.ts";
import type { WireDialect } from "../../src/dialects/wire.ts";
import type { ThinkingBinding } from "../../src/providers/provider.ts";
import { responsesFault } from "./checks-responses.ts";
import { type Json, list, numberOf } from "./json.ts";
import { bindingFault, thinkingFault } from "./thinking.ts";

export type { Json } from "./json.ts";

export interface CheckOptions {
  key?: string | undefined;
  window?: number | undefined;
  binding?: ThinkingBinding | undefined;
  count: (body: Json) => number;
}

/** A refusal in the dialect's own shape; `kind` names what was wrong, for those who count. */
export interface Refusal {
  status: number;
  body: unknown;
  kind?: string;
}

/** What is wrong with a request: its kind, and the provider's sentence. */
export type Fault = readonly [kind: string, message: string];

export function refusal(
  dialect: WireDialect,
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

export function invalid(dialect: WireDialect, [kind, message]: Fault): Refusal {
  return { ...refusal(dialect, 400, "invalid_request_error", message), kind };
}

/** The first fault of a request, or undefined when the real provider would have answered it. */
export function faultOf(
  dialect: WireDialect,
  headers: Headers,
  body: Json | undefined,
  options: CheckOptions,
): Refusal | undefined {
  const denied = checkKey(dialect, headers, options.key);
  if (denied !== undefined) return denied;
  if (body === undefined)
    return invalid(dialect, ["json", "We could not parse the JSON body of your request."]);
  if (typeof body.model !== "string" || body.model === "")
    return invalid(dialect, ["model", "you must provide a model parameter"]);
  const fault = shapeFault(dialect, headers, body, options);
  return fault === undefined ? overflowFault(dialect, body, options) : invalid(dialect, fault);
}

function shapeFault(
  dialect: WireDialect,
  headers: Headers,
  body: Json,
  options: CheckOptions,
): Fault | undefined {
  if (dialect === "openai-responses") return responsesFault(body);
  if (!Array.isArray(body.messages)) return ["shape", "messages: Field required"];
  const fault = dialect === "anthropic" ? anthropicFault(headers, body, options) : openaiFault(body);
  return fault ?? orderFault(dialect, body.messages);
}

/** Whether the key is the right one; without one in the options everybody is let in. */
export function checkKey(
  dialect: WireDialect,
  headers: Headers,
  key: string | undefined,
): Refusal | undefined {
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

function orderFault(dialect: "openai-chat" | "anthropic", messages: readonly unknown[]): Fault | undefined {
  const encoder = new TextEncoder();
  const broken = violations(
    dialect,
    messages.map((message) => encoder.encode(JSON.stringify(message))),
  )[0];
  if (broken === undefined) return undefined;
  return [broken.rule, orderWords(dialect, broken)];
}

function orderWords(dialect: WireDialect, { at, rule }: { at: number; rule: string }): string {
  const anthropic = dialect === "anthropic";
  if (rule === "call-without-result") {
    return anthropic
      ? `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after.`
      : "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
          "'tool_call_id'.";
  }
  if (rule === "result-without-call") {
    return anthropic
      ? `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks.`
      : "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
  }
  if (anthropic && rule === "empty-text") return `messages.${at}: text content blocks must be non-empty`;
  return `messages.${at}: ${rule}`;
}

// --- OpenAI Chat
// -----------------------------------------------------------------------------------------------

function openaiFault(body: Json): Fault | undefined {
  const { tools } = body;
  if (tools !== undefined && (!Array.isArray(tools) || tools.length === 0))
    return ["tools", "[] is too short - 'tools'"];
  for (const key of ["tool_choice", "parallel_tool_calls"]) {
    if (body[key] !== undefined && tools === undefined)
      return ["tools", `'${key}' is only allowed when 'tools' are specified.`];
  }
  if (body.stream_options !== undefined && body.stream !== true) {
    return ["shape", "The 'stream_options' parameter is only allowed when 'stream' is enabled."];
  }
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) {
    return ["shape", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."];
  }
  return undefined;
}

// --- Anthropic
// -------------------------------------------------------------------------------------------------

function anthropicFault(headers: Headers, body: Json, options: CheckOptions): Fault | undefined {
  if (headers.get("anthropic-version") === null) return ["shape", "anthropic-version: header is required"];
  const cap = numberOf(body.max_tokens);
  if (cap === undefined || cap < 1) return ["shape", "max_tokens: Field required"];
  const marks = [...blocksOf(body)].filter((block) => block.cache_control !== undefined).length;
  if (marks > 4)
    return ["marks", `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`];
  const messages = list(body.messages);
  return (
    toolUseFault(body, messages) ??
    thinkingFault(body, messages, cap) ??
    bindingFault(body, messages, options.binding)
  );
}

/** Tool blocks need tools, and the id of a call stands for one call in the whole request. */
function toolUseFault(body: Json, messages: readonly Json[]): Fault | undefined {
  const ids = new Set<unknown>();
  let used = false;
  for (const [at, message] of messages.entries()) {
    for (const block of list(message.content)) {
      if (block.type !== "tool_use" && block.type !== "tool_result") continue;
      used = true;
      if (block.type === "tool_use" && ids.has(block.id))
        return ["call-id-twice", `messages.${at}: \`tool_use\` ids must be unique`];
      if (block.type === "tool_use") ids.add(block.id);
    }
  }
  return used && list(body.tools).length === 0
    ? ["tools", "Requests which have `tool_use` or `tool_result` blocks in messages must define tools."]
    : undefined;
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

// --- the window
// ------------------------------------------------------------------------------------------------

/**
 * Chat counts input and cap together; Anthropic says which of the two is too much; Responses looks at the
 * input alone and ends a reply that has no room left as incomplete.
 */
function overflowFault(
  dialect: WireDialect,
  body: Json,
  { window, count }: CheckOptions,
): Refusal | undefined {
  if (window === undefined) return undefined;
  const input = count(body);
  const cap = numberOf(body.max_completion_tokens ?? body.max_tokens) ?? 0;
  if (dialect === "openai-responses" || cap === 0 || (dialect === "anthropic" && input > window))
    return input > window ? overflowRefusal(dialect, { limit: window, input }) : undefined;
  return input + cap > window ? overflowRefusal(dialect, { limit: window, input, output: cap }) : undefined;
}

/**
 * The provider's own words for a request that does not fit; with `output`, for one whose cap does not fit
 * either.
 */
export function overflowRefusal(
  dialect: WireDialect,
  { limit, input, output }: { limit: number; input: number; output?: number },
): Refusal {
  if (dialect === "anthropic") {
    const message =
      output === undefined
        ? `prompt is too long: ${input} tokens > ${limit} maximum`
        : `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, ` +
          "decrease input length or `max_tokens` and try again";
    return invalid(dialect, [output === undefined ? "overflow" : "cap", message]);
  }
  if (dialect === "openai-responses") {
    const message =
      "Your input exceeds the context window of this model. Please adjust your input and try again.";
    return {
      ...refusal(dialect, 400, "invalid_request_error", message, "context_length_exceeded"),
      kind: "overflow",
    };
  }
  const asked =
    output === undefined
      ? `your messages resulted in ${input} tokens. Please reduce the length of the messages.`
      : `you requested ${input + output} tokens (${input} in the messages, ${output} in the completion). ` +
        "Please reduce the length of the messages or completion.";
  const message = `This model's maximum context length is ${limit} tokens. However, ${asked}`;
  const kind = output === undefined || input > limit ? "overflow" : "cap";
  return { ...refusal(dialect, 400, "invalid_request_error", message, "context_length_exceeded"), kind };
}

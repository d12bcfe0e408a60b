/**
 * The request for a summary, as bytes: in conversation shape (the session's own envelope and messages, which
 * the provider may still have cached, and one directive at the end) or in transcript shape (one user message
 * with the span as text). The directive stands last in both, so that a model does not go on with the
 * conversation instead.
 */
import type { DialectName, NativeMessage } from "../dialects/dialect.ts";
import { jsonArray } from "../dialects/edits.ts";
import {
  instructions,
  jsonObject,
  leadingItems,
  listed,
  paramsOf,
  systemMessages,
} from "../dialects/request/parts.ts";
import { concat, jsonString, utf8Bytes } from "../log/json-edit.ts";
import { decode } from "../log/scanner.ts";
import { renderTranscript } from "./summary-transcript.ts";

/** Raw JSON of an envelope's fields, as validated when they were stored; an absent one holds nothing. */
export interface RawEnvelope {
  system?: Uint8Array;
  tools?: Uint8Array;
  params?: Uint8Array;
}

interface Output {
  /** Tokens that the text may have. A thinking budget comes on top of it, where the provider counts it in. */
  maxTokens: number;
  /** The route's own limit of a reply. */
  maxOutput?: number;
}

export interface ConversationRequest extends Output {
  dialect: DialectName;
  model: string;
  envelope: RawEnvelope;
  /** The span as it goes to the model, an older checkpoint first; ends at a legal cut. */
  messages: readonly Uint8Array[];
  directive: string;
}

export interface TranscriptRequest extends Output {
  dialect: DialectName;
  model: string;
  messages: readonly NativeMessage[];
  directive: string;
}

/**
 * Parameters that shape what comes out, or are set anew: they would make of the summary something else than
 * one plain text. What steers sampling and thinking stays: on Anthropic a change of it would miss the cache.
 */
const dropped: Readonly<Record<DialectName, ReadonlySet<string>>> = {
  "openai-chat": new Set(
    (
      "model messages tools tool_choice parallel_tool_calls functions function_call response_format stop n " +
      "logprobs top_logprobs logit_bias stream stream_options max_tokens max_completion_tokens modalities " +
      "audio prediction " +
      "web_search_options verbosity"
    ).split(" "),
  ),
  "openai-responses": new Set(
    (
      "model input tools tool_choice parallel_tool_calls max_tool_calls text stream stream_options " +
      "max_output_tokens top_logprobs previous_response_id conversation background prompt context_management"
    ).split(" "),
  ),
  anthropic: new Set(
    "model messages system tools stream max_tokens stop_sequences output_format context_management".split(
      " ",
    ),
  ),
};

/**
 * The body of a summary call in the session's own shape. The last message is a user message, which is legal
 * after a result.
 */
export function conversationRequest(request: ConversationRequest): Uint8Array {
  const { dialect, model, envelope, messages, directive } = request;
  const params = paramsOf(envelope.params);
  const last = userMessage(directive);
  const tools = listed(envelope.tools);
  const body =
    dialect === "openai-responses"
      ? [
          ["tools", tools],
          ...[...params].filter(([key]) => !dropped[dialect].has(key)),
          ...instructions(envelope.system, params),
          ["tool_choice", tools === undefined ? undefined : utf8Bytes('"none"')],
          ["max_output_tokens", responsesOutput(request)],
          ["input", jsonArray([...leadingItems(envelope.system, params), ...messages, last])],
        ]
      : dialect === "anthropic"
        ? [
            ["system", envelope.system],
            ["tools", tools],
            ...anthropicParams(params, request),
            ["messages", jsonArray([...messages, last])],
          ]
        : [
            ["tools", tools],
            ...[...params].filter(([key]) => !dropped["openai-chat"].has(key)),
            ["tool_choice", tools === undefined ? undefined : utf8Bytes('"none"')],
            [outputKey(params), number(Math.min(request.maxTokens, request.maxOutput ?? request.maxTokens))],
            ["messages", jsonArray([...systemMessages(envelope.system), ...messages, last])],
          ];
  return jsonObject([["model", jsonString(model)], ...body, ...streamed(dialect)] as [
    string,
    Uint8Array | undefined,
  ][]);
}

/** The body of a summary call with the span as text: no envelope, no tools, no parameter of the session. */
export function transcriptRequest(request: TranscriptRequest): Uint8Array {
  const { dialect, model, messages, directive, maxTokens, maxOutput } = request;
  const said = jsonArray([userMessage(`${renderTranscript(messages)}\n\n${directive}`)]);
  if (dialect === "openai-responses") {
    return jsonObject([
      ["model", jsonString(model)],
      ["max_output_tokens", responsesOutput(request)],
      ["input", said],
      ...streamed(dialect),
    ]);
  }
  const key = dialect === "anthropic" ? "max_tokens" : outputKey(new Map());
  return jsonObject([
    ["model", jsonString(model)],
    [key, number(Math.min(maxTokens, maxOutput ?? maxTokens))],
    ["messages", said],
    ...streamed(dialect),
  ]);
}

function anthropicParams(params: ReadonlyMap<string, Uint8Array>, output: Output): [string, Uint8Array][] {
  const { tokens, thinking } = anthropicOutput(params, output);
  const kept: [string, Uint8Array][] = [];
  for (const [key, raw] of params) {
    if (dropped.anthropic.has(key) || (key === "tool_choice" && isForced(raw))) continue;
    if (key === "thinking") kept.push([key, thinking ?? raw]);
    else if (key === "output_config") kept.push([key, withoutFormat(raw)]);
    else kept.push([key, raw]);
  }
  return [...kept, ["max_tokens", number(tokens)]];
}

/**
 * `max_tokens` counts thinking in and must be over the budget (Anthropic: `budget_tokens` >= 1,024 and <
 * `max_tokens`). The parameter stays as it is while both fit; else the budget gives way to the text, and
 * below its minimum thinking is off.
 */
function anthropicOutput(
  params: ReadonlyMap<string, Uint8Array>,
  { maxTokens, maxOutput = Number.POSITIVE_INFINITY }: Output,
): { tokens: number; thinking?: Uint8Array } {
  const budget = budgetOf(params);
  const text = Math.min(maxTokens, maxOutput);
  if (budget === 0) return { tokens: text };
  const tokens = Math.min(maxTokens + budget, maxOutput);
  if (tokens - budget >= Math.ceil(text / 2)) return { tokens };
  const less = tokens - text;
  if (less < 1_024) return { tokens: text, thinking: utf8Bytes('{"type":"disabled"}') };
  return {
    tokens,
    thinking: utf8Bytes(JSON.stringify({ ...objectOf(params.get("thinking")), budget_tokens: less })),
  };
}

/**
 * Tokens of thinking that the parameters of an envelope grant on top of a reply's text; 0 where they grant
 * none.
 */
export function thinkingBudget(params: Uint8Array | undefined): number {
  return budgetOf(paramsOf(params));
}

function budgetOf(params: ReadonlyMap<string, Uint8Array>): number {
  const { type, budget_tokens: budget } = objectOf(params.get("thinking"));
  return type === "enabled" && typeof budget === "number" && budget > 0 ? Math.floor(budget) : 0;
}

function isForced(raw: Uint8Array): boolean {
  const { type } = objectOf(raw);
  return type !== "auto" && type !== "none";
}

function withoutFormat(raw: Uint8Array): Uint8Array {
  const config = objectOf(raw);
  if (config.format === undefined) return raw;
  const { format: _, ...rest } = config;
  return utf8Bytes(JSON.stringify(rest));
}

function objectOf(raw: Uint8Array | undefined): Record<string, unknown> {
  const value = raw === undefined ? undefined : decode(raw, 0, raw.byteLength);
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * The session's own word for the output limit; `max_tokens` is refused by reasoning models, so it is used
 * only where it was.
 */
function outputKey(params: ReadonlyMap<string, Uint8Array>): string {
  return params.has("max_tokens") && !params.has("max_completion_tokens")
    ? "max_tokens"
    : "max_completion_tokens";
}

/** Responses refuses a cap under 16. */
function responsesOutput({ maxTokens, maxOutput }: Output): Uint8Array {
  return number(Math.max(16, Math.min(maxTokens, maxOutput ?? maxTokens)));
}

function userMessage(text: string): Uint8Array {
  return concat([utf8Bytes('{"role":"user","content":'), jsonString(text), utf8Bytes("}")]);
}

function streamed(dialect: DialectName): [string, Uint8Array][] {
  const stream: [string, Uint8Array] = ["stream", utf8Bytes("true")];
  return dialect !== "openai-chat"
    ? [stream]
    : [stream, ["stream_options", utf8Bytes('{"include_usage":true}')]];
}

function number(value: number): Uint8Array {
  return utf8Bytes(String(Math.max(1, Math.floor(value))));
}

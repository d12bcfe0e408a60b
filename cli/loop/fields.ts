/**
 * Fields and headers that a provider does not know. The lists are the parameters of the vendors' own types;
 * what the types leave open (metadata, schemas, tool input) is not looked into.
 */
import type { WireDialect } from "../../src/dialects/wire.ts";
import type { Fault } from "./checks.ts";
import { type Json, list, objectOf } from "./json.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

const top: Record<WireDialect, ReadonlySet<string>> = {
  "openai-chat": words(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens " +
      "max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty " +
      "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format " +
      "safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools " +
      "top_logprobs top_p user verbosity web_search_options",
  ),
  "openai-responses": words(
    "access_programs background background_options context_management conversation image include input " +
      "instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls " +
      "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning " +
      "safety_identifier service_tier store stream stream_options temperature text tool_choice tools " +
      "top_logprobs top_p truncation user",
  ),
  anthropic: words(
    "max_tokens messages model cache_control container diagnostics inference_geo metadata output_config " +
      "service_tier speed stop_sequences stream system thinking tool_choice tools user_profile_id " +
      "workspace_id temperature top_k top_p",
  ),
};

const blocks: Record<string, ReadonlySet<string>> = {
  text: words("type text cache_control citations"),
  thinking: words("type thinking signature"),
  redacted_thinking: words("type data"),
  tool_use: words("type id name input cache_control caller toolset_name"),
  tool_result: words("type tool_use_id content is_error cache_control toolset_name"),
};

const items: Record<string, ReadonlySet<string>> = {
  message: words("type id role content status phase"),
  function_call: words("type id call_id name arguments status async caller namespace"),
  function_call_output: words("type id call_id output status name caller namespace"),
  reasoning: words("type id summary content encrypted_content status"),
};

/** The gateway's own headers have no business at a provider. */
export function headerFault(headers: Headers): Fault | undefined {
  for (const [name] of headers)
    if (name.startsWith("plimsoll")) return ["header", `Unexpected header: ${name}.`];
  return undefined;
}

export function fieldFault(dialect: WireDialect, body: Json): Fault | undefined {
  const unknown = Object.keys(body).find((key) => !top[dialect].has(key));
  if (unknown !== undefined) return ["field", unknownWords(dialect, unknown)];
  if (dialect === "anthropic") return blockFault(list(body.messages));
  return dialect === "openai-responses" ? itemFault(list(body.input)) : resultFault(list(body.messages));
}

function unknownWords(dialect: WireDialect, place: string): string {
  if (dialect === "anthropic") return `${place}: Extra inputs are not permitted`;
  if (dialect === "openai-responses") return `Unknown parameter: '${place}'.`;
  return `Unrecognized request argument supplied: ${place}`;
}

function blockFault(messages: readonly Json[]): Fault | undefined {
  for (const [i, message] of messages.entries()) {
    const extra = Object.keys(message).find((key) => key !== "role" && key !== "content");
    if (extra !== undefined) return ["field", unknownWords("anthropic", `messages.${i}.${extra}`)];
    for (const [j, block] of list(message.content).entries()) {
      const known = blocks[String(block.type)];
      const odd = Object.keys(block).find((key) => known !== undefined && !known.has(key));
      if (odd !== undefined)
        return [
          "field",
          unknownWords("anthropic", `messages.${i}.content.${j}.${String(block.type)}.${odd}`),
        ];
      const named = idFault(block, `messages.${i}.content.${j}.id`);
      if (named !== undefined) return named;
    }
  }
  return undefined;
}

/** Ids of calls are letters, digits, `_` and `-`, at most 64 of them. */
function idFault(block: Json, place: string): Fault | undefined {
  const id = block.type === "tool_use" ? block.id : block.type === "tool_result" ? block.tool_use_id : "a";
  return typeof id === "string" && /^[\w-]{1,64}$/.test(id)
    ? undefined
    : ["call-id", `${place}: String should match pattern '^[a-zA-Z0-9_-]+$'`];
}

/** Results in chat are text. */
function resultFault(messages: readonly Json[]): Fault | undefined {
  for (const [i, { role, content }] of messages.entries()) {
    const odd = role === "tool" ? list(content).find(({ type }) => type !== "text") : undefined;
    if (odd !== undefined)
      return ["part", `Invalid value: '${String(odd.type)}'. Supported values are: 'text'. (messages[${i}])`];
  }
  return undefined;
}

const ids: Record<string, RegExp> = { message: /^msg/, function_call: /^fc/, reasoning: /^rs/ };
const parts: Record<string, ReadonlySet<string>> = {
  assistant: words("output_text refusal"),
  user: words("input_text input_image input_file input_audio"),
};

/** Ids say what an item is, and the parts of a message who speaks. Wordings as remembered. */
function partFault(item: Json, i: number): Fault | undefined {
  const type = String(item.type ?? "message");
  const known = ids[type];
  if (typeof item.id === "string" && item.id !== "" && known !== undefined && !known.test(item.id))
    return [
      "item-id",
      `Invalid 'input[${i}].id': '${item.id}'. Expected an ID that begins with '${known.source.slice(1)}'.`,
    ];
  const supported = type === "message" ? parts[String(item.role)] : undefined;
  const odd = list(item.content).find((part) => supported !== undefined && !supported.has(String(part.type)));
  if (supported === undefined || odd === undefined) return undefined;
  return [
    "part",
    `Invalid value: '${String(odd.type)}'. Supported values are: ${[...supported].map((one) => `'${one}'`).join(", ")}.`,
  ];
}

function itemFault(input: readonly Json[]): Fault | undefined {
  for (const [i, item] of input.entries()) {
    const known = items[String(item.type ?? "message")];
    const odd = Object.keys(item).find((key) => known !== undefined && !known.has(key));
    if (odd !== undefined) return ["field", unknownWords("openai-responses", `input[${i}].${odd}`)];
    const wrong = partFault(item, i);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Controls of bound thinking are a beta: without its header the field is unknown. */
export function betaFault(headers: Headers, body: Json): Fault | undefined {
  if (objectOf(body.thinking)?.block_binding === undefined) return undefined;
  const betas = headers.get("anthropic-beta") ?? "";
  return betas.includes("thinking-binding-controls-2026-08-01")
    ? undefined
    : ["field", unknownWords("anthropic", "thinking.block_binding")];
}

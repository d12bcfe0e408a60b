/**
 * A request from its parts, for steps that Plimsoll makes itself: raw JSON is put together, nothing is decoded. Parameters are the
 * client's own; what the parts name goes over them.
 */
import { utf8Bytes } from "../../log/json-edit.ts";
import type { DialectName } from "../dialect.ts";
import { jsonArray } from "../edits.ts";
import { instructions, jsonObject, leadingItems, listed, paramsOf, systemMessages } from "./parts.ts";

export interface RequestParts {
  /** The model as its provider spells it. */
  model: string;
  /** Raw JSON. In the OpenAI dialects a text, or whole messages. */
  system?: Uint8Array;
  tools?: Uint8Array;
  params?: Uint8Array;
  messages: readonly Uint8Array[];
  maxOutput: number | undefined;
  stream: boolean;
}

/** Anthropic requires `max_tokens`; what a session without one gets. */
const DEFAULT_MAX_TOKENS = 4_096;

export function composeRequest(dialect: DialectName, parts: RequestParts): Uint8Array {
  const entries = new Map<string, Uint8Array>();
  for (const [key, raw] of paramsOf(parts.params)) entries.set(key, raw);
  entries.set("model", utf8Bytes(JSON.stringify(parts.model)));
  setSystemAndMessages(dialect, parts, entries);
  const tools = listed(parts.tools);
  if (tools !== undefined) entries.set("tools", tools);
  setOutput(dialect, parts.maxOutput, entries);
  if (parts.stream) {
    entries.set("stream", utf8Bytes("true"));
    if (dialect === "openai-chat") entries.set("stream_options", utf8Bytes('{"include_usage":true}'));
  } else entries.delete("stream");
  return jsonObject([...entries]);
}

function setSystemAndMessages(
  dialect: DialectName,
  { system, messages }: RequestParts,
  entries: Map<string, Uint8Array>,
): void {
  if (dialect === "anthropic") {
    if (system !== undefined) entries.set("system", system);
    entries.set("messages", jsonArray(messages));
  } else if (dialect === "openai-chat") {
    entries.set("messages", jsonArray([...systemMessages(system), ...messages]));
  } else {
    for (const [key, text] of instructions(system, entries)) entries.set(key, text);
    entries.set("input", jsonArray([...leadingItems(system, entries), ...messages]));
  }
}

function setOutput(
  dialect: DialectName,
  maxOutput: number | undefined,
  entries: Map<string, Uint8Array>,
): void {
  const keys = {
    anthropic: ["max_tokens"],
    "openai-chat": ["max_completion_tokens", "max_tokens"],
    "openai-responses": ["max_output_tokens"],
  }[dialect];
  const key = keys.find((one) => entries.has(one)) ?? keys[0]!;
  if (maxOutput !== undefined) entries.set(key, utf8Bytes(String(maxOutput)));
  else if (dialect === "anthropic" && !entries.has(key))
    entries.set(key, utf8Bytes(String(DEFAULT_MAX_TOKENS)));
}

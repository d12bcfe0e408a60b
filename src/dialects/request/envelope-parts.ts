/** The envelope of a drop-in request as raw JSON: system, tools and the parameters that shape an answer. */
import { applyEdits, concat, contains, jsonString, memberRemovals, utf8Bytes } from "../../log/json-edit.ts";
import { elements, kindOf, type Member, type Span } from "../../log/scanner.ts";
import { jsonArray, withoutCacheMarks } from "../edits.ts";
import { given } from "../fields.ts";
import type { WireDialect } from "../wire.ts";

/** The shape of the session's `EnvelopeParts`: what the request does not have is absent. */
export interface EnvelopeBytes {
  system?: Uint8Array;
  tools?: Uint8Array;
  params?: Uint8Array;
}

/**
 * Members that are no parameters: parts of their own, the way the answer comes back, who asks, and what only
 * steers a cache. None of them may make a new envelope.
 */
const notParams = new Set([
  ...["messages", "input", "system", "instructions", "tools", "model", "n"],
  ...["stream", "stream_options", "metadata", "user", "safety_identifier"],
  ...["prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "cache_control"],
  ...["idempotency_key", "client_metadata", "previous_response_id", "conversation", "background", "prompt"],
]);

/**
 * Cache marks are left out, because they move while what they mark stays the same. System is a string, blocks,
 * or, in the OpenAI dialects, an array of the leading messages with `instructions` in front.
 */
export function envelopeOf(
  dialect: WireDialect,
  body: Uint8Array,
  fields: ReadonlyMap<string, Member>,
  leading: readonly Span[],
): EnvelopeBytes {
  const raw = (key: string): Uint8Array | undefined => {
    const span = fields.get(key);
    return given(body, span) ? body.subarray(span.start, span.end) : undefined;
  };
  const tools = raw("tools");
  const system =
    dialect === "anthropic"
      ? unmarked(raw("system"))
      : leadingSystem(
          dialect === "openai-responses" ? raw("instructions") : undefined,
          leading.map(({ start, end }) => withoutCacheMarks(body.subarray(start, end))),
        );
  const params = paramsOf(body, fields);
  return {
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools: unmarked(tools) }),
    ...(params === undefined ? {} : { params }),
  };
}

function leadingSystem(instructions: Uint8Array | undefined, messages: Uint8Array[]): Uint8Array | undefined {
  if (messages.length === 0) return instructions;
  return jsonArray(instructions === undefined ? messages : [instructions, ...messages]);
}

/** A list without marks on its elements. Schemas of tools are not entered: they may name a member so. */
function unmarked<T extends Uint8Array | undefined>(list: T): T | Uint8Array {
  if (list === undefined || kindOf(list, 0) !== "array") return list;
  if (!contains(list, "cache_control") && !contains(list, "\\u00")) return list;
  const objects = [...elements(list, 0)].filter(({ start }) => kindOf(list, start) === "object");
  return applyEdits(
    list,
    objects.flatMap(({ start }) => memberRemovals(list, start, "cache_control")),
  );
}

function paramsOf(body: Uint8Array, fields: ReadonlyMap<string, Member>): Uint8Array | undefined {
  const pieces: Uint8Array[] = [];
  for (const { key, start, end } of fields.values()) {
    if (notParams.has(key)) continue;
    pieces.push(utf8Bytes(pieces.length === 0 ? "{" : ","), jsonString(key), utf8Bytes(":"));
    pieces.push(body.subarray(start, end));
  }
  return pieces.length === 0 ? undefined : concat([...pieces, utf8Bytes("}")]);
}

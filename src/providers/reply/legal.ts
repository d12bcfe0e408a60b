/**
 * Makes of what a provider answered the messages that it takes back: leaves out what it would refuse, and
 * copies the rest raw. Pure.
 */
import { isBlank, isThinking } from "../../dialects/anthropic-read.ts";
import { jsonArray } from "../../dialects/edits.ts";
import { given } from "../../dialects/fields.ts";
import { isEmptyArray, openAiFields, openAiMending } from "../../dialects/openai-read.ts";
import { dialectOf } from "../../dialects/registry.ts";
import type { WireDialect } from "../../dialects/wire.ts";
import { applyEdits, concat, memberAddition, removeMember, utf8Bytes } from "../../log/json-edit.ts";
import { elements, member, pick, root } from "../../log/scanner.ts";
import { objectBytes, ofKind, slice, textAt, withMember } from "./fields.ts";
import type { Reply, ReplyChoice } from "./reply.ts";

/**
 * An assistant message of Chat Completions. Its audio goes back by id; a null or empty `tool_calls` is
 * refused (providers.md 1.1). Undefined when it says nothing.
 */
export function legalChatMessage(message: Uint8Array): Uint8Array | undefined {
  const fields = openAiFields(message);
  if (openAiMending(message, fields) === "drop" && !given(message, fields.function_call)) return undefined;
  const { role, audio, tool_calls: calls } = fields;
  let bytes = message;
  if (ofKind(bytes, audio, "object") !== undefined && audio !== undefined) {
    const id = member(bytes, audio.start, "id");
    const short = id === undefined ? "null" : `{"id":${new TextDecoder().decode(slice(bytes, id))}}`;
    bytes = applyEdits(bytes, [{ ...audio, bytes: utf8Bytes(short) }]);
  }
  if (calls !== undefined && (!given(message, calls) || isEmptyArray(message, calls))) {
    bytes = removeMember(bytes, root(bytes), "tool_calls");
  }
  return role === undefined
    ? applyEdits(bytes, [memberAddition(bytes, root(bytes), "role", utf8Bytes('"assistant"'))])
    : bytes;
}

/**
 * An assistant message of these blocks. Blank texts are refused (providers.md 1.3), and so is thinking at
 * the end, where the output cap has cut the reply. A call whose input is no JSON object was cut as well:
 * nobody can run it, so it has no result, and goes.
 */
export function legalAnthropicMessage(blocks: readonly Uint8Array[]): Uint8Array | undefined {
  const kept = blocks.filter((block) => {
    const { type, text, input } = pick(block, root(block), ["type", "text", "input"]);
    const name = textAt(block, type) ?? "";
    if (name === "text") return !isBlank(textAt(block, text) ?? "");
    return !name.endsWith("tool_use") || ofKind(block, input, "object") !== undefined;
  });
  while (kept.length > 0 && isThinking(typeOf(kept[kept.length - 1]!))) kept.pop();
  if (kept.length === 0) return undefined;
  return concat([utf8Bytes('{"role":"assistant","content":'), jsonArray(kept), utf8Bytes("}")]);
}

export function typeOf(object: Uint8Array): string {
  return textAt(object, member(object, root(object), "type")) ?? "";
}

/** The elements of an array that are objects, raw. */
export function objectsOf(bytes: Uint8Array, array: { start: number }): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (const span of elements(bytes, array.start)) {
    if (ofKind(bytes, span, "object") !== undefined) found.push(slice(bytes, span));
  }
  return found;
}

const calls = /^(function_call|custom_tool_call)$/;

/**
 * The output items of a response that go back as input. A call that was cut has no output, and reasoning
 * needs the item that follows it (providers.md 1.2).
 */
export function legalItems(items: readonly Uint8Array[]): Uint8Array[] {
  const kept: Uint8Array[] = [];
  let held: Uint8Array[] = [];
  for (const item of items) {
    const { type, status } = pick(item, root(item), ["type", "status"]);
    const name = textAt(item, type) ?? "";
    if (name === "reasoning") held.push(item);
    else if (calls.test(name) && textAt(item, status) === "incomplete") held = [];
    else if (name !== "") {
      kept.push(...held, item);
      held = [];
    }
  }
  return kept;
}

/** Says whether the reply can be stored: it is whole, and its messages read cleanly. */
export function judged(dialect: WireDialect, reply: Omit<Reply, "usable">): Reply {
  const whole = reply.finish !== undefined;
  const messages = reply.choices.flatMap((choice: ReplyChoice) => choice.messages);
  return { ...reply, usable: whole && messages.length > 0 && messages.every((one) => reads(dialect, one)) };
}

function reads(dialect: WireDialect, message: Uint8Array): boolean {
  if (objectBytes(message) === undefined) return false;
  try {
    dialectOf(dialect).read(message, "reply");
    return true;
  } catch {
    return false;
  }
}

/** A call without an id gets one that is made of the reply's: the message could not be re-sent without. */
export function withCallIds(message: Uint8Array, idOf: (index: number) => string): Uint8Array {
  const list = ofKind(message, member(message, root(message), "tool_calls"), "array");
  if (list === undefined) return message;
  const raw = objectsOf(message, list);
  const lacks = (call: Uint8Array) => (textAt(call, member(call, root(call), "id")) ?? "") === "";
  if (!raw.some(lacks)) return message;
  const named = raw.map((call, i) =>
    lacks(call) ? withMember(call, "id", utf8Bytes(JSON.stringify(idOf(i)))) : call,
  );
  return applyEdits(message, [{ ...list, bytes: jsonArray(named) }]);
}

/** The events of one output item of a Responses stream: it is added empty, filled, and done. */
import { jsonArray } from "../../dialects/edits.ts";
import { jsonString, utf8Bytes } from "../../log/json-edit.ts";
import { member, root } from "../../log/scanner.ts";
import { ofKind, slice, textAt, withMember } from "./fields.ts";
import type { Written } from "./json-write.ts";
import { objectsOf, typeOf } from "./legal.ts";

/** An event without its number. */
export interface ItemEvent {
  type: string;
  members: readonly (readonly [key: string, value: Written])[];
}

/** An item as it is added, and what fills it. */
interface Filling {
  added: Uint8Array;
  events: ItemEvent[];
}

type Place = readonly (readonly [key: string, value: Written])[];

export function itemEvents(item: Uint8Array, index: number): ItemEvent[] {
  const id = textAt(item, member(item, root(item), "id")) ?? `item_${index}`;
  const place: Place = [
    ["item_id", id],
    ["output_index", index],
  ];
  const { added, events } = filling(item, place);
  const whole = (type: string, value: Uint8Array): ItemEvent => ({
    type,
    members: [
      ["output_index", index],
      ["item", value],
    ],
  });
  return [whole("response.output_item.added", added), ...events, whole("response.output_item.done", item)];
}

function filling(item: Uint8Array, place: Place): Filling {
  switch (typeOf(item)) {
    case "message":
      return message(item, place);
    case "reasoning":
      return reasoning(item, place);
    case "function_call":
      return call(item, place, "arguments", "response.function_call_arguments");
    case "custom_tool_call":
      return call(item, place, "input", "response.custom_tool_call_input");
    default:
      return { added: item, events: [] };
  }
}

function listAt(item: Uint8Array, key: string): Uint8Array[] {
  const list = ofKind(item, member(item, root(item), key), "array");
  return list === undefined ? [] : objectsOf(item, list);
}

/** The item with this list empty; an item that is added runs. */
function without(item: Uint8Array, key: string): Uint8Array {
  return running(withMember(item, key, utf8Bytes("[]")));
}

function running(item: Uint8Array): Uint8Array {
  const status = member(item, root(item), "status");
  return status === undefined ? item : withMember(item, "status", jsonString("in_progress"));
}

function message(item: Uint8Array, place: Place): Filling {
  const parts = listAt(item, "content");
  return {
    added: without(item, "content"),
    events: parts.flatMap((part, i) => partEvents(part, [...place, ["content_index", i]])),
  };
}

function partEvents(part: Uint8Array, place: Place): ItemEvent[] {
  const refusal = typeOf(part) === "refusal";
  const key = refusal ? "refusal" : "text";
  const value = member(part, root(part), key);
  const begun = value === undefined ? part : withMember(part, key, jsonString(""));
  const texts =
    value === undefined
      ? []
      : textEvents(refusal ? "response.refusal" : "response.output_text", {
          place: refusal ? place : [...place, ["logprobs", []]],
          key,
          value: slice(part, value),
        });
  return [
    { type: "response.content_part.added", members: [...place, ["part", begun]] },
    ...texts,
    { type: "response.content_part.done", members: [...place, ["part", part]] },
  ];
}

/** One delta with the whole text, and the event that says it again. */
function textEvents(type: string, text: { place: Place; key: string; value: Uint8Array }): ItemEvent[] {
  const { place, key, value } = text;
  return [
    { type: `${type}.delta`, members: [...place, ["delta", value]] },
    { type: `${type}.done`, members: [...place, [key, value]] },
  ];
}

/** Summaries come in parts; reasoning that is open text comes as the item's content. */
function reasoning(item: Uint8Array, place: Place): Filling {
  const summaries = listAt(item, "summary").flatMap((part, i) => {
    const at: Place = [...place, ["summary_index", i]];
    const value = member(part, root(part), "text");
    const begun = value === undefined ? part : withMember(part, "text", jsonString(""));
    return [
      { type: "response.reasoning_summary_part.added", members: [...at, ["part", begun]] },
      ...(value === undefined
        ? []
        : textEvents("response.reasoning_summary_text", {
            place: at,
            key: "text",
            value: slice(part, value),
          })),
      { type: "response.reasoning_summary_part.done", members: [...at, ["part", part]] },
    ] satisfies ItemEvent[];
  });
  const open = listAt(item, "content").flatMap((part, i) => {
    const value = member(part, root(part), "text");
    if (value === undefined) return [];
    const at: Place = [...place, ["content_index", i]];
    return textEvents("response.reasoning_text", { place: at, key: "text", value: slice(part, value) });
  });
  const added = running(withMember(item, "summary", jsonArray([])));
  const hasContent = ofKind(item, member(item, root(item), "content"), "array") !== undefined;
  return { added: hasContent ? without(added, "content") : added, events: [...summaries, ...open] };
}

function call(item: Uint8Array, place: Place, key: string, type: string): Filling {
  const value = member(item, root(item), key);
  if (value === undefined) return { added: item, events: [] };
  return {
    added: running(withMember(item, key, jsonString(""))),
    events: textEvents(type, { place, key, value: slice(item, value) }),
  };
}

/** A stored reply as an Anthropic message, or as the events of one. */
import { jsonArray } from "../../dialects/edits.ts";
import { concat, jsonString, utf8Bytes } from "../../log/json-edit.ts";
import { member, pick, rawText, root } from "../../log/scanner.ts";
import { ofKind, slice, textAt, withMember } from "./fields.ts";
import { frame, json, object, type Written } from "./json-write.ts";
import { objectsOf, typeOf } from "./legal.ts";
import type { StoredReply } from "./reply.ts";

/** Clients read these two numbers without asking whether they are there. */
const unknownUsage = { input_tokens: 0, output_tokens: 0 };

export function renderAnthropicJson(reply: StoredReply): Uint8Array {
  return envelope(reply, jsonArray(blocksOf(reply)), reply.finish ?? "end_turn");
}

export function renderAnthropicStream(reply: StoredReply): Uint8Array {
  const blocks = blocksOf(reply);
  const change = object([
    ["type", "message_delta"],
    ["delta", { stop_reason: reply.finish ?? "end_turn", stop_sequence: null }],
    ["usage", usageOf(reply)],
  ]);
  const start = object([
    ["type", "message_start"],
    ["message", envelope(reply, utf8Bytes("[]"), null)],
  ]);
  return concat([
    frame(start, "message_start"),
    ...blocks.flatMap(blockFrames),
    frame(change, "message_delta"),
    frame(json({ type: "message_stop" }), "message_stop"),
  ]);
}

function envelope(reply: StoredReply, content: Uint8Array, stop: string | null): Uint8Array {
  return object([
    ["id", reply.id],
    ["type", "message"],
    ["role", "assistant"],
    ["model", reply.model],
    ["content", content],
    ["stop_reason", stop],
    ["stop_sequence", null],
    ["usage", usageOf(reply)],
  ]);
}

function usageOf({ usage }: StoredReply): object {
  return typeof usage === "object" && usage !== null ? usage : unknownUsage;
}

function blocksOf(reply: StoredReply): Uint8Array[] {
  const message = reply.choices[0]?.messages[0];
  if (message === undefined) return [];
  const content = member(message, root(message), "content");
  const list = ofKind(message, content, "array");
  if (list !== undefined) return objectsOf(message, list);
  const text = textAt(message, content);
  return text === undefined ? [] : [json({ type: "text", text })];
}

function blockFrames(block: Uint8Array, index: number): Uint8Array[] {
  const { begun, deltas } = split(block);
  const event = (type: string, members: readonly (readonly [string, Written])[]): Uint8Array =>
    frame(object([["type", type], ["index", index], ...members]), type);
  return [
    event("content_block_start", [["content_block", begun]]),
    ...deltas.map((delta) => event("content_block_delta", [["delta", delta]])),
    event("content_block_stop", []),
  ];
}

/** A block as it begins and the deltas that fill it; what has no delta of its own begins whole. */
function split(block: Uint8Array): { begun: Uint8Array; deltas: Uint8Array[] } {
  const type = typeOf(block);
  if (type === "text") return emptied(block, [["text", "text_delta"]]);
  if (type === "thinking") {
    return emptied(block, [
      ["thinking", "thinking_delta"],
      ["signature", "signature_delta"],
    ]);
  }
  const input = ofKind(block, member(block, root(block), "input"), "object");
  if (!type.endsWith("tool_use") || input === undefined) return { begun: block, deltas: [] };
  const partial = jsonString(rawText(block, input.start, input.end));
  return {
    begun: withMember(block, "input", utf8Bytes("{}")),
    deltas: [
      object([
        ["type", "input_json_delta"],
        ["partial_json", partial],
      ]),
    ],
  };
}

function emptied(block: Uint8Array, grown: readonly (readonly [key: string, delta: string])[]) {
  const deltas: Uint8Array[] = [];
  let begun = block;
  const citations = ofKind(block, pick(block, root(block), ["citations"]).citations, "array");
  if (citations !== undefined) {
    begun = withMember(begun, "citations", utf8Bytes("[]"));
    for (const citation of objectsOf(block, citations)) {
      deltas.push(
        object([
          ["type", "citations_delta"],
          ["citation", citation],
        ]),
      );
    }
  }
  for (const [key, delta] of grown) {
    const value = member(block, root(block), key);
    if (textAt(block, value) === undefined || value === undefined) continue;
    begun = withMember(begun, key, jsonString(""));
    deltas.push(
      object([
        ["type", delta],
        [key, slice(block, value)],
      ]),
    );
  }
  return { begun, deltas };
}

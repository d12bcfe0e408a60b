/** A stored reply as a response object, or as the events of one. */
import { jsonArray } from "../../dialects/edits.ts";
import { concat, utf8Bytes } from "../../log/json-edit.ts";
import { frame, object, type Written } from "./json-write.ts";
import { type ItemEvent, itemEvents } from "./render-items.ts";
import type { StoredReply } from "./reply.ts";

export function renderResponsesJson(reply: StoredReply): Uint8Array {
  return ended(reply);
}

/** Every event carries its number; the items' own events stand between `created` and the end. */
export function renderResponsesStream(reply: StoredReply): Uint8Array {
  const end = isComplete(reply) ? "response.completed" : "response.incomplete";
  const begun = envelope(reply, "in_progress", utf8Bytes("[]"));
  const events: ItemEvent[] = [
    { type: "response.created", members: [["response", begun]] },
    { type: "response.in_progress", members: [["response", begun]] },
    ...itemsOf(reply).flatMap(itemEvents),
    { type: end, members: [["response", ended(reply)]] },
  ];
  return concat(
    events.map(({ type, members }, number) =>
      frame(object([["type", type], ["sequence_number", number], ...members]), type),
    ),
  );
}

function itemsOf(reply: StoredReply): Uint8Array[] {
  return reply.choices[0]?.messages ?? [];
}

function isComplete({ finish }: StoredReply): boolean {
  return finish === undefined || finish === "completed";
}

function ended(reply: StoredReply): Uint8Array {
  return envelope(reply, isComplete(reply) ? "completed" : "incomplete", jsonArray(itemsOf(reply)));
}

function envelope(reply: StoredReply, status: string, output: Uint8Array): Uint8Array {
  const reason = status === "incomplete" && reply.finish !== "incomplete" ? reply.finish : undefined;
  const { usage } = reply;
  const members: [string, Written][] = [
    ["id", reply.id],
    ["object", "response"],
    ["created_at", reply.created ?? 0],
    ["model", reply.model],
    ["status", status],
    ["error", null],
    ["incomplete_details", reason === undefined ? null : { reason }],
    ["output", output],
  ];
  const told = status !== "in_progress" && typeof usage === "object" && usage !== null ? usage : null;
  return object([...members, ["usage", told]]);
}

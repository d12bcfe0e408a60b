/** Reads a reply that came as one JSON body. What the provider wrote stays its bytes. Pure. */
import { given } from "../../dialects/fields.ts";
import type { WireDialect } from "../../dialects/wire.ts";
import { pick, records, root } from "../../log/scanner.ts";
import { anthropicReply } from "./assemble-anthropic.ts";
import { responsesReply } from "./assemble-responses.ts";
import { madeCallId } from "./chat-calls.ts";
import { countAt, objectBytes, ofKind, slice, valueAt, wordAt } from "./fields.ts";
import { judged, legalAnthropicMessage, legalChatMessage, objectsOf, withCallIds } from "./legal.ts";
import type { Reply, ReplyChoice } from "./reply.ts";

/** Undefined when the body is no reply of the dialect: no JSON, an error, another shape. */
export function readReply(dialect: WireDialect, body: Uint8Array): Reply | undefined {
  const bytes = objectBytes(body);
  if (bytes === undefined) return undefined;
  switch (dialect) {
    case "openai-chat":
      return chat(bytes);
    case "anthropic":
      return anthropic(bytes);
    case "openai-responses":
      return responses(bytes);
  }
}

function chat(bytes: Uint8Array): Reply | undefined {
  const names = ["id", "model", "created", "choices", "usage", "error"] as const;
  const fields = pick(bytes, root(bytes), names);
  const list = ofKind(bytes, fields.choices, "array");
  if (list === undefined || given(bytes, fields.error)) return undefined;
  const id = wordAt(bytes, fields.id);
  const model = wordAt(bytes, fields.model);
  const created = countAt(bytes, fields.created);
  const choices: ReplyChoice[] = [];
  for (const choice of records(bytes, list.start, ["index", "message", "finish_reason"])) {
    const index = countAt(bytes, choice.fields?.index) ?? choices.length;
    const span = ofKind(bytes, choice.fields?.message, "object");
    const message = span === undefined ? undefined : legalChatMessage(slice(bytes, span));
    const finish = wordAt(bytes, choice.fields?.finish_reason);
    const named = message === undefined ? [] : [withCallIds(message, (call) => madeCallId(id, index, call))];
    choices.push({ index, messages: named, ...(finish === undefined ? {} : { finish }) });
  }
  return judged("openai-chat", {
    choices,
    usage: valueAt(bytes, ofKind(bytes, fields.usage, "object")),
    finish: choices.every(({ finish }) => finish !== undefined && finish !== "error")
      ? choices[0]?.finish
      : undefined,
    ...(model === undefined ? {} : { model }),
    ...(id === undefined ? {} : { id }),
    ...(created === undefined ? {} : { created }),
  });
}

function anthropic(bytes: Uint8Array): Reply | undefined {
  const names = ["id", "model", "content", "stop_reason", "usage"] as const;
  const fields = pick(bytes, root(bytes), names);
  const content = ofKind(bytes, fields.content, "array");
  if (content === undefined) return undefined;
  return anthropicReply(legalAnthropicMessage(objectsOf(bytes, content)), {
    usage: valueAt(bytes, ofKind(bytes, fields.usage, "object")),
    finish: wordAt(bytes, fields.stop_reason),
    model: wordAt(bytes, fields.model),
    id: wordAt(bytes, fields.id),
  });
}

/** A response that runs in the background, failed or was cancelled is no reply. */
function responses(bytes: Uint8Array): Reply | undefined {
  const { output, status, error } = pick(bytes, root(bytes), ["output", "status", "error"]);
  const word = wordAt(bytes, status) ?? "completed";
  if (ofKind(bytes, output, "array") === undefined || given(bytes, error)) return undefined;
  return word === "completed" || word === "incomplete" ? responsesReply(bytes, [], true) : undefined;
}

/** A stored reply as a Chat Completions body, or as `chat.completion.chunk` events. */
import { jsonArray } from "../../dialects/edits.ts";
import { applyEdits, concat, memberAddition, removeMember, utf8Bytes } from "../../log/json-edit.ts";
import { kindOf, member, members, root } from "../../log/scanner.ts";
import { ofKind } from "./fields.ts";
import { frame, object, type Written } from "./json-write.ts";
import { objectsOf } from "./legal.ts";
import type { ReplyChoice, StoredReply } from "./reply.ts";

/** Says nothing, in the shape that clients read. */
const silence = utf8Bytes('{"role":"assistant","content":""}');

export function renderChatJson(reply: StoredReply): Uint8Array {
  const choices = reply.choices.map((choice) =>
    object([
      ["index", choice.index],
      ["message", choice.messages[0] ?? silence],
      ["logprobs", null],
      ["finish_reason", finishOf(reply, choice)],
    ]),
  );
  return object([
    ["id", reply.id],
    ["object", "chat.completion"],
    ["created", reply.created ?? 0],
    ["model", reply.model],
    ["choices", jsonArray(choices)],
    ["usage", usageOf(reply)],
  ]);
}

/** A role, the whole message, the finish reason: three chunks for each choice, then usage and `[DONE]`. */
export function renderChatStream(reply: StoredReply, includeUsage: boolean): Uint8Array {
  const usage = includeUsage ? usageOf(reply) : undefined;
  const chunk = (choices: Uint8Array[], told: Written): Uint8Array =>
    frame(
      object([
        ["id", reply.id],
        ["object", "chat.completion.chunk"],
        ["created", reply.created ?? 0],
        ["model", reply.model],
        ["choices", jsonArray(choices)],
        ["usage", told],
      ]),
    );
  const frames = reply.choices.flatMap((choice) => {
    const delta = (value: Written, finish: string | null) => {
      const told = object([
        ["index", choice.index],
        ["delta", value],
        ["logprobs", null],
        ["finish_reason", finish],
      ]);
      return chunk([told], usage === undefined ? undefined : null);
    };
    const message = choice.messages[0] ?? silence;
    return [
      delta({ role: "assistant" }, null),
      delta(deltaOf(message), null),
      delta({}, finishOf(reply, choice)),
    ];
  });
  if (usage !== undefined) frames.push(chunk([], usage));
  return concat([...frames, utf8Bytes("data: [DONE]\n\n")]);
}

function finishOf(reply: StoredReply, choice: ReplyChoice): string {
  return choice.finish ?? reply.finish ?? "stop";
}

function usageOf({ usage }: StoredReply): object | undefined {
  return typeof usage === "object" && usage !== null ? usage : undefined;
}

/** The message as one delta: its role has been told, nulls say nothing, and calls are counted. */
function deltaOf(message: Uint8Array): Uint8Array {
  let bytes = removeMember(message, root(message), "role");
  const nulls = new Set<string>();
  for (const item of members(bytes, root(bytes))) {
    if (item.key !== "content" && kindOf(bytes, item.start) === "null") nulls.add(item.key);
  }
  for (const key of nulls) bytes = removeMember(bytes, root(bytes), key);
  const calls = ofKind(bytes, member(bytes, root(bytes), "tool_calls"), "array");
  if (calls === undefined) return bytes;
  const counted = objectsOf(bytes, calls).map((call, index) =>
    applyEdits(call, [memberAddition(call, root(call), "index", utf8Bytes(String(index)))]),
  );
  return applyEdits(bytes, [{ ...calls, bytes: jsonArray(counted) }]);
}

/** Assembles a Responses stream: named events up to `response.completed` or `response.incomplete`. */
import { given } from "../../dialects/fields.ts";
import { pick, root, type Span } from "../../log/scanner.ts";
import { countAt, ofKind, slice, textAt, valueAt, wordAt } from "./fields.ts";
import { judged, legalItems, objectsOf, typeOf } from "./legal.ts";
import type { Meaning, Reply } from "./reply.ts";
import { decoded, errorOf, type Reading } from "./stream.ts";

const responseFields = [
  "id",
  "model",
  "created_at",
  "status",
  "incomplete_details",
  "output",
  "usage",
  "error",
] as const;

/** Items whose beginning says nothing yet. */
const empty = /^(message|reasoning)$/;

export class ResponsesReading implements Reading {
  readonly #done = new Map<number, Uint8Array>();
  #last: Uint8Array | undefined;
  #ended = false;
  #committed = false;

  take(data: Uint8Array, event: string | undefined): Meaning {
    const fields = pick(data, root(data), ["type", "response", "item", "output_index", "error"]);
    const type = textAt(data, fields.type) ?? event ?? "";
    const response = ofKind(data, fields.response, "object");
    // Some compatible servers break off in the way of Chat Completions.
    if (type === "error" || (type === "" && given(data, fields.error))) return errorOf(decoded(data));
    if (type === "response.failed") return errorOf(failureOf(data, response));
    if (response !== undefined) this.#last = slice(data, response);
    if (type === "response.completed" || type === "response.incomplete") {
      if (response === undefined) return { kind: "garbage" };
      this.#ended = true;
    }
    this.#takeItem(data, type, ofKind(data, fields.item, "object"), countAt(data, fields.output_index));
    this.#committed ||= type.endsWith(".delta");
    return { kind: this.#ended ? "terminal" : this.#committed ? "content" : "opening" };
  }

  /** What an item held when it was added may be incomplete: it counts from `done` on (providers.md 1.2). */
  #takeItem(data: Uint8Array, type: string, item: Span | undefined, index: number | undefined): void {
    if (item === undefined) return;
    const bytes = slice(data, item);
    if (type === "response.output_item.added") this.#committed ||= !empty.test(typeOf(bytes));
    if (type !== "response.output_item.done") return;
    this.#done.set(index ?? this.#done.size, bytes);
    this.#committed = true;
  }

  last(): boolean {
    return this.#ended;
  }

  whole(): boolean {
    return this.#ended;
  }

  reply(): Reply {
    const items = [...this.#done].sort(([a], [b]) => a - b).map(([, item]) => item);
    return this.#last === undefined
      ? judged("openai-responses", { choices: [], usage: undefined, finish: undefined })
      : responsesReply(this.#last, items, this.#ended);
  }
}

function failureOf(data: Uint8Array, response: Span | undefined): unknown {
  const error = response === undefined ? undefined : pick(data, response.start, ["error"]).error;
  return { error: valueAt(data, error) ?? { message: "response.failed" } };
}

/**
 * The reply of a response object; `done` are the items that the stream told, for servers that leave the
 * final object's `output` empty.
 */
export function responsesReply(response: Uint8Array, done: readonly Uint8Array[], ended: boolean): Reply {
  const fields = pick(response, root(response), responseFields);
  const output = ofKind(response, fields.output, "array");
  const told = output === undefined ? [] : objectsOf(response, output);
  const items = legalItems(ended && told.length > 0 ? told : done);
  const finish = ended ? finishOf(response, fields.status, fields.incomplete_details) : undefined;
  const model = wordAt(response, fields.model);
  const id = wordAt(response, fields.id);
  const created = countAt(response, fields.created_at);
  return judged("openai-responses", {
    choices: [{ index: 0, messages: items, ...(finish === undefined ? {} : { finish }) }],
    usage: valueAt(response, ofKind(response, fields.usage, "object")),
    finish,
    ...(model === undefined ? {} : { model }),
    ...(id === undefined ? {} : { id }),
    ...(created === undefined ? {} : { created }),
  });
}

/** Why a response is incomplete says more than that it is. */
function finishOf(response: Uint8Array, status: Span | undefined, details: Span | undefined): string {
  const inner = ofKind(response, details, "object");
  const reason = inner === undefined ? undefined : pick(response, inner.start, ["reason"]).reason;
  return wordAt(response, reason) ?? wordAt(response, status) ?? "completed";
}

/** What a stateful Responses endpoint keeps: a later request may name a response or an item instead of sending it. */
import type { Fault } from "./checks.ts";
import { type Json, list, textOf } from "./json.ts";

export interface StoredResponses {
  /** The body with every reference resolved, or what can not be. */
  resolve(body: Json): { body: Json } | { fault: Fault };
  /** Keeps a response, unless the request said `store: false`. */
  keep(body: Json, response: Json): void;
}

interface Stored {
  parent: string | undefined;
  items: Json[];
}

export function createStoredResponses(): StoredResponses {
  const responses = new Map<string, Stored>();
  const items = new Map<string, Json>();

  function historyOf(id: string | undefined): Json[] {
    const parts: Json[][] = [];
    for (let at = id === undefined ? undefined : responses.get(id); at !== undefined; ) {
      parts.push(at.items);
      at = at.parent === undefined ? undefined : responses.get(at.parent);
    }
    return parts.toReversed().flat();
  }

  return {
    resolve(body) {
      const previous = textOf(body.previous_response_id);
      if (previous !== "" && !responses.has(previous))
        return { fault: ["previous-unknown", `Previous response with id '${previous}' not found.`] };
      const own: Json[] = [];
      for (const item of inputOf(body)) {
        const kept = items.get(textOf(item.id));
        if (item.type === "item_reference" && kept === undefined)
          return { fault: ["item-unknown", `Item with id '${textOf(item.id)}' not found.`] };
        const bare = item.type === "reasoning" && textOf(item.encrypted_content) === "";
        own.push(kept !== undefined && (item.type === "item_reference" || bare) ? kept : item);
      }
      if (previous === "" && typeof body.input === "string") return { body };
      const input = [...historyOf(previous === "" ? undefined : previous), ...own];
      return { body: input.length === 0 ? body : { ...body, input } };
    },
    keep(body, response) {
      if (body.store === false) return;
      const output = list(response.output);
      for (const item of output) items.set(textOf(item.id), item);
      const parent = textOf(body.previous_response_id);
      responses.set(textOf(response.id), {
        parent: parent === "" ? undefined : parent,
        items: [...inputOf(body).map((item) => items.get(textOf(item.id)) ?? item), ...output],
      });
    },
  };
}

function inputOf(body: Json): Json[] {
  return typeof body.input === "string" ? [{ role: "user", content: body.input }] : list(body.input);
}

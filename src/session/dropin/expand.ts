/**
 * Responses clients may name an item of an earlier reply by its id instead of sending it (`item_reference`). The log holds the item: it takes the
 * reference's place before the list is matched.
 */
import { Refusal } from "../../failure.ts";
import { contains } from "../../log/json-edit.ts";
import { decodeString, kindOf, pick } from "../../log/scanner.ts";
import type { Core } from "../core.ts";

/** Events of one page, and how far back a fresh instance looks. */
const PAGE = 500;
const FURTHEST = 50_000;

/** @throws Refusal `unknown-response` when an item is none of the session's. */
export function expanded(core: Core, messages: readonly Uint8Array[]): Uint8Array[] {
  return messages.map((bytes) => {
    const id = referenceOf(bytes);
    if (id === undefined) return bytes;
    const seq = seqOf(core, id);
    if (seq === undefined) throw new Refusal("unknown-response", "This item is none of the session's.");
    return core.log.body(seq);
  });
}

/** The id that a reference names; its type may be left out. */
function referenceOf(bytes: Uint8Array): string | undefined {
  if (bytes.byteLength > 1_024 || kindOf(bytes, 0) !== "object") return undefined;
  const { type, id, role, content } = pick(bytes, 0, ["type", "id", "role", "content"]);
  const named = type !== undefined && contains(bytes.subarray(type.start, type.end), "item_reference");
  const bare = type === undefined && role === undefined && content === undefined;
  return named || bare ? textAt(bytes, id) : undefined;
}

function textAt(bytes: Uint8Array, span: { start: number; end: number } | undefined): string | undefined {
  return span !== undefined && kindOf(bytes, span.start) === "string"
    ? decodeString(bytes, span.start, span.end)
    : undefined;
}

/** Items are indexed in memory, as far as somebody asked for one. */
function seqOf(core: Core, id: string): number | undefined {
  const { items, log } = core;
  const end = log.end();
  let after = Math.max(items.upTo, end - FURTHEST);
  while (after < end) {
    const rows = log.read(after, { limit: PAGE, maxBytes: 4 * 1_048_576 });
    for (const row of rows) {
      if (row.type !== "message/assistant") continue;
      const bytes = log.body(row.seq);
      const own = textAt(bytes, pick(bytes, 0, ["id"]).id);
      if (own !== undefined) items.seqs.set(own, row.seq);
    }
    const last = rows.at(-1)?.seq;
    if (last === undefined) break;
    after = last;
  }
  items.upTo = end;
  return items.seqs.get(id);
}

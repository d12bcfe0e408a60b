/** From a Surface to the bytes of a request, and answers that carry them: JSON around raw messages that are never re-encoded. */
import type { Dialect, RenderItem } from "../dialects/dialect.ts";
import type { EventLog, View } from "../log/event-log.ts";
import { concat, utf8Bytes } from "../log/json-edit.ts";
import { type SurfaceItem, surfaceOf } from "../projections/surface.ts";

export function renderItems(log: EventLog, dialect: Dialect, items: readonly SurfaceItem[]): Uint8Array[] {
  const rendered: RenderItem[] = items.map((item) => ({
    role: item.kind === "checkpoint" ? "user" : item.kind,
    bytes: log.body(item.body),
    mend: item.mend,
  }));
  return dialect.render(rendered);
}

/** The messages that a view shows up to a head, as they go to the model. */
export function renderSurface(
  log: EventLog,
  dialect: Dialect,
  head: number,
  view: View | undefined,
): Uint8Array[] {
  return renderItems(log, dialect, surfaceOf(log, head, view));
}

export type Json = Record<string, unknown>;

/** A JSON answer whose raw members are inserted as bytes: `null` where undefined, a list as an array. */
export function jsonAnswer(
  members: Json,
  raw: Record<string, Uint8Array | readonly Uint8Array[] | undefined> = {},
  status = 200,
): Response {
  const pieces: Uint8Array[] = [utf8Bytes(JSON.stringify(members).slice(0, -1))];
  let first = Object.keys(members).length === 0;
  for (const [key, value] of Object.entries(raw)) {
    pieces.push(utf8Bytes(`${first ? "" : ","}${JSON.stringify(key)}:`));
    pieces.push(...rawValue(value));
    first = false;
  }
  pieces.push(utf8Bytes("}"));
  return new Response(concat(pieces), { status, headers: { "content-type": "application/json" } });
}

/** A list has hundreds of commas. */
const comma = utf8Bytes(",");

function rawValue(value: Uint8Array | readonly Uint8Array[] | undefined): Uint8Array[] {
  if (value === undefined) return [utf8Bytes("null")];
  if (value instanceof Uint8Array) return [value];
  const list: Uint8Array[] = [utf8Bytes("[")];
  for (const [index, item] of value.entries()) {
    if (index > 0) list.push(comma);
    list.push(item);
  }
  list.push(utf8Bytes("]"));
  return list;
}

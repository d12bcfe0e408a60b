/** Writes JSON around values that are raw already. */
import { concat, utf8Bytes } from "../../log/json-edit.ts";

/** A value to be stringified, or raw JSON. Undefined leaves the member out. */
export type Written = Uint8Array | string | number | boolean | null | object | undefined;

export function json(value: Exclude<Written, undefined>): Uint8Array {
  return value instanceof Uint8Array ? value : utf8Bytes(JSON.stringify(value));
}

/** An object with these members, in order. */
export function object(members: readonly (readonly [key: string, value: Written])[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (const [key, value] of members) {
    if (value === undefined) continue;
    pieces.push(utf8Bytes(`${pieces.length === 0 ? "{" : ","}${JSON.stringify(key)}:`), json(value));
  }
  return concat([...(pieces.length === 0 ? [utf8Bytes("{")] : pieces), utf8Bytes("}")]);
}

/**
 * A frame with this JSON, in one `data` line: JSON needs no line end, so those of a pretty-printed value
 * become spaces. Inside strings they can not stand.
 */
export function frame(data: Uint8Array, event?: string): Uint8Array {
  const line = data.some(isLineEnd) ? data.map((byte) => (isLineEnd(byte) ? 0x20 : byte)) : data;
  const name = event === undefined ? "" : `event: ${event}\n`;
  return concat([utf8Bytes(`${name}data: `), line, utf8Bytes("\n\n")]);
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}

/**
 * Edits of JSON by byte ranges: what an edit does not cover stays byte for byte. All functions require bytes
 * that passed `scanDocument` and leave bytes that would pass it again. Free of any knowledge of messages.
 */
import { Buffer } from "node:buffer";
import { Defect } from "../failure.ts";
import { colon, skipSpace } from "./json-lex.ts";
import { elements, members, type Span, skipString, skipValue } from "./scanner.ts";

/** Puts `bytes` in the place of the range. */
export interface Edit extends Span {
  bytes: Uint8Array;
}

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

/** UTF-8 bytes of a text that is already JSON. */
export function utf8Bytes(json: string): Uint8Array {
  return encoder.encode(json);
}

/** A JSON string with this text. Lone surrogates become escapes, so that nothing is lost in UTF-8. */
export function jsonString(text: string): Uint8Array {
  return encoder.encode(JSON.stringify(text));
}

export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const out = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

/**
 * The bytes with all edits made; the same array when there are none. Edits may come in any order but not
 * overlap.
 */
export function applyEdits(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < at || edit.end < edit.start) throw new Defect("edits overlap");
    pieces.push(bytes.subarray(at, edit.start), edit.bytes);
    at = edit.end;
  }
  pieces.push(bytes.subarray(at));
  return concat(pieces);
}

/**
 * Edits that take the dropped ones out of a list of neighbours together with one comma each. `start` of a
 * neighbour is where it begins (a member: at its key).
 */
function removals<T extends Span>(list: Iterable<T>, drop: (item: T, index: number) => boolean): Edit[] {
  const edits: Edit[] = [];
  let keptBefore = false;
  let previousEnd = 0;
  let index = 0;
  let leading: Edit | undefined; // a dropped run at the head of the list reaches to the next neighbour
  for (const item of list) {
    if (leading !== undefined) leading.end = item.start;
    leading = undefined;
    if (!drop(item, index++)) keptBefore = true;
    else if (keptBefore) edits.push({ start: previousEnd, end: item.end, bytes: nothing });
    else {
      leading = { start: item.start, end: item.end, bytes: nothing };
      edits.push(leading);
    }
    previousEnd = item.end;
  }
  return edits;
}

/** Edits that remove every member of that name from the object at `start`. */
export function memberRemovals(bytes: Uint8Array, start: number, key: string): Edit[] {
  return removals(memberSpans(bytes, start), (item) => item.key === key);
}

function* memberSpans(bytes: Uint8Array, start: number): Generator<Span & { key: string }, void> {
  for (const { key, keyStart, end } of members(bytes, start)) yield { key, start: keyStart, end };
}

/** Edits that remove the elements for which `drop` says so from the array at `start`. */
export function elementRemovals(
  bytes: Uint8Array,
  start: number,
  drop: (element: Span, index: number) => boolean,
): Edit[] {
  return removals(elements(bytes, start), drop);
}

/**
 * The bytes without every member of that name in the object at `start`; the same array when there is none.
 */
export function removeMember(bytes: Uint8Array, start: number, key: string): Uint8Array {
  return applyEdits(bytes, memberRemovals(bytes, start, key));
}

/** An edit that adds a last member to the object at `start`. `value` is JSON. */
export function memberAddition(bytes: Uint8Array, start: number, key: string, value: Uint8Array): Edit {
  const end = skipValue(bytes, start) - 1;
  const first = skipSpace(bytes, start + 1) === end;
  return {
    start: end,
    end,
    bytes: concat([encoder.encode(`${first ? "" : ","}${JSON.stringify(key)}:`), value]),
  };
}

/** Every string value at any depth of a slice, keys left out, in order. */
export function* stringValues(bytes: Uint8Array, { start, end }: Span): Generator<Span, void> {
  let i = start;
  while (i < end) {
    const quoteAt = bytes.indexOf(0x22, i);
    if (quoteAt < 0 || quoteAt >= end) return;
    const stringEnd = skipString(bytes, quoteAt);
    const next = skipSpace(bytes, stringEnd);
    if (next >= end || bytes[next] !== colon) yield { start: quoteAt, end: stringEnd };
    i = stringEnd;
  }
}

/** Whether the bytes hold this ASCII text. */
export function contains(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text, 0, "latin1");
}

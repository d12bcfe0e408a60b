/**
 * Byte edits that both dialects make: a result's new content, strings inside arguments, text notes, cache
 * marks. Whatever an edit does not cover stays the client's own bytes.
 */
import { Defect } from "../failure.ts";
import {
  applyEdits,
  concat,
  contains,
  type Edit,
  jsonString,
  memberAddition,
  memberRemovals,
  stringValues,
  utf8Bytes,
} from "../log/json-edit.ts";
import { decodeString, elements, kindOf, pick, root, type Span } from "../log/scanner.ts";
import type { ContentPart, NewContent } from "./dialect.ts";

export type Rewrite = (value: string) => string | undefined;

/** The edited bytes, or undefined when there is nothing to edit. */
export function edited(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array | undefined {
  return edits.length === 0 ? undefined : applyEdits(bytes, edits);
}

/** `{"type":"text","text":…}` around a JSON string. Both dialects write a text block this way. */
function textBlock(text: Uint8Array): Uint8Array {
  return concat([utf8Bytes('{"type":"text","text":'), text, utf8Bytes("}")]);
}

export function noteEdit({ start, end }: Span, note: string): Edit {
  return { start, end, bytes: textBlock(jsonString(note)) };
}

/** Raw JSON values as one array. */
export function jsonArray(values: readonly Uint8Array[]): Uint8Array {
  const comma = utf8Bytes(",");
  return concat([
    utf8Bytes("["),
    ...values.flatMap((value, i) => (i === 0 ? [value] : [comma, value])),
    utf8Bytes("]"),
  ]);
}

/**
 * The edit that gives a result its new content. A string stays a string if the new content is one text or
 * nothing; everything else becomes an array in which kept blocks are copied raw. `old` is the content as it
 * was read: one part per block.
 */
export function contentEdit(
  bytes: Uint8Array,
  owner: { start: number; content: Span | undefined; old: readonly ContentPart[] },
  next: readonly NewContent[],
): Edit | undefined {
  const { content, old } = owner;
  const wanted = next.map((piece, i) => (isSame(old[i], piece) ? { keep: i } : piece));
  if (wanted.length === old.length && wanted.every((piece, i) => "keep" in piece && piece.keep === i)) {
    return undefined;
  }
  const isArray = content !== undefined && kindOf(bytes, content.start) === "array";
  const only = wanted.length === 1 ? wanted[0] : undefined;
  let value: Uint8Array;
  if (!isArray && wanted.length === 0) value = jsonString("");
  else if (!isArray && only !== undefined && "text" in only) value = jsonString(only.text);
  else {
    const blocks = rawBlocks(bytes, content, isArray);
    // An empty text block would be refused by the provider, so a text that is gone takes its block with it.
    const full = wanted.filter((piece) => "keep" in piece || piece.text !== "");
    value = jsonArray(full.map((piece) => ("keep" in piece ? kept(blocks, piece.keep) : textOf(piece.text))));
  }
  if (content === undefined) return memberAddition(bytes, owner.start, "content", value);
  return { start: content.start, end: content.end, bytes: value };
}

function isSame(old: ContentPart | undefined, piece: NewContent): boolean {
  return "text" in piece && old?.type === "text" && old.text === piece.text;
}

function textOf(text: string): Uint8Array {
  return textBlock(jsonString(text));
}

/** The blocks of a content as raw JSON; a string content is one text block. */
function rawBlocks(bytes: Uint8Array, content: Span | undefined, isArray: boolean): Uint8Array[] {
  if (content === undefined || kindOf(bytes, content.start) === "null") return [];
  if (!isArray) return [textBlock(bytes.subarray(content.start, content.end))];
  return Array.from(elements(bytes, content.start), ({ start, end }) => bytes.subarray(start, end));
}

function kept(blocks: readonly Uint8Array[], index: number): Uint8Array {
  const block = blocks[index];
  if (block === undefined) throw new Defect("a result keeps a block that it does not have");
  return block;
}

/** Edits that rewrite the string values at any depth of a JSON value. */
export function stringEdits(bytes: Uint8Array, value: Span, rewrite: Rewrite): Edit[] {
  const edits: Edit[] = [];
  for (const { start, end } of stringValues(bytes, value)) {
    const old = decodeString(bytes, start, end);
    const next = rewrite(old);
    if (next !== undefined && next !== old) edits.push({ start, end, bytes: jsonString(next) });
  }
  return edits;
}

/** A mark is spelled out, or its name is written with an escape for an ASCII letter. */
const mark = "cache_control";
const escapedLetter = "\\u00";
/** Message, block, block of a result, its source, block of that source: no dialect nests blocks deeper. */
const blockLevels = 5;

/**
 * The bytes without `cache_control` on the message and its blocks. Call arguments (`input`, `function`) are
 * not entered.
 */
export function withoutCacheMarks(bytes: Uint8Array): Uint8Array {
  if (!contains(bytes, mark) && !contains(bytes, escapedLetter)) return bytes;
  const edits: Edit[] = [];
  const start = root(bytes);
  let level = kindOf(bytes, start) === "object" ? [start] : [];
  for (let depth = 0; depth < blockLevels && level.length > 0; depth++) {
    const next: number[] = [];
    for (const start of level) {
      for (const edit of memberRemovals(bytes, start, "cache_control")) edits.push(edit);
      const inner = pick(bytes, start, ["content", "source", "tool_calls"]);
      for (const span of [inner.content, inner.source, inner.tool_calls]) collectObjects(bytes, span, next);
    }
    level = next;
  }
  return applyEdits(bytes, edits);
}

function collectObjects(bytes: Uint8Array, span: Span | undefined, into: number[]): void {
  if (span === undefined) return;
  const kind = kindOf(bytes, span.start);
  if (kind === "object") into.push(span.start);
  if (kind !== "array") return;
  for (const { start } of elements(bytes, span.start)) {
    if (kindOf(bytes, start) === "object") into.push(start);
  }
}

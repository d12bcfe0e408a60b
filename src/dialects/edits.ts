/**
 * Byte edits that every dialect makes: a result's new content, strings inside arguments, text notes, cache
 * marks. Whatever an edit does not cover stays the client's own bytes.
 */
import { Defect, Refusal } from "../failure.ts";
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
import {
  decodeString,
  elements,
  kindOf,
  pick,
  rawText,
  root,
  type Span,
  scanDocument,
} from "../log/scanner.ts";
import type { ContentPart, NewContent } from "./dialect.ts";

export type Rewrite = (value: string) => string | undefined;

/** The edited bytes, or undefined when there is nothing to edit. */
export function edited(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array | undefined {
  return edits.length === 0 ? undefined : applyEdits(bytes, edits);
}

/** How a dialect writes a text block, and under which member a result holds its content. */
export interface BlockShape {
  text: "text" | "input_text";
  member: "content" | "output";
}

const plain: BlockShape = { text: "text", member: "content" };

/** `{"type":"text","text":…}` around a JSON string. */
function textBlock(text: Uint8Array, type: BlockShape["text"]): Uint8Array {
  return concat([utf8Bytes(`{"type":"${type}","text":`), text, utf8Bytes("}")]);
}

export function noteEdit({ start, end }: Span, note: string, { text } = plain): Edit {
  return { start, end, bytes: textBlock(jsonString(note), text) };
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
  shape = plain,
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
    const blocks = rawBlocks(bytes, content, isArray, shape.text);
    // An empty text block would be refused by the provider, so a text that is gone takes its block with it.
    const full = wanted.filter((piece) => "keep" in piece || piece.text !== "");
    const written = (piece: NewContent) =>
      "keep" in piece ? kept(blocks, piece.keep) : textBlock(jsonString(piece.text), shape.text);
    value = jsonArray(full.map(written));
  }
  if (content === undefined) return memberAddition(bytes, owner.start, shape.member, value);
  return { start: content.start, end: content.end, bytes: value };
}

function isSame(old: ContentPart | undefined, piece: NewContent): boolean {
  return "text" in piece && old?.type === "text" && old.text === piece.text;
}

/** The blocks of a content as raw JSON; a string content is one text block. */
function rawBlocks(
  bytes: Uint8Array,
  content: Span | undefined,
  isArray: boolean,
  text: BlockShape["text"],
): Uint8Array[] {
  if (content === undefined || kindOf(bytes, content.start) === "null") return [];
  if (!isArray) return [textBlock(bytes.subarray(content.start, content.end), text)];
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

/**
 * Rewrites the strings inside a JSON text. A text that is not JSON stays: nobody can tell what its strings
 * are.
 */
export function rewriteJsonText(text: string, rewrite: Rewrite): string | undefined {
  // A raw lone surrogate can stand only inside a string, where its escape means the same and survives UTF-8.
  const wellFormed = text.replace(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
  const json = utf8Bytes(wellFormed);
  try {
    if (wellFormed !== text) JSON.parse(text); // a backslash before it would make another text of the escape
    scanDocument(json);
  } catch (error) {
    if (error instanceof Refusal && error.failure.code === "too-deep") return undefined;
    // Arguments that were cut off are no JSON: then they are one long text.
    if (error instanceof Refusal || error instanceof SyntaxError) return rewrite(text);
    throw error;
  }
  const start = root(json);
  const edits = stringEdits(json, { start, end: json.length }, rewrite);
  if (edits.length === 0) return undefined;
  const next = applyEdits(json, edits);
  return rawText(next, 0, next.length);
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

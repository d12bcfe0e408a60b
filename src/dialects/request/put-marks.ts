/** How a cache mark is put on tools, system or a message (Anthropic): as edits of their bytes. */
import { type Edit, memberAddition, utf8Bytes } from "../../log/json-edit.ts";
import { kindOf, pick, rawText, records, type Span } from "../../log/scanner.ts";
import { given, optionalString } from "../fields.ts";

/** The mark that Plimsoll puts. */
export function plainMark(ttl: "5m" | "1h"): Uint8Array {
  return utf8Bytes(ttl === "1h" ? '{"type":"ephemeral","ttl":"1h"}' : '{"type":"ephemeral"}');
}

/** The last tool, unless it is marked. Tools that are loaded on demand are no part of the prefix. */
export function toolsEnd(bytes: Uint8Array, tools: Span | undefined): number | undefined {
  if (tools === undefined || kindOf(bytes, tools.start) !== "array") return undefined;
  const list = [...records(bytes, tools.start, ["cache_control", "defer_loading"])];
  const last = list.findLast(({ fields }) => {
    const later = fields?.defer_loading;
    return fields !== undefined && !(later !== undefined && bytes[later.start] === 0x74); // true
  });
  return last === undefined || given(bytes, last.fields?.cache_control) ? undefined : last.start;
}

/** What takes the mark at the end of system: its text or its last block, unless that is marked or empty. */
export function systemEnd(bytes: Uint8Array, system: Span | undefined): number | undefined {
  if (system === undefined) return undefined;
  if (kindOf(bytes, system.start) === "string") return isEmpty(system) ? undefined : system.start;
  if (kindOf(bytes, system.start) !== "array") return undefined;
  const last = blocksOf(bytes, system).at(-1);
  return last === undefined || !last.canMark || last.marked ? undefined : last.start;
}

export function toolsMark(bytes: Uint8Array, tools: Span | undefined, control: Uint8Array): Edit[] {
  const start = toolsEnd(bytes, tools);
  return start === undefined ? [] : objectMark(bytes, start, control);
}

export function systemMark(bytes: Uint8Array, system: Span | undefined, control: Uint8Array): Edit[] {
  const start = systemEnd(bytes, system);
  if (system === undefined || start === undefined) return [];
  return start === system.start ? textMark(system, control) : objectMark(bytes, start, control);
}

/**
 * Edits that mark the message at `start`: its block at `path`, or, without one or where none such can take a
 * mark, its last that can. Thinking and empty text can not. A mark that stands there stays as it is.
 */
export function messageMark(
  bytes: Uint8Array,
  start: number,
  { control, path }: { control: Uint8Array; path?: readonly number[] | undefined },
): Edit[] {
  const { content } = pick(bytes, start, ["content"]);
  if (content === undefined) return [];
  if (kindOf(bytes, content.start) === "string") return isEmpty(content) ? [] : textMark(content, control);
  if (kindOf(bytes, content.start) !== "array") return [];
  const block = blockAt(bytes, content, path) ?? blocksOf(bytes, content).findLast(({ canMark }) => canMark);
  return block === undefined || block.marked ? [] : objectMark(bytes, block.start, control);
}

interface Block {
  start: number;
  content: Span | undefined;
  canMark: boolean;
  marked: boolean;
}

function blocksOf(bytes: Uint8Array, list: Span): Block[] {
  const found = records(bytes, list.start, ["type", "text", "cache_control", "content"]);
  return Array.from(found, ({ start, fields }) => {
    const type = optionalString(bytes, fields?.type) ?? "";
    const empty = type === "text" && (fields?.text === undefined || isEmpty(fields.text));
    const canMark = fields !== undefined && type !== "thinking" && type !== "redacted_thinking" && !empty;
    return { start, content: fields?.content, canMark, marked: given(bytes, fields?.cache_control) };
  });
}

function blockAt(bytes: Uint8Array, content: Span, path: readonly number[] | undefined): Block | undefined {
  if (path === undefined) return undefined;
  let list: Span | undefined = content;
  let block: Block | undefined;
  for (const index of path) {
    const inner: Block | undefined =
      list !== undefined && kindOf(bytes, list.start) === "array" ? blocksOf(bytes, list)[index] : undefined;
    if (inner === undefined || !inner.canMark) break; // what stands around it takes the mark
    block = inner;
    list = inner.content;
  }
  return block;
}

function isEmpty({ start, end }: Span): boolean {
  return end - start === 2;
}

function objectMark(bytes: Uint8Array, start: number, control: Uint8Array): Edit[] {
  const old = pick(bytes, start, ["cache_control"]).cache_control;
  return [
    old === undefined ? memberAddition(bytes, start, "cache_control", control) : { ...old, bytes: control },
  ];
}

/** A text becomes a list of one block; its own bytes stay where they are. */
function textMark({ start, end }: Span, control: Uint8Array): Edit[] {
  const close = utf8Bytes(`,"cache_control":${rawText(control, 0, control.length)}}]`);
  return [
    { start, end: start, bytes: utf8Bytes('[{"type":"text","text":') },
    { start: end, end, bytes: close },
  ];
}

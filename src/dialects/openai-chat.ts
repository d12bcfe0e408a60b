/**
 * The OpenAI Chat Completions dialect: edits and rendering of its messages. Reading is in `openai-read.ts`.
 */
import { applyEdits, type Edit, jsonString, memberRemovals, utf8Bytes } from "../log/json-edit.ts";
import { decodeString, elements, kindOf, pick, root, type Span } from "../log/scanner.ts";
import type { Dialect, MediaPart, RenderItem } from "./dialect.ts";
import {
  contentEdit,
  edited,
  noteEdit,
  type Rewrite,
  rewriteJsonText,
  stringEdits,
  withoutCacheMarks,
} from "./edits.ts";
import { optionalString, typedText } from "./fields.ts";
import {
  isEmptyArray,
  isOpenAiMedia,
  openAiFields,
  openAiMending,
  readMedia,
  readOpenAi,
} from "./openai-read.ts";

const nothing = new Uint8Array(0);

function rewriteResults(
  bytes: Uint8Array,
  rewrite: Parameters<Dialect["rewriteResults"]>[1],
): Uint8Array | undefined {
  const message = readOpenAi(bytes, "message");
  const result = message.parts.find((part) => part.type === "result");
  if (result === undefined) return undefined;
  const next = rewrite({ index: 0, call: result.call, content: result.content });
  if (next === undefined) return undefined;
  const owner = { start: root(bytes), content: openAiFields(bytes).content, old: result.content };
  const edit = contentEdit(bytes, owner, next);
  return edit === undefined ? undefined : edited(bytes, [edit]);
}

function rewriteArguments(bytes: Uint8Array, rewrite: Rewrite): Uint8Array | undefined {
  const calls = openAiFields(bytes).tool_calls;
  if (calls === undefined || kindOf(bytes, calls.start) !== "array") return undefined;
  const edits: Edit[] = [];
  for (const call of elements(bytes, calls.start)) {
    const { function: fn, custom } = pick(bytes, call.start, ["function", "custom"]);
    const next = callText(bytes, fn, custom, rewrite);
    if (next !== undefined) edits.push(next);
  }
  return edited(bytes, edits);
}

/**
 * The edit of one call: JSON arguments keep their form around the rewritten strings, a custom input is one
 * string.
 */
function callText(
  bytes: Uint8Array,
  fn: Span | undefined,
  custom: Span | undefined,
  rewrite: Rewrite,
): Edit | undefined {
  if (custom !== undefined && kindOf(bytes, custom.start) === "object") {
    const { input } = pick(bytes, custom.start, ["input"]);
    return input === undefined ? undefined : stringEdits(bytes, input, rewrite)[0];
  }
  if (fn === undefined || kindOf(bytes, fn.start) !== "object") return undefined;
  const { arguments: args } = pick(bytes, fn.start, ["arguments"]);
  if (args === undefined || kindOf(bytes, args.start) !== "string") return undefined;
  const next = rewriteJsonText(decodeString(bytes, args.start, args.end), rewrite);
  return next === undefined ? undefined : { start: args.start, end: args.end, bytes: jsonString(next) };
}

function withoutMedia(bytes: Uint8Array, note: (media: MediaPart) => string): Uint8Array | undefined {
  const { content } = openAiFields(bytes);
  if (content === undefined || kindOf(bytes, content.start) !== "array") return undefined;
  const edits: Edit[] = [];
  for (const block of elements(bytes, content.start)) {
    const type = optionalString(bytes, pick(bytes, block.start, ["type"]).type);
    if (type === undefined || !isOpenAiMedia(type)) continue;
    edits.push(noteEdit(block, note(readMedia(bytes, block, type))));
  }
  return edited(bytes, edits);
}

/** An assistant message as the API takes it; zero bytes when it says nothing. */
function mended(bytes: Uint8Array): Uint8Array {
  const fields = openAiFields(bytes);
  const need = openAiMending(bytes, fields);
  if (need === "none") return bytes;
  if (need === "drop") return nothing;
  const { content, tool_calls: calls } = fields;
  const edits: Edit[] = [];
  if (calls !== undefined && (kindOf(bytes, calls.start) === "null" || isEmptyArray(bytes, calls))) {
    for (const edit of memberRemovals(bytes, root(bytes), "tool_calls")) edits.push(edit);
  }
  if (content !== undefined && isEmptyArray(bytes, content)) {
    edits.push({ start: content.start, end: content.end, bytes: utf8Bytes("null") });
  }
  return applyEdits(bytes, edits);
}

function render(items: readonly RenderItem[]): Uint8Array[] {
  return items
    .map((item) => (item.mend && item.bytes.length > 0 ? mended(item.bytes) : item.bytes))
    .filter((bytes) => bytes.length > 0);
}

export const openAiChat: Dialect = {
  name: "openai-chat",
  read: readOpenAi,
  withoutCacheMarks,
  rewriteResults,
  rewriteArguments,
  withoutMedia,
  // Reasoning of these servers is not bound to its prefix, and some require it back (providers.md 1.1).
  withoutThinking: () => undefined,
  render,
  userText: (text) => utf8Bytes(`{"role":"user","content":${JSON.stringify(text)}}`),
  closedResult: (call, text) =>
    utf8Bytes(`{"role":"tool","tool_call_id":${JSON.stringify(call)},"content":${JSON.stringify(text)}}`),
  typedText,
};

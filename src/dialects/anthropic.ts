/** The Anthropic Messages dialect: its edits. Reading and rendering are in the files beside. */
import { type Edit, utf8Bytes } from "../log/json-edit.ts";
import { mediaOf } from "./anthropic-blocks.ts";
import { contentBlocks, isThinking, readAnthropic, resultContent } from "./anthropic-read.ts";
import { renderAnthropic, withoutBlocks } from "./anthropic-render.ts";
import type { Dialect, MediaPart } from "./dialect.ts";
import { contentEdit, edited, noteEdit, type Rewrite, stringEdits, withoutCacheMarks } from "./edits.ts";
import { optionalString, typedText } from "./fields.ts";

function rewriteResults(
  bytes: Uint8Array,
  rewrite: Parameters<Dialect["rewriteResults"]>[1],
): Uint8Array | undefined {
  const edits: Edit[] = [];
  const results = contentBlocks(bytes).filter((block) => block.type === "tool_result");
  results.forEach(({ start, fields: { tool_use_id: id, content } }, index) => {
    const old = resultContent(bytes, content, "content");
    const next = rewrite({ index, call: optionalString(bytes, id) ?? "", content: old });
    const edit = next === undefined ? undefined : contentEdit(bytes, { start, content, old }, next);
    if (edit !== undefined) edits.push(edit);
  });
  return edited(bytes, edits);
}

function rewriteArguments(bytes: Uint8Array, rewrite: Rewrite): Uint8Array | undefined {
  const edits: Edit[] = [];
  for (const block of contentBlocks(bytes)) {
    if (block.type !== "tool_use") continue;
    const { input } = block.fields;
    if (input === undefined) continue;
    for (const edit of stringEdits(bytes, input, rewrite)) edits.push(edit);
  }
  return edited(bytes, edits);
}

function withoutMedia(bytes: Uint8Array, note: (media: MediaPart) => string): Uint8Array | undefined {
  const edits: Edit[] = [];
  for (const block of contentBlocks(bytes)) {
    const media = mediaOf(bytes, block, "content");
    if (media !== undefined) edits.push(noteEdit(block, note(media)));
  }
  return edited(bytes, edits);
}

/**
 * Thinking is bound to what stood before it (providers.md 0.1): once that is replaced it must go, whole
 * blocks at a time.
 */
function withoutThinking(bytes: Uint8Array): Uint8Array | undefined {
  const blocks = contentBlocks(bytes);
  if (!blocks.some((block) => isThinking(block.type))) return undefined;
  return withoutBlocks(bytes, blocks, (block) => isThinking(block.type));
}

export const anthropic: Dialect = {
  name: "anthropic",
  read: readAnthropic,
  withoutCacheMarks,
  rewriteResults,
  rewriteArguments,
  withoutMedia,
  withoutThinking,
  render: renderAnthropic,
  userText: (text) => utf8Bytes(`{"role":"user","content":${JSON.stringify(text)}}`),
  closedResult: (call, text) => {
    const result = { type: "tool_result", tool_use_id: call, content: text, is_error: true };
    return utf8Bytes(JSON.stringify({ role: "user", content: [result] }));
  },
  typedText,
};

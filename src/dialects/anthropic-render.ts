/**
 * What Anthropic Messages wants of a message list and a client's bytes may lack: results of one call group
 * in one user message and before its other blocks, no empty texts, no thinking at the end of a message. All
 * else goes out as it came.
 */
import { applyEdits, concat, type Edit, elementRemovals, utf8Bytes } from "../log/json-edit.ts";
import { decodeString, kindOf, pick, root, type Span } from "../log/scanner.ts";
import type { Block } from "./anthropic-blocks.ts";
import { contentBlocks, isBlank, isEmptyText, isThinking, resultContent } from "./anthropic-read.ts";
import type { RenderItem } from "./dialect.ts";
import { jsonArray } from "./edits.ts";

const nothing = new Uint8Array(0);

function contentOf(bytes: Uint8Array): Span | undefined {
  return pick(bytes, root(bytes), ["content"]).content;
}

/** Whether a block is a text that the API would refuse. */
function isBlankBlock(bytes: Uint8Array, block: Block): boolean {
  if (block.type !== "text") return false;
  const { text } = block.fields;
  return text !== undefined && isBlank(decodeString(bytes, text.start, text.end));
}

/**
 * The message without the blocks for which `drop` says so; zero bytes when no block that says something
 * would be left.
 */
export function withoutBlocks(
  bytes: Uint8Array,
  blocks: readonly Block[],
  drop: (block: Block, index: number) => boolean,
): Uint8Array {
  const content = contentOf(bytes);
  const dropped = blocks.map(drop);
  if (content === undefined || blocks.every((block, i) => dropped[i] || isBlankBlock(bytes, block))) {
    return nothing;
  }
  return applyEdits(
    bytes,
    elementRemovals(bytes, content.start, (_, index) => dropped[index] === true),
  );
}

/** An assistant message without blank texts and without thinking behind its last other block. */
function mendedReply(bytes: Uint8Array): Uint8Array {
  const content = contentOf(bytes);
  if (content !== undefined && kindOf(bytes, content.start) === "string") {
    return isBlank(decodeString(bytes, content.start, content.end)) ? nothing : bytes;
  }
  const blocks = contentBlocks(bytes);
  const blank = blocks.map((block) => isBlankBlock(bytes, block));
  const last = blocks.findLastIndex((block, i) => !blank[i] && !isThinking(block.type));
  return withoutBlocks(bytes, blocks, (_, i) => blank[i] === true || i > last);
}

/** A message with results without the empty text blocks inside them. */
function mendedResults(bytes: Uint8Array): Uint8Array {
  const edits: Edit[] = [];
  for (const block of contentBlocks(bytes)) {
    if (block.type !== "tool_result") continue;
    const { content } = block.fields;
    if (content === undefined || kindOf(bytes, content.start) !== "array") continue;
    const empty = resultContent(bytes, content, "content").map(isEmptyText);
    for (const edit of elementRemovals(bytes, content.start, (_, i) => empty[i] === true)) edits.push(edit);
  }
  return applyEdits(bytes, edits);
}

function mended({ role, bytes, mend }: RenderItem): Uint8Array {
  if (!mend || bytes.length === 0) return bytes;
  return role === "tool" ? mendedResults(bytes) : mendedReply(bytes);
}

/** One user message of all results first, then all other blocks, each as its raw bytes. */
function merged(messages: readonly Uint8Array[]): Uint8Array {
  const results: Uint8Array[] = [];
  const others: Uint8Array[] = [];
  for (const bytes of messages) {
    for (const { start, end, type } of contentBlocks(bytes)) {
      (type === "tool_result" ? results : others).push(bytes.subarray(start, end));
    }
  }
  const content = jsonArray([...results, ...others]);
  return concat([utf8Bytes('{"role":"user","content":'), content, utf8Bytes("}")]);
}

/** Whether a result stands behind another block. */
function isDisordered(bytes: Uint8Array): boolean {
  const results = contentBlocks(bytes).map((block) => block.type === "tool_result");
  const other = results.indexOf(false);
  return other >= 0 && results.lastIndexOf(true) > other;
}

/** See `Dialect.render`. */
export function renderAnthropic(items: readonly RenderItem[]): Uint8Array[] {
  const out: Uint8Array[] = [];
  let group: Uint8Array[] = [];
  let disorder = false;
  const flush = () => {
    const [first, ...more] = group;
    if (first !== undefined) out.push(more.length === 0 && !disorder ? first : merged(group));
    group = [];
    disorder = false;
  };
  for (const item of items) {
    const bytes = mended(item);
    if (bytes.length === 0) continue;
    if (item.role === "tool") {
      group.push(bytes);
      if (item.mend) disorder ||= isDisordered(bytes);
    } else {
      flush();
      out.push(bytes);
    }
  }
  flush();
  return out;
}

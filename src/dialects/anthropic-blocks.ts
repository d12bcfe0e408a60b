/**
 * Reads content blocks of Anthropic Messages that are neither calls, results nor thinking (`@anthropic-
 * ai/sdk` 1.14, resources/messages): texts, media, documents, search results, and blocks that only the
 * server understands.
 */
import { type Fields, kindOf, pick, records, type Span } from "../log/scanner.ts";
import type { ContentPart } from "./dialect.ts";
import {
  attachedText,
  badMessage,
  given,
  mediaPart,
  opaqueParts,
  optionalString,
  requireName,
  requireObject,
  requireString,
  textPart,
} from "./fields.ts";

/** Part types of OpenAI Chat: a message that holds one was meant for the other dialect. */
const foreignBlocks = /^(image_url|input_audio|input_text|output_text|input_image|input_file|file|refusal)$/;
const mediaBlocks = /^(image|document|container_upload)$/;

const fieldNames = [
  "type",
  "text",
  "thinking",
  "id",
  "name",
  "input",
  "tool_use_id",
  "is_error",
  "content",
  "source",
  "title",
  "context",
] as const;

/** One block of a content, with the spans of the fields that any reader asks for: found in one pass. */
export interface Block extends Span {
  type: string;
  fields: Fields<(typeof fieldNames)[number]>;
}

/**
 * The blocks of an array content with their types, in order. Refuses what is no block, and OpenAI's parts.
 */
export function* blocksOf(bytes: Uint8Array, content: Span, at: string): Generator<Block, void> {
  if (kindOf(bytes, content.start) !== "array")
    throw badMessage("`content` must be a string or an array.", at);
  let index = 0;
  for (const { start, end, fields } of records(bytes, content.start, fieldNames)) {
    const place = `${at}[${index++}]`;
    if (fields === undefined) throw badMessage("An object is required here.", place);
    const type = requireName(bytes, fields.type, `${place}.type`);
    if (foreignBlocks.test(type)) {
      throw badMessage(
        "This block belongs to the openai-chat dialect; the session speaks anthropic.",
        `${place}.type`,
      );
    }
    yield { start, end, type, fields };
  }
}

/** The parts of one block: its text or its media; a document or an opaque block may hold both. */
export function blockParts(bytes: Uint8Array, block: Block, at: string): ContentPart[] {
  const { text, source, title, content } = block.fields;
  switch (block.type) {
    case "text":
      return [textPart(requireString(bytes, text, `${at}.text`))];
    case "image":
      return [mediaPart(sourceType(bytes, source), "image")];
    case "container_upload":
      return [mediaPart(undefined, "file")];
    case "document":
      return documentParts(bytes, block, at);
    case "search_result": {
      const inner = given(bytes, content) ? innerParts(bytes, content, `${at}.content`) : [];
      const texts = inner.map((part) => (part.type === "text" ? part.text : part.note));
      return [attachedText([optionalString(bytes, title), optionalString(bytes, source), ...texts])];
    }
    default:
      return opaqueParts(bytes, block);
  }
}

/**
 * One part for one block of a result, so that indexes of parts are indexes of blocks. Text outweighs media.
 */
export function resultPart(bytes: Uint8Array, block: Block, at: string): ContentPart {
  const parts = blockParts(bytes, block, at);
  return parts.find((part) => part.type === "text") ?? parts[0] ?? textPart("");
}

/** The media of a block that a text note can stand in for, else nothing. */
export function mediaOf(
  bytes: Uint8Array,
  block: Block,
  at: string,
): (ContentPart & { type: "media" }) | undefined {
  if (!mediaBlocks.test(block.type)) return undefined;
  const [only, ...more] = blockParts(bytes, block, at);
  return only?.type === "media" && more.length === 0 ? only : undefined;
}

function sourceType(bytes: Uint8Array, source: Span | undefined): string | undefined {
  if (source === undefined || kindOf(bytes, source.start) !== "object") return undefined;
  return optionalString(bytes, pick(bytes, source.start, ["media_type"]).media_type);
}

/** A document is text where its source is text or blocks, else media (base64, url, file). */
function documentParts(bytes: Uint8Array, block: Block, at: string): ContentPart[] {
  const { source, title, context } = block.fields;
  if (source === undefined) return [mediaPart(undefined, "document")];
  requireObject(bytes, source.start, `${at}.source`);
  const { type, data, content } = pick(bytes, source.start, ["type", "data", "content"]);
  const head = [optionalString(bytes, title), optionalString(bytes, context)];
  switch (optionalString(bytes, type)) {
    case "text":
      return [attachedText([...head, optionalString(bytes, data)])];
    case "content": {
      if (!given(bytes, content)) return [attachedText(head)];
      const inner = innerParts(bytes, content, `${at}.source.content`);
      const texts = inner.map((part) => (part.type === "text" ? part.text : ""));
      return [attachedText([...head, ...texts]), ...inner.filter((part) => part.type === "media")];
    }
    default:
      return [mediaPart(sourceType(bytes, source), "document")];
  }
}

/** Texts and images inside a search result or a document. */
function innerParts(bytes: Uint8Array, content: Span, at: string): ContentPart[] {
  if (kindOf(bytes, content.start) === "string") return [textPart(requireString(bytes, content, at))];
  const parts: ContentPart[] = [];
  let index = 0;
  for (const block of blocksOf(bytes, content, at)) {
    const flat = block.type === "text" || block.type === "image";
    const place = `${at}[${index++}]`;
    for (const part of flat ? blockParts(bytes, block, place) : opaqueParts(bytes, block)) parts.push(part);
  }
  return parts;
}

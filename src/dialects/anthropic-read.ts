/** Reads Anthropic Messages (`@anthropic-ai/sdk` 1.14, resources/messages): one native message into parts. */
import { kindOf, pick, rawText, root, type Span } from "../log/scanner.ts";
import { type Block, blockParts, blocksOf, resultPart } from "./anthropic-blocks.ts";
import type { ContentPart, NativeMessage, Part, Role } from "./dialect.ts";
import {
  addUnique,
  badMessage,
  given,
  optionalString,
  requireName,
  requireObject,
  requireString,
  textPart,
} from "./fields.ts";

const foreignFields = ["tool_calls", "tool_call_id", "function_call", "reasoning_content"] as const;
const foreignRoles = /^(tool|developer|function)$/;

interface Draft {
  role: "user" | "assistant" | "system";
  parts: Part[];
  calls: Set<string>;
  results: string[];
  mend: boolean;
  restarts: boolean;
}

/** A text that the API refuses as a block: empty, or nothing but whitespace. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** See `Dialect.read`. A user message that holds a tool result has role `tool`. */
export function readAnthropic(bytes: Uint8Array, at: string): NativeMessage {
  const start = root(bytes);
  requireObject(bytes, start, at);
  const fields = pick(bytes, start, ["role", "content", ...foreignFields]);
  for (const name of foreignFields) {
    if (!given(bytes, fields[name])) continue;
    throw badMessage(
      "This field belongs to the openai-chat dialect; the session speaks anthropic.",
      `${at}.${name}`,
    );
  }
  const draft: Draft = {
    role: readRole(requireName(bytes, fields.role, `${at}.role`), `${at}.role`),
    parts: [],
    calls: new Set(),
    results: [],
    mend: false,
    restarts: false,
  };
  readContent(bytes, fields.content, `${at}.content`, draft);
  const role: Role = draft.results.length > 0 ? "tool" : draft.role;
  const { parts, results, mend, restarts } = draft;
  return { role, parts, calls: [...draft.calls], results, mend, ...(restarts && { restarts }) };
}

function readRole(role: string, at: string): Draft["role"] {
  if (role === "user" || role === "assistant" || role === "system") return role;
  if (foreignRoles.test(role)) {
    throw badMessage("This role belongs to the openai-chat dialect; the session speaks anthropic.", at);
  }
  throw badMessage("`role` must be user, assistant or system.", at);
}

function readContent(bytes: Uint8Array, content: Span | undefined, at: string, draft: Draft): void {
  if (!given(bytes, content)) throw badMessage("A message needs a content.", at);
  if (kindOf(bytes, content.start) === "string") {
    takeText(requireString(bytes, content, at), at, draft);
    return;
  }
  let index = 0;
  let last = "";
  for (const block of blocksOf(bytes, content, at)) {
    if (index === 0) draft.restarts = isRestart(bytes, block, draft);
    readBlock(bytes, block, `${at}[${index++}]`, draft);
    // Results stand before all other blocks of their message (providers.md 1.3).
    if (block.type === "tool_result" && index > draft.results.length) draft.mend = true;
    last = block.type;
  }
  if (index === 0) emptyText("The content is empty.", at, draft);
  if (isThinking(last)) draft.mend = true;
}

/** A compaction that failed has no content and changes nothing. */
function isRestart(bytes: Uint8Array, { type, fields }: Block, { role }: Draft): boolean {
  return type === "compaction" && role === "assistant" && given(bytes, fields.content);
}

export function isThinking(type: string): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function takeText(text: string, at: string, draft: Draft): void {
  if (isBlank(text)) emptyText("A text must hold more than whitespace.", at, draft);
  draft.parts.push(textPart(text));
}

/** Nobody can say what an empty user text meant; of a model's own reply rendering drops what is empty. */
function emptyText(detail: string, at: string, draft: Draft): void {
  if (draft.role !== "assistant") throw badMessage(detail, at);
  draft.mend = true;
}

function readBlock(bytes: Uint8Array, block: Block, at: string, draft: Draft): void {
  if (draft.role === "system" && block.type !== "text") {
    throw badMessage("A system message holds text only.", `${at}.type`);
  }
  switch (block.type) {
    case "text":
      for (const part of blockParts(bytes, block, at)) {
        if (part.type === "text") takeText(part.text, `${at}.text`, draft);
      }
      return;
    case "thinking":
    case "redacted_thinking": {
      if (draft.role !== "assistant")
        throw badMessage("Thinking belongs into assistant messages.", `${at}.type`);
      const { thinking } = block.fields;
      const text = block.type === "thinking" ? (optionalString(bytes, thinking) ?? "") : "";
      draft.parts.push({ type: "thinking", text });
      return;
    }
    case "tool_use":
      readCall(bytes, block, at, draft);
      return;
    case "tool_result":
      readResult(bytes, block, at, draft);
      return;
    default:
      for (const part of blockParts(bytes, block, at)) draft.parts.push(part);
  }
}

/** Ids match `^[a-zA-Z0-9_-]+$` (providers.md 1.3). */
function requireId(bytes: Uint8Array, span: Span | undefined, at: string): string {
  const id = requireName(bytes, span, at);
  if (!/^[a-zA-Z0-9_-]+$/.test(id))
    throw badMessage("A tool id holds letters, digits, `_` and `-` only.", at);
  return id;
}

function readCall(bytes: Uint8Array, block: Block, at: string, draft: Draft): void {
  if (draft.role !== "assistant") throw badMessage("A call belongs into an assistant message.", `${at}.type`);
  const { fields } = block;
  const id = requireId(bytes, fields.id, `${at}.id`);
  addUnique(draft.calls, id, `${at}.id`);
  const name = requireName(bytes, fields.name, `${at}.name`);
  if (!given(bytes, fields.input)) throw badMessage("A call needs an input.", `${at}.input`);
  draft.parts.push({ type: "call", id, name, args: rawText(bytes, fields.input.start, fields.input.end) });
}

function readResult(bytes: Uint8Array, block: Block, at: string, draft: Draft): void {
  if (draft.role !== "user") throw badMessage("A result belongs into a user message.", `${at}.type`);
  const { fields } = block;
  const call = requireId(bytes, fields.tool_use_id, `${at}.tool_use_id`);
  const content = resultContent(bytes, fields.content, `${at}.content`);
  const isArray = fields.content !== undefined && kindOf(bytes, fields.content.start) === "array";
  if (isArray && content.some(isEmptyText)) draft.mend = true;
  const error = fields.is_error !== undefined && bytes[fields.is_error.start] === 0x74; // `true`
  draft.results.push(call);
  draft.parts.push({ type: "result", call, content, error });
}

/**
 * An empty text block inside a result is refused like any other, but a tool that printed nothing is no
 * mistake.
 */
export function isEmptyText(part: ContentPart): boolean {
  return part.type === "text" && part.attached !== true && part.text === "";
}

/** Content of a result, one part per block; a string is one text, none is nothing. */
export function resultContent(bytes: Uint8Array, content: Span | undefined, at: string): ContentPart[] {
  if (!given(bytes, content)) return [];
  if (kindOf(bytes, content.start) === "string") return [textPart(requireString(bytes, content, at))];
  const parts: ContentPart[] = [];
  for (const block of blocksOf(bytes, content, at)) {
    parts.push(resultPart(bytes, block, `${at}[${parts.length}]`));
  }
  return parts;
}

/** The blocks of a message that was read before; none where the content is a string. */
export function contentBlocks(bytes: Uint8Array): Block[] {
  const { content } = pick(bytes, root(bytes), ["content"]);
  if (content === undefined || kindOf(bytes, content.start) !== "array") return [];
  return [...blocksOf(bytes, content, "content")];
}

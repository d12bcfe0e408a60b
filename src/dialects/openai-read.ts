/**
 * Reads OpenAI Chat Completions messages (`openai` 7.59, resources/chat/completions): one native message
 * into parts. Servers that speak this shape add `reasoning_content` or `reasoning`, and `video_url` and
 * `audio_url` parts.
 */
import { elements, type Fields, kindOf, pick, records, root, type Span } from "../log/scanner.ts";
import type { ContentPart, NativeMessage, Part, Role } from "./dialect.ts";
import {
  addUnique,
  badMessage,
  dataUrlType,
  given,
  mediaPart,
  opaqueParts,
  optionalString,
  requireName,
  requireObject,
  requireString,
  textPart,
} from "./fields.ts";

const roles: ReadonlyMap<string, Role> = new Map([
  ["developer", "system"],
  ["system", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["tool", "tool"],
]);

const messageFields = [
  "role",
  "content",
  "refusal",
  "tool_calls",
  "function_call",
  "tool_call_id",
  "reasoning_content",
  "reasoning",
  "audio",
] as const;
type MessageFields = Fields<(typeof messageFields)[number]>;

const blockFields = ["type", "text", "refusal", "signature"] as const;
type Block = Span & { fields: Fields<(typeof blockFields)[number]> | undefined };

/** Block types of Anthropic Messages: a message that holds one was meant for the other dialect. */
const foreignBlocks =
  /^(tool_use|tool_result|server_tool_use|.*_tool_result|redacted_thinking|image|document|search_result)$/;
const mediaTypes: ReadonlySet<string> = new Set([
  "image_url",
  "input_audio",
  "file",
  "video_url",
  "audio_url",
]);

/** Fields of a message object, the last of each name. */
export function openAiFields(bytes: Uint8Array): MessageFields {
  return pick(bytes, root(bytes), messageFields);
}

/** See `Dialect.read`. */
export function readOpenAi(bytes: Uint8Array, at: string): NativeMessage {
  requireObject(bytes, root(bytes), at);
  const fields = openAiFields(bytes);
  const native = requireName(bytes, fields.role, `${at}.role`);
  if (native === "function") {
    throw badMessage("The deprecated role `function` is not supported: send tool messages.", `${at}.role`);
  }
  const role = roles.get(native);
  if (role === undefined) {
    throw badMessage("`role` must be developer, system, user, assistant or tool.", `${at}.role`);
  }
  if (role === "assistant") return readAssistant(bytes, fields, at);
  if (role === "tool") return readTool(bytes, fields, at);
  const parts = readContent(bytes, fields.content, `${at}.content`);
  if (role === "user" && parts.every((part) => part.type === "text" && part.text === "")) {
    throw badMessage("A user message needs a text or a file.", `${at}.content`);
  }
  return { role, parts, calls: [], results: [], mend: false };
}

function readTool(bytes: Uint8Array, fields: MessageFields, at: string): NativeMessage {
  const call = requireName(bytes, fields.tool_call_id, `${at}.tool_call_id`);
  const place = `${at}.content`;
  if (!given(bytes, fields.content)) throw badMessage("A tool message needs a content.", place);
  const content = readContent(bytes, fields.content, place);
  const other = content.findIndex((part) => part.type !== "text" || part.attached === true);
  if (other >= 0) throw badMessage("A tool message holds text only.", `${place}[${other}].type`);
  return {
    role: "tool",
    parts: [{ type: "result", call, content, error: false }],
    calls: [],
    results: [call],
    mend: false,
  };
}

function readAssistant(bytes: Uint8Array, fields: MessageFields, at: string): NativeMessage {
  if (given(bytes, fields.function_call)) {
    throw badMessage(
      "The deprecated `function_call` is not supported: use `tool_calls`.",
      `${at}.function_call`,
    );
  }
  const parts: Part[] = [];
  const thinking = optionalString(bytes, fields.reasoning_content) ?? optionalString(bytes, fields.reasoning);
  if (thinking !== undefined) parts.push({ type: "thinking", text: thinking });
  for (const part of readContent(bytes, fields.content, `${at}.content`)) parts.push(part);
  const refusal = optionalString(bytes, fields.refusal);
  if (refusal !== undefined) parts.push(textPart(refusal));
  if (given(bytes, fields.audio)) parts.push(mediaPart(undefined, "audio"));
  const calls = readCalls(bytes, fields.tool_calls, `${at}.tool_calls`, parts);
  return { role: "assistant", parts, calls, results: [], mend: openAiMending(bytes, fields) !== "none" };
}

/** Content as parts, one per block; a string is one text. Absent and null are no parts. */
function readContent(bytes: Uint8Array, content: Span | undefined, at: string): ContentPart[] {
  if (!given(bytes, content)) return [];
  const kind = kindOf(bytes, content.start);
  if (kind === "string") return [textPart(requireString(bytes, content, at))];
  if (kind !== "array") throw badMessage("`content` must be a string or an array.", at);
  const parts: ContentPart[] = [];
  for (const block of records(bytes, content.start, blockFields)) {
    parts.push(readBlock(bytes, block, `${at}[${parts.length}]`));
  }
  return parts;
}

function readBlock(bytes: Uint8Array, block: Block, at: string): ContentPart {
  const { fields } = block;
  if (fields === undefined) throw badMessage("An object is required here.", at);
  const type = requireName(bytes, fields.type, `${at}.type`);
  if (type === "text") return textPart(requireString(bytes, fields.text, `${at}.text`));
  if (type === "refusal") return textPart(requireString(bytes, fields.refusal, `${at}.refusal`));
  if (mediaTypes.has(type)) return readMedia(bytes, block, type);
  // Some servers speak of `thinking` in this shape too, but only Anthropic's is signed.
  if (foreignBlocks.test(type) || (type === "thinking" && given(bytes, fields.signature))) {
    throw badMessage(
      "This block belongs to the anthropic dialect; the session speaks openai-chat.",
      `${at}.type`,
    );
  }
  return opaqueParts(bytes, block)[0] ?? textPart("");
}

/** True for block types that a text note can stand in for. */
export function isOpenAiMedia(type: string): boolean {
  return mediaTypes.has(type);
}

export function readMedia(bytes: Uint8Array, block: Span, type: string): ContentPart & { type: "media" } {
  const holder = pick(bytes, block.start, ["image_url", "input_audio", "file", "video_url", "audio_url"]);
  const inner = holder[type as keyof typeof holder];
  const isObject = inner !== undefined && kindOf(bytes, inner.start) === "object";
  const { url, file_data, format } = isObject ? pick(bytes, inner.start, ["url", "file_data", "format"]) : {};
  const audio = optionalString(bytes, format);
  const mediaType = audio === undefined ? dataUrlType(bytes, url ?? file_data) : `audio/${audio}`;
  return mediaPart(mediaType, fallbackOf(type));
}

function fallbackOf(type: string): string {
  return type.replace(/^input_|_url$/g, "");
}

/** Calls of an assistant message, appended to `parts`; answers their ids. */
function readCalls(bytes: Uint8Array, calls: Span | undefined, at: string, parts: Part[]): string[] {
  const ids = new Set<string>();
  if (!given(bytes, calls)) return [];
  if (kindOf(bytes, calls.start) !== "array") throw badMessage("`tool_calls` must be an array.", at);
  for (const { fields } of records(bytes, calls.start, ["id", "function", "custom"])) {
    const place = `${at}[${ids.size}]`;
    if (fields === undefined) throw badMessage("An object is required here.", place);
    const id = requireName(bytes, fields.id, `${place}.id`);
    addUnique(ids, id, `${place}.id`);
    const custom = given(bytes, fields.custom);
    const body = custom ? fields.custom : fields.function;
    const inside = `${place}.${custom ? "custom" : "function"}`;
    if (!given(bytes, body)) throw badMessage("A call needs `function` or `custom`.", place);
    requireObject(bytes, body.start, inside);
    const { name, arguments: args, input } = pick(bytes, body.start, ["name", "arguments", "input"]);
    parts.push({
      type: "call",
      id,
      name: requireName(bytes, name, `${inside}.name`),
      args: custom
        ? requireString(bytes, input, `${inside}.input`)
        : requireString(bytes, args, `${inside}.arguments`),
    });
  }
  return [...ids];
}

/**
 * What an assistant message needs before the API takes it: nothing; its empty arrays mended (`[]` is refused
 * for `content` and for `tool_calls`, and so is a null `tool_calls`); or to be left out, because it says
 * nothing.
 */
export function openAiMending(bytes: Uint8Array, fields: MessageFields): "none" | "arrays" | "drop" {
  const { content, tool_calls: calls, refusal, audio } = fields;
  const hasCalls = given(bytes, calls) && !isEmptyArray(bytes, calls);
  const speaks = given(bytes, audio) || (optionalString(bytes, refusal) ?? "") !== "";
  if (!hasCalls && !speaks && saysNothing(bytes, content)) return "drop";
  const emptyCalls = calls !== undefined && !hasCalls;
  const emptyContent = content !== undefined && isEmptyArray(bytes, content);
  return emptyCalls || emptyContent ? "arrays" : "none";
}

export function isEmptyArray(bytes: Uint8Array, span: Span): boolean {
  return kindOf(bytes, span.start) === "array" && elements(bytes, span.start).next().done === true;
}

/** Read off the spans: a text says something when it is longer than its two quotes. */
function saysNothing(bytes: Uint8Array, content: Span | undefined): boolean {
  if (!given(bytes, content)) return true;
  if (kindOf(bytes, content.start) === "string") return content.end - content.start <= 2;
  for (const { fields } of records(bytes, content.start, ["text", "refusal"])) {
    const words = fields?.text ?? fields?.refusal;
    if (words === undefined || words.end - words.start > 2) return false;
  }
  return true;
}

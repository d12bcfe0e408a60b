/**
 * Reads OpenAI Responses (`openai` 7.59, resources/responses): one input or output item into parts. A reply
 * of this dialect is several items in a row; how they belong together is `order.ts`'s business.
 */
import { type Fields, kindOf, pick, rawText, records, root, type Span } from "../log/scanner.ts";
import type { ContentPart, MediaPart, NativeMessage, Part, Role } from "./dialect.ts";
import {
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
import { type CallType, callTypes, clientTypes, mediaTypes, outputTypes } from "./responses-types.ts";

const itemFields = [
  "type",
  "role",
  "id",
  "call_id",
  "name",
  "arguments",
  "input",
  "action",
  "actions",
  "operation",
  "output",
  "status",
  "execution",
  "summary",
  "content",
  "result",
  "tool_calls",
  "tool_call_id",
  "function_call",
] as const;
export type ItemFields = Fields<(typeof itemFields)[number]>;

const blockFields = [
  "type",
  "text",
  "refusal",
  "transcript",
  "image_url",
  "file_data",
  "stdout",
  "stderr",
] as const;
export type ItemBlock = Span & { fields: Fields<(typeof blockFields)[number]> | undefined };

/** Block types of the other two dialects. */
const foreignBlocks =
  /^(text|image_url|file|tool_use|tool_result|server_tool_use|image|document|search_result|thinking|redacted_thinking)$/;

const roles: ReadonlyMap<string, Role> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["developer", "system"],
]);

/** Members of an item, the last of each name. */
export function fieldsOfItem(bytes: Uint8Array): ItemFields {
  return pick(bytes, root(bytes), itemFields);
}

/** The type of an item; a message may leave its own out. */
export function typeOfItem(bytes: Uint8Array, fields: ItemFields): string {
  return optionalString(bytes, fields.type) ?? "message";
}

/** See `Dialect.read`. */
export function readResponses(bytes: Uint8Array, at: string): NativeMessage {
  requireObject(bytes, root(bytes), at);
  const fields = fieldsOfItem(bytes);
  const type = given(bytes, fields.type) ? requireName(bytes, fields.type, `${at}.type`) : "message";
  const call = callTypes.get(type);
  if (call !== undefined && isOurs(bytes, fields)) return readCall(bytes, fields, call, at);
  if (outputTypes.has(type) && isOurs(bytes, fields)) return readOutput(bytes, fields, type, at);
  switch (type) {
    case "message":
      return readMessage(bytes, fields, at);
    case "reasoning":
      return assistantItem([{ type: "thinking", text: reasoningText(bytes, fields) }]);
    case "compaction":
      return { ...assistantItem(opaqueParts(bytes, whole(bytes), anyMedia)), restarts: true };
    case "item_reference":
      throw badMessage(
        "An item_reference names an item that is not here: send the item itself.",
        `${at}.type`,
      );
    case "compaction_trigger":
      throw badMessage("A compaction_trigger belongs to one request and is no item to keep.", `${at}.type`);
    case "image_generation_call":
      return assistantItem([...imageOf(bytes, fields), ...opaqueParts(bytes, whole(bytes), anyMedia)]);
    default: {
      refuseForeign(bytes, fields, at);
      const parts = opaqueParts(bytes, whole(bytes), anyMedia);
      return clientTypes.has(type) ? plain("user", parts) : assistantItem(parts);
    }
  }
}

function plain(role: Role, parts: Part[], mend = false): NativeMessage {
  return { role, parts, calls: [], results: [], mend };
}

function assistantItem(parts: Part[]): NativeMessage {
  return plain("assistant", parts);
}

function whole(bytes: Uint8Array): Span {
  return { start: root(bytes), end: bytes.length };
}

/** Only a tool search says who runs it; one that the server runs brings its own output. */
function isOurs(bytes: Uint8Array, { execution, call_id: id, type }: ItemFields): boolean {
  const search = optionalString(bytes, type)?.startsWith("tool_search") ?? false;
  return !search || (given(bytes, id) && optionalString(bytes, execution) !== "server");
}

/** A data URL, or the long base64 text of an image, is never text that a model reads. */
function anyMedia(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (value.startsWith("data:")) return /^data:([^;,]{1,100})[;,]/.exec(value)?.[1];
  return value.length > 1_024 && /^[A-Za-z0-9+/]{1024}/.test(value) ? "application/octet-stream" : undefined;
}

function imageOf(bytes: Uint8Array, { result }: ItemFields): MediaPart[] {
  // The long result is found as media already; a short one is an image all the same.
  return given(bytes, result) && result.end - result.start <= 1_026 ? [mediaPart("image/png", "image")] : [];
}

// --- Messages

function refuseForeign(bytes: Uint8Array, fields: ItemFields, at: string): void {
  for (const name of ["tool_calls", "tool_call_id", "function_call"] as const) {
    if (!given(bytes, fields[name])) continue;
    throw badMessage(
      "This field belongs to the openai-chat dialect; the session speaks openai-responses.",
      `${at}.${name}`,
    );
  }
}

function readMessage(bytes: Uint8Array, fields: ItemFields, at: string): NativeMessage {
  refuseForeign(bytes, fields, at);
  const native = requireName(bytes, fields.role, `${at}.role`);
  const role = roles.get(native);
  if (role === undefined) {
    throw badMessage("`role` must be user, assistant, system or developer.", `${at}.role`);
  }
  const parts = readContent(bytes, fields.content, `${at}.content`);
  const silent = parts.every((part) => part.type === "text" && part.text === "");
  if (silent && role !== "assistant") {
    throw badMessage("A message needs a text or a file.", `${at}.content`);
  }
  return plain(role, parts, silent);
}

/** Content as parts, one per block; a string is one text. Absent and null are no parts. */
export function readContent(bytes: Uint8Array, content: Span | undefined, at: string): ContentPart[] {
  if (!given(bytes, content)) return [];
  const kind = kindOf(bytes, content.start);
  if (kind === "string") return [textPart(requireString(bytes, content, at))];
  if (kind !== "array") throw badMessage("A string or an array is required here.", at);
  return itemBlocks(bytes, content).map((block, index) => readBlock(bytes, block, `${at}[${index}]`));
}

export function itemBlocks(bytes: Uint8Array, content: Span): ItemBlock[] {
  return [...records(bytes, content.start, blockFields)];
}

function readBlock(bytes: Uint8Array, block: ItemBlock, at: string): ContentPart {
  const { fields } = block;
  if (fields === undefined) throw badMessage("An object is required here.", at);
  const type = requireName(bytes, fields.type, `${at}.type`);
  if (type === "input_text" || type === "output_text" || type === "summary_text") {
    return textPart(requireString(bytes, fields.text, `${at}.text`));
  }
  if (type === "refusal") return textPart(requireString(bytes, fields.refusal, `${at}.refusal`));
  if (mediaTypes.has(type)) return readMedia(bytes, block, type);
  if (foreignBlocks.test(type)) {
    throw badMessage(
      "This block belongs to another dialect; the session speaks openai-responses.",
      `${at}.type`,
    );
  }
  return opaqueParts(bytes, block, anyMedia)[0] ?? textPart("");
}

export function readMedia(bytes: Uint8Array, { fields }: ItemBlock, type: string): MediaPart {
  const url = fields?.image_url ?? fields?.file_data;
  return mediaPart(dataUrlType(bytes, url), type.replace(/^(input|output|computer)_/, ""));
}

function reasoningText(bytes: Uint8Array, { summary, content }: ItemFields): string {
  const texts: string[] = [];
  for (const list of [summary, content]) {
    if (!given(bytes, list) || kindOf(bytes, list.start) !== "array") continue;
    for (const { fields } of itemBlocks(bytes, list)) texts.push(optionalString(bytes, fields?.text) ?? "");
  }
  return texts.filter((text) => text !== "").join("\n");
}

// --- Calls and their outputs

function readCall(bytes: Uint8Array, fields: ItemFields, type: CallType, at: string): NativeMessage {
  const id = requireName(bytes, fields.call_id, `${at}.call_id`);
  const key = type.args.find((name) => given(bytes, fields[name as keyof ItemFields])) ?? type.args[0]!;
  const span = fields[key as keyof ItemFields];
  if (!given(bytes, span)) throw badMessage("A call needs its arguments.", `${at}.${key}`);
  const isText = key === "input" || (key === "arguments" && type.name === undefined);
  const args = isText ? requireString(bytes, span, `${at}.${key}`) : rawText(bytes, span.start, span.end);
  const name = type.name ?? requireName(bytes, fields.name, `${at}.name`);
  return { ...assistantItem([{ type: "call", id, name, args }]), calls: [id] };
}

/** Which call an output answers. A local shell's output may name it under `id` alone. */
export function answeredCall(bytes: Uint8Array, fields: ItemFields, type: string): Span | undefined {
  return type === "local_shell_call_output" && !given(bytes, fields.call_id) ? fields.id : fields.call_id;
}

function readOutput(bytes: Uint8Array, fields: ItemFields, type: string, at: string): NativeMessage {
  const call = requireName(bytes, answeredCall(bytes, fields, type), `${at}.call_id`);
  const content = outputContent(bytes, fields, type, `${at}.output`);
  const error = type === "apply_patch_call_output" && optionalString(bytes, fields.status) === "failed";
  return { ...plain("tool", [{ type: "result", call, content, error }]), results: [call] };
}

/** Content of an output, one part per block where it is an array. */
export function outputContent(
  bytes: Uint8Array,
  { output }: ItemFields,
  type: string,
  at: string,
): ContentPart[] {
  if (type === "tool_search_output") return opaqueParts(bytes, whole(bytes));
  if (!given(bytes, output)) {
    if (type === "apply_patch_call_output") return [];
    throw badMessage("An output item needs an output.", at);
  }
  if (type === "computer_call_output") {
    requireObject(bytes, output.start, at);
    const { image_url: url } = pick(bytes, output.start, ["image_url"]);
    return [mediaPart(dataUrlType(bytes, url), "screenshot")];
  }
  if (type !== "shell_call_output") return readContent(bytes, output, at);
  if (kindOf(bytes, output.start) !== "array") throw badMessage("An array is required here.", at);
  return itemBlocks(bytes, output).map(({ fields }, index) => {
    if (fields === undefined) throw badMessage("An object is required here.", `${at}[${index}]`);
    const said = [fields.stdout, fields.stderr].map((span) => optionalString(bytes, span) ?? "");
    return textPart(said.filter((text) => text !== "").join("\n"));
  });
}

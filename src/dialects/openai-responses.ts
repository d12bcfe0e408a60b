/** The OpenAI Responses dialect: its edits. Reading and rendering are in the files beside. */
import { concat, type Edit, jsonString, utf8Bytes } from "../log/json-edit.ts";
import { decodeString, elements, kindOf, pick, root, type Span } from "../log/scanner.ts";
import type { ContentPart, Dialect, MediaPart, NewContent } from "./dialect.ts";
import {
  type BlockShape,
  contentEdit,
  edited,
  jsonArray,
  noteEdit,
  type Rewrite,
  rewriteJsonText,
  stringEdits,
  withoutCacheMarks,
} from "./edits.ts";
import { mediaPart, optionalString, typedText } from "./fields.ts";
import {
  answeredCall,
  fieldsOfItem,
  itemBlocks,
  outputContent,
  readMedia,
  readResponses,
  typeOfItem,
} from "./responses-read.ts";
import { renderResponses } from "./responses-render.ts";
import { callTypes, mediaTypes, outputTypes } from "./responses-types.ts";

const shape: BlockShape = { text: "input_text", member: "output" };

/** Outputs that have no place for a text: a screenshot is an image, a tool search answers with tools. */
const wordless: ReadonlySet<string> = new Set(["computer_call_output", "tool_search_output"]);

function rewriteResults(
  bytes: Uint8Array,
  rewrite: Parameters<Dialect["rewriteResults"]>[1],
): Uint8Array | undefined {
  const fields = fieldsOfItem(bytes);
  const type = typeOfItem(bytes, fields);
  if (!outputTypes.has(type) || wordless.has(type)) return undefined;
  const call = optionalString(bytes, answeredCall(bytes, fields, type)) ?? "";
  const old = outputContent(bytes, fields, type, "output");
  const next = rewrite({ index: 0, call, content: old });
  if (next === undefined) return undefined;
  const edit =
    type === "shell_call_output" && fields.output !== undefined
      ? shellEdit(bytes, fields.output, old, next)
      : contentEdit(bytes, { start: root(bytes), content: fields.output, old }, next, shape);
  return edit === undefined ? undefined : edited(bytes, [edit]);
}

/** A shell's output is a list of chunks: a new text is a chunk's `stdout`, and its outcome stays. */
function shellEdit(
  bytes: Uint8Array,
  output: Span,
  old: readonly ContentPart[],
  next: readonly NewContent[],
): Edit | undefined {
  const chunks = [...elements(bytes, output.start)];
  const same = (piece: NewContent, i: number) => {
    const part = old[i];
    return "keep" in piece ? piece.keep === i : part?.type === "text" && part.text === piece.text;
  };
  if (next.length === old.length && next.every(same)) return undefined;
  const written = next.flatMap((piece, i) => {
    const chunk = chunks["keep" in piece ? piece.keep : Math.min(i, chunks.length - 1)];
    if ("keep" in piece) return chunk === undefined ? [] : [bytes.subarray(chunk.start, chunk.end)];
    const outcome = chunk === undefined ? undefined : pick(bytes, chunk.start, ["outcome"]).outcome;
    const ended =
      outcome === undefined
        ? utf8Bytes('{"type":"exit","exit_code":0}')
        : bytes.subarray(outcome.start, outcome.end);
    const head = [utf8Bytes('{"stdout":'), jsonString(piece.text), utf8Bytes(',"stderr":"","outcome":')];
    return [concat([...head, ended, utf8Bytes("}")])];
  });
  return { ...output, bytes: jsonArray(written) };
}

function rewriteArguments(bytes: Uint8Array, rewrite: Rewrite): Uint8Array | undefined {
  const fields = fieldsOfItem(bytes);
  const type = callTypes.get(typeOfItem(bytes, fields));
  const edits: Edit[] = [];
  for (const name of type?.args ?? []) {
    const span = fields[name as keyof typeof fields];
    if (span === undefined) continue;
    if (name !== "arguments" || kindOf(bytes, span.start) !== "string") {
      for (const edit of stringEdits(bytes, span, rewrite)) edits.push(edit);
      continue;
    }
    const next = rewriteJsonText(decodeString(bytes, span.start, span.end), rewrite);
    if (next !== undefined) edits.push({ ...span, bytes: jsonString(next) });
  }
  return edited(bytes, edits);
}

function withoutMedia(bytes: Uint8Array, note: (media: MediaPart) => string): Uint8Array | undefined {
  const fields = fieldsOfItem(bytes);
  const type = typeOfItem(bytes, fields);
  // The image is all that such an item brings, so a message says what it was.
  if (type === "image_generation_call") return saidText(note(mediaPart("image/png", "image")));
  const { content } = fields;
  if (type !== "message" || content === undefined || kindOf(bytes, content.start) !== "array") {
    return undefined;
  }
  const edits: Edit[] = [];
  for (const block of itemBlocks(bytes, content)) {
    const kind = optionalString(bytes, block.fields?.type);
    if (kind === undefined || !mediaTypes.has(kind)) continue;
    edits.push(noteEdit(block, note(readMedia(bytes, block, kind)), shape));
  }
  return edited(bytes, edits);
}

function saidText(text: string): Uint8Array {
  const content = [{ type: "output_text", text, annotations: [] }];
  return utf8Bytes(JSON.stringify({ type: "message", role: "assistant", content }));
}

export const openAiResponses: Dialect = {
  name: "openai-responses",
  read: readResponses,
  withoutCacheMarks,
  rewriteResults,
  rewriteArguments,
  withoutMedia,
  withoutThinking: (bytes) =>
    typeOfItem(bytes, fieldsOfItem(bytes)) === "reasoning" ? new Uint8Array(0) : undefined,
  render: renderResponses,
  userText: (text) => utf8Bytes(`{"role":"user","content":${JSON.stringify(text)}}`),
  // Its call may be of another type than a function: rendering knows it and writes the output that it wants.
  closedResult: (call, text) =>
    utf8Bytes(JSON.stringify({ type: "function_call_output", call_id: call, output: text })),
  typedText,
};

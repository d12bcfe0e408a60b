/** Fields of a provider's JSON, read off its bytes. A provider may send anything: what is not there is undefined. */
import { given } from "../../dialects/fields.ts";
import { applyEdits, jsonString, memberAddition } from "../../log/json-edit.ts";
import { decode, decodeString, kindOf, member, root, type Span, scanDocument } from "../../log/scanner.ts";

/** The UTF-8 of a text that is one JSON object, else undefined. */
export function objectBytes(json: Uint8Array): Uint8Array | undefined {
  try {
    scanDocument(json);
  } catch {
    return undefined;
  }
  return kindOf(json, root(json)) === "object" ? json : undefined;
}

/** The text of a string member. */
export function textAt(bytes: Uint8Array, span: Span | undefined): string | undefined {
  if (span === undefined || kindOf(bytes, span.start) !== "string") return undefined;
  return decodeString(bytes, span.start, span.end);
}

/** A provider's own word (an id, a model, a finish reason), not empty and short enough to keep. */
export function wordAt(bytes: Uint8Array, span: Span | undefined): string | undefined {
  const text = textAt(bytes, span);
  return text === undefined || text === "" ? undefined : text.slice(0, 512);
}

export function countAt(bytes: Uint8Array, span: Span | undefined): number | undefined {
  const value = given(bytes, span) ? decode(bytes, span.start, span.end) : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The span when it holds a value of that kind. */
export function ofKind(
  bytes: Uint8Array,
  span: Span | undefined,
  kind: "object" | "array",
): Span | undefined {
  return span !== undefined && kindOf(bytes, span.start) === kind ? span : undefined;
}

/** The decoded value of a member that is there and not null. */
export function valueAt(bytes: Uint8Array, span: Span | undefined): unknown {
  return given(bytes, span) ? decode(bytes, span.start, span.end) : undefined;
}

export function slice(bytes: Uint8Array, { start, end }: Span): Uint8Array {
  return bytes.subarray(start, end);
}

/** The object with this member set, in its place where it is there already. `value` is JSON. */
export function withMember(bytes: Uint8Array, key: string, value: Uint8Array): Uint8Array {
  const start = root(bytes);
  const old = member(bytes, start, key);
  const edit = old === undefined ? memberAddition(bytes, start, key, value) : { ...old, bytes: value };
  return applyEdits(bytes, [edit]);
}

/** The pieces of a growing text as a JSON string. */
export function joined(pieces: readonly string[]): Uint8Array {
  return jsonString(pieces.join(""));
}

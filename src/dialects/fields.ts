/**
 * Reads the fields of native messages with refusals that name the place and never the value. Shared by the
 * dialects; knows JSON and `Part`s, but no dialect.
 */
import { Refusal } from "../failure.ts";
import { decode, decodeString, kindOf, type Span } from "../log/scanner.ts";
import type { ContentPart, MediaPart, NativeMessage, TextPart } from "./dialect.ts";

export function badMessage(detail: string, at: string): Refusal {
  return new Refusal("bad-message", detail, { at });
}

/** A member that is absent or null counts as not given. */
export function given(bytes: Uint8Array, span: Span | undefined): span is Span {
  return span !== undefined && kindOf(bytes, span.start) !== "null";
}

export function requireObject(bytes: Uint8Array, start: number, at: string): void {
  if (kindOf(bytes, start) !== "object") throw badMessage("An object is required here.", at);
}

/** The text of a string member, which may be empty. */
export function requireString(bytes: Uint8Array, span: Span | undefined, at: string): string {
  if (span === undefined || kindOf(bytes, span.start) !== "string") {
    throw badMessage("A string is required here.", at);
  }
  return decodeString(bytes, span.start, span.end);
}

/** A string member that names something: an id, a name, a type. */
export function requireName(bytes: Uint8Array, span: Span | undefined, at: string): string {
  const name = requireString(bytes, span, at);
  if (name === "") throw badMessage("A non-empty string is required here.", at);
  return name;
}

/** The text of a string member, or nothing where there is none. */
export function optionalString(bytes: Uint8Array, span: Span | undefined): string | undefined {
  if (span === undefined || kindOf(bytes, span.start) !== "string") return undefined;
  return decodeString(bytes, span.start, span.end);
}

/** Takes an id into a message's list; two of the same in one message can not be told apart. */
export function addUnique(ids: Set<string>, id: string, at: string): void {
  if (ids.has(id)) throw badMessage("This id stands twice in one message.", at);
  ids.add(id);
}

export function textPart(text: string): TextPart {
  return { type: "text", text };
}

export function attachedText(pieces: readonly (string | undefined)[]): TextPart {
  const text = pieces.filter((piece) => piece !== undefined && piece !== "").join("\n");
  return { type: "text", text, attached: true };
}

/** A media part whose note is the client's media type where that looks like one, else `fallback`. */
export function mediaPart(mediaType: string | undefined, fallback: string): MediaPart {
  const sane = mediaType !== undefined && /^[a-z]{1,20}\/[a-z0-9.+-]{1,80}$/i.test(mediaType);
  return { type: "media", note: sane ? mediaType : fallback };
}

/** The media type of a `data:` URL, read off the head of the string: the data itself is never decoded. */
export function dataUrlType(bytes: Uint8Array, span: Span | undefined): string | undefined {
  if (span === undefined || kindOf(bytes, span.start) !== "string") return undefined;
  const head = String.fromCharCode(
    ...bytes.subarray(span.start + 1, Math.min(span.end - 1, span.start + 129)),
  );
  return /^data:([^;,]+)[;,]/.exec(head.replaceAll("\\/", "/"))?.[1];
}

/** Members of opaque blocks that a model never reads as text. */
const unread = /^(encrypted_|cache_control$|signature$)/;

/**
 * A block that has no reader of its own, as text: its compact JSON without encrypted members, and each
 * base64 source in it as media. `mediaIn` names the media type of other values that are media.
 */
export function opaqueParts(
  bytes: Uint8Array,
  { start, end }: Span,
  mediaIn: (value: unknown) => string | undefined = () => undefined,
): ContentPart[] {
  const media: MediaPart[] = [];
  const text = JSON.stringify(decode(bytes, start, end), (key, value: unknown) => {
    if (unread.test(key)) return undefined;
    const found = mediaIn(value);
    if (found !== undefined) {
      media.push(mediaPart(found, "file"));
      return undefined;
    }
    if (typeof value === "object" && value !== null && "type" in value && value.type === "base64") {
      const type =
        "media_type" in value && typeof value.media_type === "string" ? value.media_type : undefined;
      media.push(mediaPart(type, "file"));
      return undefined;
    }
    return value;
  });
  return [attachedText([text]), ...media];
}

/**
 * Text that a user typed, one line break between parts; undefined for messages of other roles or without
 * such text.
 */
export function typedText(message: NativeMessage): string | undefined {
  if (message.role !== "user") return undefined;
  const typed = message.parts.filter((part) => part.type === "text").filter((part) => part.attached !== true);
  return typed.length === 0 ? undefined : typed.map((part) => part.text).join("\n");
}

/**
 * Images and files on their way from one dialect to another: a payload that both have a shape for goes over
 * whole, anything else becomes a text note. Values here are decoded; nothing of them is ever stored.
 */
import type { DialectName, MediaPart } from "./dialect.ts";

/** `url` is a `data:` or web address; absent where the provider alone can fetch the media (a file id, a sound). */
export interface Media {
  type: "media";
  note: string;
  file: boolean;
  url?: string;
}

type Value = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Value {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const media: ReadonlySet<unknown> = new Set(
  (
    "image_url input_audio file video_url audio_url image document container_upload input_image input_file " +
    "output_audio computer_screenshot image_generation_call"
  ).split(" "),
);

/** Calls of a tool may hold anything that looks like media and is none. */
const unentered: ReadonlySet<string> = new Set(["input", "arguments", "action", "operation", "tool_calls"]);

/**
 * Addresses of all media of a decoded message, in the order in which the reader finds their parts; undefined
 * where one has none.
 */
export function mediaAddresses(value: unknown): (string | undefined)[] {
  if (Array.isArray(value)) return value.flatMap(mediaAddresses);
  if (!isObject(value)) return [];
  if (media.has(value.type)) return [addressOf(value)];
  return Object.entries(value).flatMap(([key, inner]) => (unentered.has(key) ? [] : mediaAddresses(inner)));
}

function addressOf(block: Value): string | undefined {
  switch (block.type) {
    case "image_url":
      return isObject(block.image_url) ? text(block.image_url.url) : undefined;
    case "input_image":
    case "computer_screenshot":
      return text(block.image_url);
    case "file":
      return isObject(block.file) ? text(block.file.file_data) : undefined;
    case "input_file":
      return text(block.file_data) ?? text(block.file_url);
    case "image_generation_call":
      return typeof block.result === "string" ? `data:image/png;base64,${block.result}` : undefined;
    default:
      return sourceAddress(block.source);
  }
}

function sourceAddress(source: unknown): string | undefined {
  if (!isObject(source)) return undefined;
  if (source.type === "url") return text(source.url);
  if (source.type !== "base64" || typeof source.media_type !== "string") return undefined;
  return typeof source.data === "string" ? `data:${source.media_type};base64,${source.data}` : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function mediaOfPart({ note }: MediaPart, url: string | undefined): Media {
  const type = url === undefined ? undefined : /^data:([^;,]+)/.exec(url)?.[1];
  const image = type?.startsWith("image/") ?? /^(image\/|image$|screenshot$)/.test(note);
  return { type: "media", note, file: !image, ...(url === undefined ? {} : { url }) };
}

/** The block of another dialect, or undefined where it has no shape for this media. */
export function mediaBlock(to: DialectName, { url, file }: Media): object | undefined {
  if (url === undefined) return undefined;
  if (to === "anthropic") return anthropicBlock(url, file);
  const data = url.startsWith("data:");
  if (file) {
    const named = { filename: "document.pdf", file_data: url };
    if (!data || !url.startsWith("data:application/pdf")) return undefined;
    return to === "openai-chat" ? { type: "file", file: named } : { type: "input_file", ...named };
  }
  if (!data && !/^https?:/.test(url)) return undefined;
  return to === "openai-chat"
    ? { type: "image_url", image_url: { url } }
    : { type: "input_image", image_url: url, detail: "auto" };
}

/** Anthropic takes four image types, and PDF as a document. */
function anthropicBlock(url: string, file: boolean): object | undefined {
  const [, mediaType = "", data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  if (data !== undefined) {
    const source = { type: "base64", media_type: mediaType, data };
    if (file) return mediaType === "application/pdf" ? { type: "document", source } : undefined;
    return /^image\/(jpeg|png|gif|webp)$/.test(mediaType) ? { type: "image", source } : undefined;
  }
  if (!/^https?:/.test(url)) return undefined;
  return { type: file ? "document" : "image", source: { type: "url", url } };
}

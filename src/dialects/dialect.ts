/**
 * What the rest of Plimsoll may know about a provider's message shape.
 * A dialect reads one native message (its raw UTF-8 bytes) into parts and edits those bytes in place; whatever it does
 * not touch stays byte for byte as the client sent it. Pure: values in, values out.
 */

export const dialectNames = ["openai-chat", "anthropic", "openai-responses"] as const;
export type DialectName = (typeof dialectNames)[number];

/**
 * `tool` is a message that holds at least one tool result (Anthropic sends those with role `user`). Items of Responses that have no
 * role are the model's, its outputs aside.
 */
export type Role = "user" | "assistant" | "tool" | "system";

/** `attached` marks text that nobody wrote as a message: a text document, a search result, an opaque or unknown block. */
export type TextPart = { type: "text"; text: string; attached?: true };
/** An image, a file or a sound. `note` is a short label for a text note in its place, e.g. `image/png`. */
export type MediaPart = { type: "media"; note: string };
export type ContentPart = TextPart | MediaPart;

export type Part =
  | ContentPart
  /** Thinking, redacted thinking, reasoning content. `text` is what the meter counts (opaque data counts as nothing). */
  | { type: "thinking"; text: string }
  /** `args` is the JSON text of the arguments: OpenAI's argument string, or the raw slice of Anthropic's `input`. */
  | { type: "call"; id: string; name: string; args: string }
  | { type: "result"; call: string; content: ContentPart[]; error: boolean };

export interface NativeMessage {
  role: Role;
  parts: Part[];
  /** Ids of the calls that the message opens, and of the calls that its results answer, in order. */
  calls: string[];
  results: string[];
  /** True when the provider would refuse the message as it stands (empty text block, no content) and `render` must mend it. */
  mend: boolean;
  /** Begins with a compaction that the provider made itself: it reads nothing of what stands before (providers.md 4). */
  restarts?: true;
}

/** What a result's content becomes: new text, or a block kept as it stands in the original (by its index in `content`). */
export type NewContent = { text: string } | { keep: number };

/** One node on its way into a request: the bytes of its current form. */
export interface RenderItem {
  role: Role;
  bytes: Uint8Array;
  mend: boolean;
}

export interface Dialect {
  readonly name: DialectName;

  /**
   * Reads one message. `at` is its place for error messages.
   * @throws Refusal `bad-message` (another dialect's shape, unknown role, missing id, duplicate call id, empty user text).
   */
  read(bytes: Uint8Array, at: string): NativeMessage;

  /** The bytes without `cache_control` on the message and its blocks; never touches call arguments. Same array if there is none. */
  withoutCacheMarks(bytes: Uint8Array): Uint8Array;

  /**
   * Rewrites results. `rewrite` sees each result in order (its index among the message's results) and answers the new
   * content or undefined to leave it. Ids, order, `is_error` and every other field stay. Undefined when nothing changed.
   */
  rewriteResults(
    bytes: Uint8Array,
    rewrite: (result: { index: number; call: string; content: ContentPart[] }) => NewContent[] | undefined,
  ): Uint8Array | undefined;

  /** Rewrites string values (at any depth) inside call arguments; valid JSON stays valid. Undefined when nothing changed. */
  rewriteArguments(bytes: Uint8Array, rewrite: (value: string) => string | undefined): Uint8Array | undefined;

  /** Replaces media blocks outside results (a user's images and files) by text notes. Undefined when there are none. */
  withoutMedia(bytes: Uint8Array, note: (media: MediaPart) => string): Uint8Array | undefined;

  /**
   * The message without thinking that is bound to what stood before it (Anthropic thinking and redacted thinking; reasoning
   * content of Chat servers is not bound and stays), and of Responses without a reasoning item, which goes whole. Undefined when
   * unchanged; zero bytes when nothing would be left.
   */
  withoutThinking(bytes: Uint8Array): Uint8Array | undefined;

  /** The messages to send, as raw JSON each: results of one call group merged where the dialect wants one message, empty nodes left out. */
  render(items: readonly RenderItem[]): Uint8Array[];

  /** A user message with this text. */
  userText(text: string): Uint8Array;

  /** A tool result that says that the call was closed without one. Rendering gives it the type that its call wants. */
  closedResult(call: string, text: string): Uint8Array;

  /** The text of a user message as the user typed it (text parts joined by newlines), or undefined for any other message. */
  typedText(message: NativeMessage): string | undefined;
}

/** A typed user message starts a turn: role user, with text, and no tool result. */
export function startsTurn(message: NativeMessage): boolean {
  return (
    message.role === "user" &&
    message.parts.some((part) => part.type === "text" && part.attached !== true && part.text.trim() !== "")
  );
}

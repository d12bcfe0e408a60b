/** What Plimsoll itself says inside a stream: that it is still there, and that it failed. */
import { errorShape, type WireError } from "../../dialects/error-shape.ts";
import type { WireDialect } from "../../dialects/wire.ts";
import { utf8Bytes } from "../../log/json-edit.ts";

/**
 * The request does not fit, in the words that clients know: they then compact by themselves (providers.md 1.7). `tokens` counts the
 * request, `limit` is what it may have.
 */
export function overflowError(
  dialect: WireDialect,
  { tokens, limit }: { tokens: number; limit: number },
): WireError {
  const message =
    dialect === "anthropic"
      ? `prompt is too long: ${tokens} tokens > ${limit} maximum`
      : `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`;
  return { status: 400, code: "context_length_exceeded", message };
}

/** OpenAI's clients know no ping; a comment is ignored by all of them. */
export function pingFrame(dialect: WireDialect): Uint8Array {
  return utf8Bytes(dialect === "anthropic" ? 'event: ping\ndata: {"type":"ping"}\n\n' : ": ping\n\n");
}

/** The dialect's own error event. The vendors' SDKs throw on it. */
export function errorFrame(dialect: WireDialect, error: WireError): Uint8Array {
  const shape = errorShape(dialect, error);
  if (dialect === "openai-chat") return utf8Bytes(`data: ${JSON.stringify(shape)}\n\n`);
  if (dialect === "anthropic") return utf8Bytes(`event: error\ndata: ${JSON.stringify(shape)}\n\n`);
  const { code, message } = error;
  const event = { type: "error", code, message, param: null, sequence_number: 0 };
  return utf8Bytes(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
}

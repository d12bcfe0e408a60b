/**
 * What a request body says about the conversation that it belongs to: the words it began with, the session
 * id that Claude Code puts into its metadata, and the model. Each is read by going no further than to its
 * place: the body is checked where it is handled, and here only when it can not be walked.
 */
import { Buffer } from "node:buffer";
import { closeBrace, comma, skipSpace } from "../log/json-lex.ts";
import {
  decode,
  decodeString,
  elements,
  kindOf,
  pick,
  root,
  type Span,
  scanDocument,
  skipString,
  skipValue,
} from "../log/scanner.ts";
import type { WireDialect } from "./wire.ts";

/**
 * The first user message: the text of its text parts, the same in each dialect. Without any text the bytes
 * of the message; undefined without such a message.
 * @throws Refusal `bad-json`, `too-deep`.
 */
export function firstSaid(dialect: WireDialect, body: Uint8Array): string | Uint8Array | undefined {
  return walked(body, () => {
    const isResponses = dialect === "openai-responses";
    const list = placeOf(body, isResponses ? "input" : "messages");
    return list === undefined ? undefined : saidIn(body, list, isResponses);
  });
}

/** @throws Refusal as `firstSaid`. */
export function modelOf(body: Uint8Array): string | undefined {
  return walked(body, () => stringAt(body, placeOf(body, "model")));
}

/**
 * The session that Claude Code names in `metadata.user_id`, which it fills with its session id.
 * @throws Refusal as `firstSaid`.
 */
export function sessionInMetadata(body: Uint8Array): string | undefined {
  if (!mayNameSession(body)) return undefined;
  return walked(body, () => {
    const metadata = placeOf(body, "metadata");
    if (metadata === undefined || kindOf(body, metadata) !== "object") return undefined;
    const userId = textAt(body, pick(body, metadata, ["user_id"]).user_id);
    return userId === undefined ? undefined : sessionOfUserId(userId);
  });
}

/**
 * Metadata stands behind the messages, and few bodies name a session in it: a plain search is far quicker
 * than the way there. The quotes of a key would be escaped inside a text, those inside the user id are.
 */
function mayNameSession(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!bytes.includes('"metadata"') || !bytes.includes('"user_id"')) return false;
  return bytes.includes("_session_") || bytes.includes('\\"session_id\\"');
}

function walked<T>(body: Uint8Array, walk: () => T): T {
  try {
    return walk();
  } catch (error) {
    scanDocument(body); // says what is wrong, and where
    throw error;
  }
}

/** Where the value of a member of the document's object starts; nothing behind it is looked at. */
function placeOf(body: Uint8Array, key: string): number | undefined {
  const start = root(body);
  if (kindOf(body, start) !== "object") {
    scanDocument(body);
    return undefined;
  }
  let i = skipSpace(body, start + 1);
  while (body[i] !== closeBrace) {
    const keyEnd = skipString(body, i);
    const value = skipSpace(body, skipSpace(body, keyEnd) + 1);
    if (decodeString(body, i, keyEnd) === key) return value;
    i = skipSpace(body, skipValue(body, value));
    if (body[i] === comma) i = skipSpace(body, i + 1);
  }
  return undefined;
}

function stringAt(body: Uint8Array, at: number | undefined): string | undefined {
  return at === undefined ? undefined : textAt(body, { start: at, end: skipValue(body, at) });
}

function textAt(body: Uint8Array, at: Span | undefined): string | undefined {
  if (at === undefined || kindOf(body, at.start) !== "string") return undefined;
  return decodeString(body, at.start, at.end);
}

/** @param mayBeText whether the list may be a string, which is then a user's message. */
function saidIn(body: Uint8Array, list: number, mayBeText: boolean): string | Uint8Array | undefined {
  const kind = kindOf(body, list);
  if (mayBeText && kind === "string") return stringAt(body, list);
  if (kind !== "array") {
    skipValue(body, list); // nothing at all is no value
    return undefined;
  }
  for (const item of elements(body, list)) {
    if (kindOf(body, item.start) !== "object") continue;
    const { role, content } = pick(body, item.start, ["role", "content"]);
    if (textAt(body, role) !== "user") continue;
    const text = content === undefined ? "" : textOf(body, content);
    return text === "" ? body.subarray(item.start, item.end) : text;
  }
  return undefined;
}

/** A string, or the texts of the parts that have one. */
function textOf(body: Uint8Array, content: Span): string {
  const kind = kindOf(body, content.start);
  if (kind === "string") return decodeString(body, content.start, content.end);
  if (kind !== "array") return "";
  let text = "";
  for (const part of elements(body, content.start)) {
    if (kindOf(body, part.start) === "object") {
      text += textAt(body, pick(body, part.start, ["text"]).text) ?? "";
    }
  }
  return text;
}

/**
 * The user id of Claude Code is an object in JSON with a `session_id`, in older versions
 * `user_…_account_…_session_<uuid>` (both as seen in recorded requests).
 */
function sessionOfUserId(userId: string): string | undefined {
  const older = /_session_([0-9a-fA-F-]{36})$/.exec(userId)?.[1];
  if (older !== undefined || !userId.startsWith("{")) return older;
  const bytes = new TextEncoder().encode(userId);
  try {
    const value = decode(bytes, 0, bytes.length) as { session_id?: unknown };
    return typeof value.session_id === "string" && value.session_id !== "" ? value.session_id : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Link keys: by which a message of a re-sent history is known again. Clients drop nulls, ids, annotations and reasoning, move
 * cache marks and print arguments anew; none of it changes a key. Any other change does.
 */
import { createHash } from "node:crypto";
import { Canonical } from "./canonical.ts";
import { MessageWriter } from "./link-message.ts";
import type { WireDialect } from "./wire.ts";

/**
 * The key of one message or item by what it says, whoever its parent: 22 characters of base64url. "" when nothing of it counts,
 * as for a reasoning item or an answer that is thinking alone: the link passes through it. A bare string is the user's message,
 * as a Responses request has it. Requires bytes that passed `scanDocument`.
 */
export function contentKey(dialect: WireDialect, message: Uint8Array): string {
  const out = new Canonical(message.length);
  return new MessageWriter(dialect, message, out).message() ? digest(out.written()) : "";
}

/** The key of a message behind its parent; "" is the parent of a root. A transparent message has its parent's key. */
export function linkKey(parent: string, content: string): string {
  return content === "" ? parent : digest(`link:${parent}:${content}`);
}

function digest(value: string | Uint8Array): string {
  return createHash("sha256").update(value).digest().toString("base64url", 0, 16);
}

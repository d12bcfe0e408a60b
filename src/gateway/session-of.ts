/**
 * Which session a drop-in request belongs to: the path says so, or the header `plimsoll-session`, or an id
 * that the client sends anyway, or else the words that the conversation began with. Pure. The same
 * conversation gets the same id for as long as it begins with the same message; matching inside the session
 * keeps apart what only shares its beginning.
 */
import { createHash } from "node:crypto";
import { firstSaid, sessionInMetadata } from "../dialects/opening.ts";
import type { WireDialect } from "../dialects/wire.ts";
import { Refusal } from "../failure.ts";
import { isId } from "./routes.ts";

export interface SessionName {
  id: string;
  by: "path" | "header" | "client" | "derived";
}

/**
 * Headers in which clients name one conversation, the surest first. `prompt_cache_key` is not among these
 * names: it may be shared by many conversations with one prefix.
 */
const clientHeaders = [
  "x-claude-code-session-id", // Claude Code, on every request
  "session-id", // Codex
  "session_id", // Codex before; pi in OpenAI's format
  "x-session-affinity", // OpenCode; pi with `sendSessionAffinityHeaders`
  "x-opencode-session", // OpenCode, older
  "x-session-id", // OpenCode, and others by custom
  "conversation_id", // Codex, first versions
] as const;

/**
 * The session by path or header alone; undefined when the body has to tell.
 * @throws Refusal `bad-id`.
 */
export function sessionByHeaders(path: string | undefined, headers: Headers): SessionName | undefined {
  if (path !== undefined) return { id: checked(path), by: "path" };
  const named = headers.get("plimsoll-session")?.trim();
  if (named !== undefined) return { id: checked(named), by: "header" };
  for (const header of clientHeaders) {
    const value = headers.get(header)?.trim();
    if (value !== undefined && value !== "") return { id: clientId(value), by: "client" };
  }
  return undefined;
}

/** @throws Refusal `bad-id`, `bad-json`, `too-deep`. */
export function sessionOf(
  dialect: WireDialect,
  path: string | undefined,
  headers: Headers,
  body: Uint8Array,
  tenant: string,
): SessionName {
  const known = sessionByHeaders(path, headers);
  if (known !== undefined) return known;
  const session = dialect === "anthropic" ? sessionInMetadata(body) : undefined;
  if (session !== undefined) return { id: clientId(session), by: "client" };
  // A request without a user message is nobody's conversation: it shares a session with its equals alone.
  return { id: `d-${digest(tenant, firstSaid(dialect, body) ?? body)}`, by: "derived" };
}

function checked(id: string): string {
  if (isId(id)) return id;
  throw new Refusal(
    "bad-id",
    "A session id is 1 to 128 of A-Z a-z 0-9 . _ - and begins with a letter or digit.",
  );
}

/** A client's own id as it stands where it can be one of ours, so that people find it again. */
function clientId(value: string): string {
  return isId(value) ? value : `c-${digest(value)}`;
}

function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    // With its length before it, no part can lend bytes to the next.
    hash.update(`${bytes.byteLength}:`).update(bytes);
  }
  return hash.digest("base64url").slice(0, 32);
}

/**
 * Who sends a request: the one place that reads credentials. Answers the tenant, or refuses; nothing is
 * named, woken or read before it has spoken. Tokens are compared as SHA-256 digests, all of them, in
 * constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { Refusal } from "../failure.ts";
import { type ClientKey, shownKey } from "../providers/client-key.ts";
import { isLoopbackHost } from "../providers/loopback.ts";

/** The part of the configuration that decides who may enter. */
export interface Gate {
  readonly tokens: readonly { readonly name: string; readonly token: string }[];
  /** `DEV_OPEN=1`: requests over loopback need no token. */
  readonly devOpen: boolean;
}

/** Tenant of whoever works over loopback without a token. */
export const DEV_TENANT = "dev";

export interface Caller {
  readonly tenant: string;
  /** What else the request shows: the client's key for a provider, never a token of Plimsoll. */
  readonly key?: ClientKey;
}

/**
 * The tenant of a request, and the client's own provider key beside it. Whoever sends a token as
 * `plimsoll-token` keeps the vendor's headers for the vendor. Where nobody needs a token, what is shown can
 * only be the vendor's.
 * @throws Refusal as `authenticate`.
 */
export function identify(request: Request, gate: Gate): Caller {
  const tenant = authenticate(request, gate);
  const key = shownKey(request.headers);
  const apart = request.headers.has("plimsoll-token") || gate.tokens.length === 0;
  if (key === undefined || !apart) return { tenant };
  for (const value of Object.values(key)) {
    if (ownerOf(value.replace(/^bearer +/i, "").trim(), gate.tokens) !== undefined) return { tenant };
  }
  return { tenant, key };
}

/**
 * The tenant of a request. `plimsoll-token` goes before a Bearer token, that before `x-api-key`. With tokens configured, one that is
 * shown must be right, over loopback too; with none configured a development gateway takes any (client
 * libraries insist on sending one).
 * @throws Refusal `unauthorized` (no or a wrong token), `not-configured` (nobody could have a right one).
 */
export function authenticate(request: Request, gate: Gate): string {
  const shown = shownToken(request.headers);
  const open = gate.devOpen && isLoopbackRequest(request);
  if (gate.tokens.length === 0) {
    if (open) return DEV_TENANT;
    throw new Refusal("not-configured", "No API token is configured, so nobody can be let in.");
  }
  if (shown === undefined) {
    if (open) return DEV_TENANT;
    throw new Refusal(
      "unauthorized",
      "Send a token as Authorization: Bearer, as x-api-key or as plimsoll-token.",
    );
  }
  const tenant = ownerOf(shown, gate.tokens);
  if (tenant === undefined) throw new Refusal("unauthorized", "The token is not known.");
  return tenant;
}

function shownToken(headers: Headers): string | undefined {
  const own = headers.get("plimsoll-token")?.trim();
  if (own !== undefined && own !== "") return own.replace(/^bearer +/i, "");
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
  const token = bearer ?? headers.get("x-api-key")?.trim();
  return token === "" ? undefined : token;
}

function ownerOf(shown: string, tokens: Gate["tokens"]): string | undefined {
  if (tokens.length === 0) return undefined;
  const digest = digestOf(shown);
  let owner: string | undefined;
  // Every token is compared, so that the time tells nothing about which one came near.
  for (const { name, token } of tokens) if (timingSafeEqual(digest, digestOf(token))) owner = name;
  return owner;
}

function digestOf(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

/**
 * A page of another site, or a name that was made to resolve to this machine, shows itself by its host or
 * its Origin.
 */
function isLoopbackRequest(request: Request): boolean {
  const host = request.headers.get("host");
  const origin = request.headers.get("origin");
  return (
    isLoopbackUrl(request.url) &&
    (host === null || isLoopbackUrl(`http://${host}`)) &&
    (origin === null || isLoopbackUrl(origin))
  );
}

function isLoopbackUrl(text: string): boolean {
  return URL.canParse(text) && isLoopbackHost(new URL(text).hostname);
}

/** A drop-in request with all that is known of it before it is matched. */
import type { DialectName } from "../../dialects/dialect.ts";
import { thinksManually } from "../../dialects/request/clamp.ts";
import type { GatewayRequest } from "../../dialects/request/read.ts";
import { utf8Bytes } from "../../log/json-edit.ts";
import { appendEvents } from "../../projections/write.ts";
import type { ClientKey } from "../../providers/client-key.ts";
import type { Upstream } from "../../providers/provider.ts";
import { resolveRoute } from "../../providers/routes.ts";
import type { Core } from "../core.ts";
import { type EnvelopeParts, envelopeFields } from "../envelope.ts";
import type { Attempted } from "./retry.ts";

export interface Arrival {
  dialect: DialectName;
  request: GatewayRequest;
  upstream: Upstream;
  route: string;
  /** Headers that go on to the provider, without a key. */
  headers: Headers;
  key: ClientKey | undefined;
  attempted: Attempted;
  session: string;
  /** Aborts when the client leaves before it has an answer. */
  signal: AbortSignal;
}

/** Whose endpoint a client of this dialect speaks to: a bare model is one of theirs. */
export function vendorOf(dialect: DialectName): "anthropic" | "openai" {
  return dialect === "anthropic" ? "anthropic" : "openai";
}

/** Whether the provider is asked to drop bound thinking by itself. */
export function dropsThinking(core: Core, { request, route, dialect }: Arrival): boolean {
  if (dialect !== "anthropic" || !thinksManually(request)) return false;
  return resolveRoute(route, core.parts.config).thinkingBinding === "prefix";
}

/** Logged, so that a session tells why a request went out as it came. */
export function logUnmanaged(core: Core, route: string, because: string): void {
  const { id: branch } = core.branch(null);
  appendEvents(core.log, [
    { type: "request/unmanaged", at: core.parts.now(), branch, meta: { route, because } },
  ]);
}

/** A drop-in request brings its envelope along: what it does not name is not there. */
export function wholeEnvelope(given: EnvelopeParts): EnvelopeParts {
  return Object.fromEntries(envelopeFields.map((field) => [field, given[field] ?? utf8Bytes("null")]));
}

/**
 * Whose key a request to a provider carries: the deployment's secret, or the client's own where the provider
 * is configured with `auth: "forward"`. The client's key lives as long as its request: it travels from the
 * Worker to the object in two headers that no client can set, and is never stored, logged or answered.
 */
import { Refusal } from "../failure.ts";
import type { Upstream } from "./provider.ts";

/** A client's own credentials, each as it was sent. */
export interface ClientKey {
  readonly authorization?: string;
  readonly "x-api-key"?: string;
}

const names = ["authorization", "x-api-key"] as const;

/** Reads a client's credentials from its own request (no prefix), or from the Worker's. */
function read(headers: Headers, prefix: string): ClientKey | undefined {
  const found: { -readonly [K in keyof ClientKey]: ClientKey[K] } = {};
  for (const name of names) {
    const value = headers.get(`${prefix}${name}`);
    if (value !== null && value !== "") found[name] = value;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** What a client shows as its credentials. */
export const shownKey = (headers: Headers): ClientKey | undefined => read(headers, "");

const internal = "plimsoll-forwarded-";

/** The client's key as the Worker passed it on to the object. */
export const forwardedKey = (headers: Headers): ClientKey | undefined => read(headers, internal);

/** Puts a client's key where `forwardedKey` finds it. */
export function passOn(key: ClientKey, headers: Headers): void {
  for (const name of names) {
    const value = key[name];
    if (value !== undefined) headers.set(`${internal}${name}`, value);
  }
}

/**
 * The headers that prove to a provider who calls. An AI Gateway in front of it takes its own token in
 * `cf-aig-authorization` beside the provider's key (Cloudflare, "Authenticated gateway").
 * @throws Refusal `unauthorized` when the provider wants the client's key and there is none.
 */
export function keyHeaders(upstream: Upstream, client?: ClientKey): Record<string, string> {
  const headers: Record<string, string> = {};
  if (upstream.gatewayKey !== undefined) headers["cf-aig-authorization"] = `Bearer ${upstream.gatewayKey}`;
  if (upstream.forward === true) {
    if (client === undefined) {
      throw new Refusal(
        "unauthorized",
        `The provider ${upstream.provider} takes your own key: send it as usual, and the token for Plimsoll as plimsoll-token.`,
      );
    }
    return { ...headers, ...client };
  }
  if (upstream.key === undefined) return headers;
  if (upstream.dialect === "anthropic") return { ...headers, "x-api-key": upstream.key };
  return { ...headers, authorization: `Bearer ${upstream.key}` };
}

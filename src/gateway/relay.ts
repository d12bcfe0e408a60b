/**
 * Every other path below a drop-in base: sent on to the vendor as it came and answered as it comes back,
 * with nothing read and nothing kept (embeddings, files, batches, stored responses). The host is the
 * configured one whatever the path says, no redirect is followed, and neither side learns the other's
 * cookies.
 */
import { Refusal } from "../failure.ts";
import { defaultTimeouts } from "../providers/builtin-providers.ts";
import { type ClientKey, keyHeaders } from "../providers/client-key.ts";
import type { Catalogue } from "../providers/configuration.ts";
import { passedHeaders } from "../providers/passed-headers.ts";
import type { Upstream } from "../providers/provider.ts";
import { upstreamOf } from "../providers/routes.ts";
import type { Vendor } from "./addresses.ts";
import { speaks } from "./models.ts";

export interface RelayParts {
  catalogue: Catalogue;
  /** The Worker's environment, which holds the secrets by name. */
  secrets: object;
  fetch: typeof fetch;
}

/**
 * @param path below the version, with its slash, as the URL has it.
 * @throws Refusal `not-configured`, `unauthorized` (forward without a key), `not-found` (a path that leaves
 * the base), `unreachable`, `timeout`.
 */
export async function relay(
  vendor: Vendor,
  path: string,
  request: Request,
  key: ClientKey | undefined,
  parts: RelayParts,
): Promise<Response> {
  const upstream = vendorUpstream(vendor, parts);
  const url = addressAt(upstream, vendor, path, new URL(request.url).search);
  const headers = passedHeaders(request.headers);
  for (const [name, value] of Object.entries(keyHeaders(upstream, key))) headers.set(name, value);
  const { firstByteMs, idleMs } = upstream.timeouts ?? defaultTimeouts;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), firstByteMs);
  let answer: Response;
  try {
    const { method, body } = request;
    answer = await parts.fetch(url, { method, headers, body, redirect: "manual", signal: abort.signal });
  } catch (cause) {
    if (abort.signal.aborted) throw new Refusal("timeout", "The provider did not answer in time.", { cause });
    throw new Refusal("unreachable", "The provider could not be reached.", { cause });
  } finally {
    clearTimeout(timer);
  }
  return passedOn(answer, idleMs, abort);
}

/** @throws Refusal `not-configured`. */
function vendorUpstream(vendor: Vendor, { catalogue, secrets }: RelayParts): Upstream {
  const provider = catalogue.providers.get(vendor);
  // No request of this path names a model; any name serves to find the way.
  const upstream = upstreamOf(`${vendor}/none`, catalogue, secrets);
  if (upstream !== undefined && speaks(vendor, [upstream.dialect])) return upstream;
  const needs = [provider?.secret, provider?.gatewaySecret].filter((name) => name !== undefined);
  const why =
    upstream === undefined
      ? `its secret is not set (${needs.join(", ")})`
      : "it is not configured with a dialect of its own";
  throw new Refusal("not-configured", `The provider ${vendor} can not be called: ${why}.`);
}

/** @throws Refusal `not-found` when the path leads out of the provider's base. */
function addressAt({ baseUrl }: Upstream, vendor: Vendor, path: string, search: string): URL {
  const base = baseUrl.replace(/\/+$/, "");
  const version = vendor === "anthropic" && !/\/v\d+$/.test(base) ? "/v1" : "";
  const root = new URL(`${base}${version}`);
  const url = new URL(`${base}${version}${path}${search}`);
  if (url.origin === root.origin && url.pathname.startsWith(`${root.pathname}/`)) return url;
  throw new Refusal("not-found", "There is nothing at this path.");
}

function passedOn(answer: Response, idleMs: number, abort: AbortController): Response {
  const headers = passedHeaders(answer.headers);
  // The runtime has unpacked the body.
  if (headers.has("content-encoding")) {
    headers.delete("content-encoding");
    headers.delete("content-length");
  }
  headers.set("plimsoll-managed", "0");
  const { status, statusText } = answer;
  const body = answer.body === null ? null : answer.body.pipeThrough(watched(idleMs, abort));
  return new Response(body, { status, statusText, headers });
}

/** Passes chunks on as they come, and lets go of a provider that falls silent between two. */
function watched(idleMs: number, abort: AbortController): TransformStream<Uint8Array, Uint8Array> {
  let timer: ReturnType<typeof setTimeout>;
  const arm = () => {
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), idleMs);
  };
  return new TransformStream<Uint8Array, Uint8Array>({
    start: arm,
    transform(chunk, controller) {
      arm();
      controller.enqueue(chunk);
    },
    flush: () => clearTimeout(timer),
    cancel: () => clearTimeout(timer),
  });
}

/**
 * The client's own request on its way to a provider: sent as it stands, answered as it comes. Bounded in time; follows no redirect; nothing
 * is retried here. Beside `call.ts`, which asks for summaries, the only place that awaits a provider; `list-request.ts` awaits it through here.
 */

import { concat } from "../log/json-edit.ts";
import { defaultTimeouts } from "./builtin-providers.ts";
import { type ClientKey, keyHeaders } from "./client-key.ts";
import type { Upstream } from "./provider.ts";
import { endpointOf } from "./routes.ts";
import { type Cause, startWatch } from "./watch.ts";

export interface DispatchLimits {
  /** Milliseconds until the first byte, between two bytes of a stream, and for everything. */
  firstByteMs: number;
  idleMs: number;
  totalMs: number;
  /** Bytes of an answer that is not a stream. */
  answerBytes: number;
}

/** A reasoning model may think for minutes before its first byte. */
export const defaultDispatchLimits: DispatchLimits = {
  ...defaultTimeouts,
  totalMs: 3_600_000,
  answerBytes: 33_554_432,
};

export interface DispatchOptions {
  /** The client's, as far as they go on; what concerns the body and the key is set here. */
  headers: Headers;
  key?: ClientKey | undefined;
  signal: AbortSignal;
  /** By default the provider's own timeouts over `defaultDispatchLimits`. */
  limits?: DispatchLimits;
  fetch: typeof fetch;
}

export interface ExchangeOptions {
  signal: AbortSignal;
  limits: DispatchLimits;
  fetch: typeof fetch;
}

export interface Dispatched {
  status: number;
  headers: Headers;
  streams: boolean;
  /** @throws BrokenCall. However the reading ends, the connection is let go. */
  chunks(): AsyncGenerator<Uint8Array, void>;
  /** The whole body. @throws BrokenCall when it breaks off, or is over the limit. */
  whole(): Promise<Uint8Array>;
}

/** The provider could not be reached, fell silent, broke off, or was given up. */
export class BrokenCall extends Error {
  readonly why: Cause | "network" | "stream" | "too-large" | "redirect";

  constructor(why: BrokenCall["why"]) {
    super(why);
    this.name = "BrokenCall";
    this.why = why;
  }
}

/** @throws BrokenCall; Refusal `unauthorized` without the key that the provider wants. */
export async function dispatch(
  upstream: Upstream,
  body: Uint8Array,
  options: DispatchOptions,
): Promise<Dispatched> {
  const { signal, fetch } = options;
  const limits = options.limits ?? { ...defaultDispatchLimits, ...upstream.timeouts };
  const headers = headersFor(upstream, options);
  return await exchange(endpointOf(upstream), { method: "POST", headers, body }, { signal, limits, fetch });
}

/** One request under the limits, followed to no other place. @throws BrokenCall. */
export async function exchange(
  url: string,
  request: Pick<RequestInit, "method" | "headers" | "body">,
  { signal, limits, fetch }: ExchangeOptions,
): Promise<Dispatched> {
  const { totalMs } = limits;
  let watch = startWatch({ signal, totalMs, idleMs: limits.firstByteMs });
  const broken = (why: BrokenCall["why"]) => new BrokenCall(watch.cause() ?? why);
  const sent = fetch(url, { ...request, redirect: "manual", signal: watch.signal });
  let response: Response;
  try {
    response = await watch.over(sent);
  } catch {
    sent
      .then(
        (late) => late.body?.cancel(),
        () => undefined,
      )
      .catch(() => undefined);
    watch.stop();
    throw broken("network");
  }
  watch.alive();
  if (response.status >= 300 && response.status < 400) {
    // Neither we nor a client may be led to another host.
    response.body?.cancel().catch(() => undefined);
    watch.stop();
    throw new BrokenCall("redirect");
  }
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    const reader = response.body?.getReader();
    let begun = false;
    try {
      while (reader !== undefined) {
        const { done, value } = await watch.over(reader.read()).catch(() => {
          throw broken("stream");
        });
        if (done) return;
        if (begun) watch.alive();
        else {
          watch.stop();
          watch = startWatch({ signal, totalMs, idleMs: limits.idleMs });
          begun = true;
        }
        yield value;
      }
    } finally {
      watch.stop();
      reader?.cancel().catch(() => undefined);
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    streams: /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? ""),
    chunks,
    whole: () => collect(chunks(), limits.answerBytes),
  };
}

/** @throws Refusal `unauthorized` when the provider wants the client's key and there is none. */
function headersFor(upstream: Upstream, { headers: given, key }: DispatchOptions): Headers {
  const headers = new Headers(given);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  for (const [name, value] of Object.entries(keyHeaders(upstream, key))) headers.set(name, value);
  return headers;
}

async function collect(chunks: AsyncGenerator<Uint8Array, void>, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of chunks) {
    size += bytes.byteLength;
    if (size > limit) throw new BrokenCall("too-large");
    parts.push(bytes);
  }
  return concat(parts);
}

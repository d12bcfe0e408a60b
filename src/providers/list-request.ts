/**
 * The request for a provider's own list of models, with the deployment's key for it. Bounded in time and in bytes, like
 * every request; nobody waits for it.
 */
import { keyHeaders } from "./client-key.ts";
import { exchange } from "./dispatch.ts";
import type { Upstream } from "./provider.ts";
import { modelsEndpointOf } from "./routes.ts";

export interface ListLimits {
  /** Milliseconds for everything. */
  totalMs: number;
  answerBytes: number;
}

/** The longest public list is about a megabyte. */
export const defaultListLimits: ListLimits = { totalMs: 10_000, answerBytes: 4_194_304 };

/**
 * The decoded list; undefined when the provider answers with anything but 200.
 * @throws when there is no answer, or none that can be read. The message may quote the answer: it is for nobody.
 */
export async function requestList(
  upstream: Upstream,
  fetch: typeof globalThis.fetch,
  { totalMs, answerBytes }: ListLimits,
): Promise<unknown> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), totalMs);
  try {
    const limits = { firstByteMs: totalMs, idleMs: totalMs, totalMs, answerBytes };
    const request = { method: "GET", headers: headersFor(upstream) };
    const { signal } = over;
    const answer = await exchange(modelsEndpointOf(upstream), request, { signal, limits, fetch });
    // Read in any case, so that the connection is let go.
    const body = await answer.whole();
    return answer.status === 200 ? JSON.parse(new TextDecoder().decode(body)) : undefined;
  } finally {
    clearTimeout(timer);
  }
}

function headersFor(upstream: Upstream): Headers {
  const headers = new Headers({ accept: "application/json" });
  if (upstream.dialect === "anthropic") headers.set("anthropic-version", "2023-06-01");
  for (const [name, value] of Object.entries(keyHeaders(upstream))) headers.set(name, value);
  return headers;
}

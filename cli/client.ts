import { setTimeout as sleep } from "node:timers/promises";
import { textOf } from "./raw.ts";

/**
 * The HTTP side of the player: one request, repeated with the same Idempotency-Key while the server is away, so that a
 * server that was killed and started again loses nothing.
 */

export interface Answer {
  status: number;
  body: Uint8Array;
}

export interface RequestOptions {
  /** JSON text of the body, sent as it stands. */
  body?: string;
  /** Idempotency-Key. */
  key?: string;
}

export interface Client {
  /** @throws Error when the server stayed away for longer than the client's patience. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
}

export interface HttpClientOptions {
  /** Bearer token; none for a server in development mode. */
  token?: string;
  /** How long a server may stay away, in milliseconds. */
  patience?: number;
  /** Pause between attempts, in milliseconds. */
  pause?: number;
}

/** A client of the server at `base`, which is an origin with or without a path. */
export function httpClient(base: string, options: HttpClientOptions = {}): Client {
  const { token, patience = 60_000, pause = 250 } = options;
  const origin = base.replace(/\/+$/, "");
  return {
    async request(method, path, { body, key } = {}) {
      const headers: Record<string, string> = {};
      if (token !== undefined) headers.authorization = `Bearer ${token}`;
      if (body !== undefined) headers["content-type"] = "application/json";
      if (key !== undefined) headers["idempotency-key"] = key;
      const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body }) };
      const deadline = Date.now() + patience;
      for (;;) {
        const answer = await attempt(origin + path, init);
        if (answer instanceof Error || isAway(answer)) {
          if (Date.now() + pause < deadline) {
            await sleep(pause);
            continue;
          }
          if (answer instanceof Error) throw new Error(`no answer from ${origin}: ${reasonOf(answer)}`);
        }
        return answer;
      }
    },
  };
}

async function attempt(url: string, init: RequestInit): Promise<Answer | Error> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** A 5xx that is not one of the server's own problem documents comes from what stands before a dead server. */
function isAway(answer: Answer): boolean {
  if (answer.status < 500) return false;
  const code = problemCode(answer);
  return code === undefined || code === "overloaded";
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;
}

/** The stable code of a problem document; undefined for any other answer. */
export function problemCode(answer: Answer): string | undefined {
  try {
    const body: unknown = JSON.parse(textOf(answer.body));
    const code = typeof body === "object" && body !== null && "code" in body ? body.code : undefined;
    return typeof code === "string" ? code : undefined;
  } catch {
    return undefined;
  }
}

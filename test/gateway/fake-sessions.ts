/** A namespace of sessions that does what the test says and remembers what reached it. */
import { createExecutionContext } from "cloudflare:test";
import { parseEnv } from "../../src/env.ts";
import type { Gauge } from "../../src/gateway/admission.ts";
import { createApp } from "../../src/gateway/app.ts";
import type { Gate } from "../../src/gateway/auth.ts";
import type { Sessions } from "../../src/gateway/forward.ts";

export const oneTenant: Gate = { tokens: [{ name: "acme", token: "secret" }], devOpen: false };

export interface Reached {
  name: string;
  request: Request;
  /** The body as it arrived, when the handler read it. */
  text?: string;
}

export type Handler = (reached: Reached, attempt: number) => Promise<Response> | Response;

/** Reads the body and says how long it was. */
export const readAll: Handler = async (reached) => {
  reached.text = await reached.request.text();
  return Response.json({ length: reached.text.length });
};

export interface FakeGateway {
  readonly reached: Reached[];
  /** Names that were turned into ids: the moment at which an object is named. */
  readonly named: string[];
  /** Sends a request with the one tenant's token unless other headers are given. */
  send(
    method: string,
    url: string,
    init?: { headers?: Record<string, string>; body?: BodyInit | null },
  ): Promise<Response>;
}

export interface FakeParts {
  gate?: Gate;
  /** Further variables of the Worker: PROVIDERS, ROUTES, secrets. */
  env?: Record<string, string>;
  gauge?: Gauge;
  now?: () => number;
  /** What answers relayed requests; without it nothing can be reached. */
  fetch?: typeof fetch;
}

export function fakeGateway(handler: Handler = readAll, parts: FakeParts = {}): FakeGateway {
  const reached: Reached[] = [];
  const named: string[] = [];
  const sessions: Sessions<string> = {
    idFromName(name) {
      named.push(name);
      return name;
    },
    get: (name) => ({
      async fetch(request) {
        const entry: Reached = { name, request };
        reached.push(entry);
        return await handler(entry, reached.length);
      },
    }),
  };
  const app = createApp({
    configOf: () => ({ ...parseEnv(parts.env ?? {}), ...(parts.gate ?? oneTenant) }),
    fetch:
      parts.fetch ??
      (async () => {
        throw new Error("no network");
      }),
    ...(parts.gauge === undefined ? {} : { gauge: parts.gauge }),
    ...(parts.now === undefined ? {} : { now: parts.now }),
  });
  return {
    reached,
    named,
    async send(method, url, init = {}) {
      const headers = init.headers ?? { authorization: "Bearer secret" };
      const absolute = url.startsWith("/") ? `https://plimsoll.test${url}` : url;
      const request = new Request(absolute, { method, headers, body: init.body ?? null });
      return await app.fetch(
        request,
        { ...parts.env, SESSIONS: sessions as Sessions },
        createExecutionContext(),
      );
    },
  };
}

/**
 * A body without a known length: `count` chunks of `size` bytes; `taken` counts the chunks that were asked
 * for.
 */
export function chunked(
  count: number,
  size: number,
): { stream: ReadableStream<Uint8Array>; taken: () => number } {
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent++ < count) controller.enqueue(new Uint8Array(size));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, taken: () => sent };
}

export async function codeOf(response: Response): Promise<string> {
  const { code } = await response.json<{ code: string }>();
  return code;
}

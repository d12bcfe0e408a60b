/**
 * A session in this process: the routes over a memory log, without a Worker, a database or a network. What the benches drive
 * when they ask what the engine itself does and costs.
 */
import type { Answer, Client, RequestOptions } from "../cli/client.ts";
import { parseEnv } from "../src/env.ts";
import type { Answered, Idempotency } from "../src/log/idempotency.ts";
import { createMemoryLog } from "../src/log/memory-log.ts";
import type { Meter } from "../src/meter/price.ts";
import { failureOf, problemResponse } from "../src/problem-response.ts";
import { Core } from "../src/session/core.ts";
import { answer } from "../src/session/routes.ts";

/** Milliseconds spent inside `/prepare` and `POST /events`, and the part of them that went into counting tokens. */
export interface Spent {
  requests: number;
  counting: number;
}

export interface LocalSession {
  client: Client;
  core: Core;
  spent: Spent;
}

export function localSession(meter: Meter): LocalSession {
  const spent: Spent = { requests: 0, counting: 0 };
  let ids = 0;
  const core = new Core({
    log: createMemoryLog(),
    idempotency: memoryIdempotency(),
    config: parseEnv({}),
    secrets: {},
    epoch: "bench",
    meter: timed(meter, spent),
    now: () => performance.now(),
    newId: () => `id-${++ids}`,
    fetch: () => Promise.reject(new Error("no network here")),
    callModel: () => Promise.reject(new Error("no model here")),
    wait: () => Promise.resolve(),
    landed: () => {},
    keep: () => undefined,
    defect: () => undefined,
  });
  const client: Client = {
    async request(method, path, options = {}) {
      const from = performance.now();
      const given = await ask(core, method, path, options);
      if (method === "POST") spent.requests += performance.now() - from;
      return given;
    },
  };
  return { client, core, spent };
}

async function ask(core: Core, method: string, path: string, { body, key }: RequestOptions): Promise<Answer> {
  const url = new URL(path.replace(/^\/v1\/sessions\/[^/?]+/, "") || "/", "http://session");
  const init: RequestInit = { method, headers: key === undefined ? {} : { "idempotency-key": key } };
  const request = new Request(url, body === undefined ? init : { ...init, body });
  const query = url.searchParams;
  let response: Response;
  try {
    response = await answer({ core, query, branch: query.get("branch"), path: url.pathname, request });
  } catch (error) {
    core.forget();
    response = problemResponse(failureOf(error));
  }
  return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
}

function timed(meter: Meter, spent: Spent): Meter {
  const timed =
    <A, R>(work: (given: A) => R) =>
    (given: A): R => {
      const from = performance.now();
      const result = work(given);
      spent.counting += performance.now() - from;
      return result;
    };
  return { text: timed(meter.text), message: timed(meter.message), envelope: timed(meter.envelope) };
}

function memoryIdempotency(): Idempotency {
  const kept = new Map<string, Answered>();
  return {
    get: (key) => kept.get(key),
    put: (key, digest, given) => void kept.set(key, { digest, answer: given }),
    purge: () => kept.clear(),
  };
}

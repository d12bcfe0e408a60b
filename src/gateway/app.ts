/**
 * The Worker's side of a session: authenticate, check the id, admit the body, hand the request to the
 * session's object. In that order: no object is named for a request that may not reach it. Holds no rule
 * about sessions.
 */
import { type Context, Hono } from "hono";
import { Refusal } from "../failure.ts";
import { failureOf, problemResponse } from "../problem-response.ts";
import type { Catalogue } from "../providers/configuration.ts";
import { type Address, addressOf, dialectOf } from "./addresses.ts";
import { admit, Gauge } from "./admission.ts";
import { authenticate, type Gate, identify } from "./auth.ts";
import { dialectErrorResponse } from "./dialect-error.ts";
import { dropIn } from "./drop-in.ts";
import { type Destination, forward, type Sessions } from "./forward.ts";
import { openapi } from "./openapi.ts";
import { isId, methodsOf, sessionPath } from "./routes.ts";

export interface GatewayEnv {
  Bindings: { SESSIONS: Sessions };
}

/** Who may enter, and whom the Worker may call. */
export interface GatewayConfig extends Gate, Catalogue {}

export interface GatewayParts {
  /** Read from the Worker's environment. */
  configOf(env: GatewayEnv["Bindings"]): GatewayConfig;
  /** One per isolate. */
  gauge?: Gauge;
  now?: () => number;
  /** For relayed paths. */
  fetch?: typeof fetch;
}

export function createApp(parts: GatewayParts): Hono<GatewayEnv> {
  const gauge = parts.gauge ?? new Gauge();
  const now = parts.now ?? Date.now;
  const app = new Hono<GatewayEnv>();

  const own = { "/healthz": () => ({ ok: true }), "/openapi.json": openapi };
  for (const [path, answer] of Object.entries(own)) {
    app.get(path, (c) => c.json(answer()));
    app.all(path, () => {
      throw notAllowed(["GET"]);
    });
  }

  app.use("*", async (c, next) => {
    const address = addressAt(c);
    if (address === undefined) return await next();
    const catalogue = parts.configOf(c.env);
    const caller = identify(c.req.raw, catalogue);
    const around = { catalogue, sessions: c.env.SESSIONS, secrets: c.env, gauge, now: now() };
    const call: typeof fetch = parts.fetch ?? ((...to) => fetch(...to));
    const answer = dropIn(address, caller, c.req.raw, { ...around, fetch: call });
    c.executionCtx.waitUntil(answer.catch(() => undefined));
    return await answer;
  });

  app.all("/v1/sessions/*", async (c) => {
    const tenant = authenticate(c.req.raw, parts.configOf(c.env));
    const to = destinationOf(c.req.raw, tenant);
    const admitted = admit(c.req.raw, gauge, now());
    const answer = forward(c.env.SESSIONS, to, c.req.raw, admitted).finally(admitted.release);
    // A client that hangs up would end this invocation in the middle; like this it has time to give back
    // what it holds.
    c.executionCtx.waitUntil(answer.catch(() => undefined));
    return answer;
  });

  app.notFound(() => problemResponse(notFound().failure));
  app.onError((error, c) => {
    if (!(error instanceof Refusal)) logDefect(error, c);
    const address = addressAt(c);
    const failure = failureOf(error);
    return address === undefined
      ? problemResponse(failure)
      : dialectErrorResponse(dialectOf(address), failure);
  });
  return app;
}

/** The drop-in address of a request, if it is one. */
function addressAt(c: Context<GatewayEnv>): Address | undefined {
  return addressOf(c.req.raw.method, new URL(c.req.raw.url).pathname);
}

/** @throws Refusal `not-found`, `bad-id`, `method-not-allowed`. */
function destinationOf(request: Request, tenant: string): Destination {
  const { pathname, search } = new URL(request.url);
  const path = sessionPath(pathname);
  if (path === undefined) throw notFound();
  if (!isId(path.id)) {
    throw new Refusal(
      "bad-id",
      "A session id is 1 to 128 of A-Z a-z 0-9 . _ - and begins with a letter or digit.",
    );
  }
  const methods = methodsOf(path.tail);
  if (methods === undefined) throw notFound();
  const method = request.method === "HEAD" ? "GET" : request.method;
  if (!methods.some((known) => known === method)) throw notAllowed(methods);
  return { tenant, session: path.id, tail: path.tail, search };
}

function notFound(): Refusal {
  return new Refusal("not-found", "There is nothing at this path.");
}

function notAllowed(methods: readonly string[]): Refusal {
  return new Refusal("method-not-allowed", "The path does not take this method.", {
    more: { allow: [...methods] },
  });
}

/**
 * Messages of exceptions may quote what a client sent (JSON.parse does), so the log gets the places alone.
 */
function logDefect(error: Error, c: Context<GatewayEnv>): void {
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const places = frames.slice(0, 8).map((line) => line.trim());
  console.error(
    JSON.stringify({ level: "error", at: "gateway", method: c.req.method, name: error.name, places }),
  );
}

/** The native routes: which request is which operation, and what its answer looks like. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { Refusal } from "../failure.ts";
import { append } from "./append.ts";
import { audit } from "./audit.ts";
import { type Body, checked, checkValue, parseBody, readBytes } from "./body.ts";
import { listBranches, openBranch } from "./branches.ts";
import { configure } from "./configure.ts";
import type { Core } from "./core.ts";
import { type EnvelopeParts, envelopeFields, storedEnvelope } from "./envelope.ts";
import type { Prepared } from "./landing.ts";
import { cancel, compactManually, planManually, undoNewest } from "./manual.ts";
import { recover } from "./overflow.ts";
import { prepare } from "./prepare.ts";
import { pressureReport } from "./pressure.ts";
import { checkpoint, checkpointList, eventsAnswer, sessionState, surfaceAnswer } from "./read.ts";
import { type Json, jsonAnswer, renderItems } from "./render.ts";
import {
  appendKeys,
  appendSchema,
  branchSchema,
  configureSchema,
  overflowSchema,
  prepareKeys,
  prepareSchema,
} from "./schemas.ts";

export interface Call {
  core: Core;
  query: URLSearchParams;
  branch: string | null;
  path: string;
  request: Request;
}

type Handler = (call: Call) => Response | Promise<Response>;

const handlers: Record<string, Handler> = {
  "PUT /": async (call) => {
    const given = checked(await bodyOf(call, Object.keys(configureSchema.shape)), configureSchema);
    const created = configure(call.core, given);
    return jsonAnswer(sessionState(call.core, null), {}, created ? 201 : 200);
  },
  "GET /": ({ core, branch }) => jsonAnswer(sessionState(core, branch)),
  "GET /branches": ({ core }) => jsonAnswer(listBranches(core)),
  "POST /branches": async (call) => {
    const { from, name } = checked(await bodyOf(call, ["from", "name"]), branchSchema);
    return jsonAnswer(openBranch(call.core, from, name, call.branch), {}, 201);
  },
  "POST /events": postEvents,
  "GET /events": ({ core, query, branch }) =>
    eventsAnswer(core, number(query, "after") ?? 0, number(query, "limit"), branch),
  "GET /surface": ({ core, query, branch }) => {
    checkDialect(core, query.get("dialect"));
    return surfaceAnswer(core, branch, number(query, "at"));
  },
  "GET /pressure": ({ core, branch }) => jsonAnswer(pressureReport(core, core.branch(branch))),
  "POST /prepare": postPrepare,
  "POST /overflow": async (call) => {
    const report = checked(await bodyOf(call, Object.keys(overflowSchema.shape)), overflowSchema);
    const recovery = await recover(call.core, { ...report, branch: call.branch });
    if (recovery.action === "none") return jsonAnswer({ ...recovery });
    const { head, view, envelope: _, ...json } = recovery;
    return jsonAnswer(json, { messages: messagesAt(call.core, head, view) });
  },
  "POST /compact": postCompact,
  "POST /compact/undo": ({ core, branch }) => jsonAnswer(undoNewest(core, branch)),
  "POST /cancel": ({ core, branch }) => jsonAnswer(cancel(core, branch)),
  "GET /checkpoints": ({ core, branch }) => jsonAnswer(checkpointList(core, branch)),
  "GET /audit": async ({ core, query }) => {
    const { dialect } = core.settings();
    const recount =
      query.get("prices") === "true" ? { dialect: core.dialect(), meter: core.parts.meter } : undefined;
    const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
    return jsonAnswer({ ...(await audit(core.parts.store ?? core.log, recount, pause)), dialect });
  },
};

export function answer(call: Call): Response | Promise<Response> {
  const { method } = call.request;
  const seq = /^\/checkpoints\/(\d{1,15})$/.exec(call.path)?.[1];
  if (method === "GET" && seq !== undefined) return jsonAnswer(checkpoint(call.core, Number(seq)));
  const handler = handlers[`${method} ${call.path}`];
  if (handler === undefined) throw new Refusal("not-found", "There is no such path.");
  return handler(call);
}

async function postEvents(call: Call): Promise<Response> {
  const body = await bodyOf(call, appendKeys);
  const { prepareId, expect, strict = false } = checked(body, appendSchema);
  const items = body.list("items");
  if (items === undefined) throw new Refusal("bad-request", "Items are missing.", { at: "items" });
  const request = { branch: call.branch, items, prepareId, expect, strict };
  const stored = await once<Json>(call, body, (remember) => append(call.core, request, remember));
  return jsonAnswer(stored);
}

async function postPrepare(call: Call): Promise<Response> {
  const body = await bodyOf(call, prepareKeys);
  const { route, maxOutput, strict = false, expect } = checked(body, prepareSchema);
  const envelope: EnvelopeParts = {};
  for (const field of envelopeFields) {
    const raw = body.raw(field);
    if (raw !== undefined) envelope[field] = raw;
  }
  const messages = body.list("messages");
  if (messages === undefined)
    throw new Refusal("bad-request", "Messages are missing; [] is legal.", { at: "messages" });
  const request = { branch: call.branch, envelope, messages, route, maxOutput, strict, expect };
  const stored = await once<Prepared>(call, body, (remember) => prepare(call.core, request, remember));
  const parts = storedEnvelope(call.core.log, stored.envelope).parts;
  return jsonAnswer(stored.json, {
    system: parts.system,
    tools: parts.tools,
    params: parts.params,
    messages: messagesAt(call.core, stored.head, stored.view),
  });
}

async function postCompact(call: Call): Promise<Response> {
  const body = await bodyOf(call, []);
  if (call.query.get("plan") === "true") return jsonAnswer(planManually(call.core, call.branch));
  const command = keyOf(call) ?? call.core.parts.newId();
  const stored = await once<Json>(call, body, async (remember) => {
    const outcome = await compactManually(call.core, call.branch, command);
    remember(outcome);
    return outcome;
  });
  return jsonAnswer(stored);
}

/** The messages of a Surface that was answered before: the same head under the same view renders the same bytes. */
function messagesAt(core: Core, head: number, view: number): Uint8Array[] {
  const items = core.surfaceAt(head, view === 0 ? undefined : core.log.view(view));
  return renderItems(core.log, core.dialect(), items);
}

/**
 * At most once per `Idempotency-Key`: a key seen before gets the first answer and nothing is written; while the first is
 * still being answered, the second waits for it.
 */
async function once<T>(
  call: Call,
  body: Body,
  work: (remember: (answer: T) => void) => T | Promise<T>,
): Promise<T> {
  const key = keyOf(call);
  if (key === undefined) return work(() => {});
  const { core } = call;
  const { idempotency, now } = core.parts;
  const digest = digestOf(call, body);
  const seen = idempotency.get(key, now());
  const flying = core.inFlight.get(key);
  if ((seen?.digest ?? flying?.digest ?? digest) !== digest) {
    throw new Refusal("idempotency-mismatch", "This Idempotency-Key was used with another request.");
  }
  if (seen !== undefined) return seen.answer as T;
  if (flying !== undefined) return (await flying.answer) as T;
  const answered = Promise.resolve(work((result) => idempotency.put(key, digest, result, now())));
  core.inFlight.set(key, { digest, answer: answered });
  try {
    return await answered;
  } finally {
    core.inFlight.delete(key);
  }
}

function keyOf({ request }: Call): string | undefined {
  const key = request.headers.get("idempotency-key") ?? undefined;
  if (key !== undefined && (key === "" || key.length > 256)) {
    throw new Refusal("bad-request", "An Idempotency-Key has 1 to 256 characters.", {
      at: "idempotency-key",
    });
  }
  return key;
}

function digestOf({ request, path, query }: Call, body: Body): string {
  const hash = createHash("sha256").update(`${request.method} ${path}?${query.toString()}\n`);
  return hash.update(body.bytes).digest("hex");
}

async function bodyOf({ request, core, path }: Call, keys: readonly string[]): Promise<Body> {
  const bytes = await readBytes(request);
  const body = parseBody(bytes, keys);
  if (path !== "/") core.settings();
  return body;
}

const seqSchema = z.coerce.number().int().min(0);

function number(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : checkValue(text, seqSchema, name);
}

function checkDialect(core: Core, dialect: string | null): void {
  if (dialect === null || dialect === core.settings().dialect) return;
  throw new Refusal("bad-request", "Only the session's own dialect is rendered.", { at: "dialect" });
}

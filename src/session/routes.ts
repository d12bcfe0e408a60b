/** The native routes: which request is which operation, and what its answer looks like. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { type DialectName, dialectNames } from "../dialects/dialect.ts";
import { Defect, Refusal } from "../failure.ts";
import { append } from "./append.ts";
import { audit } from "./audit.ts";
import { type Body, checked, checkValue, parseBody, readBytes } from "./body.ts";
import { listBranches, openBranch } from "./branches.ts";
import { configure } from "./configure.ts";
import type { Core } from "./core.ts";
import { arrive } from "./dropin/arrive.ts";
import { countTokens } from "./dropin/count.ts";
import { type EnvelopeParts, envelopeFields, storedEnvelope } from "./envelope.ts";
import { enqueue, enqueueSchema } from "./inbox.ts";
import type { Prepared } from "./landing.ts";
import { cancel, compactManually, planManually, undoNewest } from "./manual.ts";
import { runStep, type SteppedRecord, stepAnswer, stepStream } from "./native-step.ts";
import { recover } from "./overflow.ts";
import { prepare } from "./prepare.ts";
import { pressureReport } from "./pressure.ts";
import { checkpoint, checkpointList, eventsAnswer, messagesAt, sessionState, surfaceAnswer } from "./read.ts";
import { type Json, jsonAnswer } from "./render.ts";
import {
  appendKeys,
  appendSchema,
  branchSchema,
  configureSchema,
  dialectSchema,
  overflowSchema,
  prepareKeys,
  prepareSchema,
  stepSchema,
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
    return surfaceAnswer(core, branch, number(query, "at"), dialectIn(query));
  },
  "GET /pressure": ({ core, branch }) => jsonAnswer(pressureReport(core, core.branch(branch))),
  "POST /prepare": postPrepare,
  "POST /overflow": async (call) => {
    const report = checked(await bodyOf(call, Object.keys(overflowSchema.shape)), overflowSchema);
    const recovery = await recover(call.core, { ...report, branch: call.branch });
    if (recovery.action === "none") return jsonAnswer({ ...recovery });
    const { branch, head, view, envelope: _, compaction: __, ...json } = recovery;
    return jsonAnswer(json, { messages: messagesAt(call.core, branch, head, view) });
  },
  "POST /messages": async (call) => {
    const body = await bodyOf(call, ["message", "text"]);
    const { text } = checked(body, enqueueSchema);
    const given = { message: body.raw("message"), text };
    const stored = await once<Json>(call, body, (remember) =>
      enqueue(call.core, call.branch, given, remember),
    );
    return jsonAnswer(stored, {}, 202);
  },
  "POST /steps": postStep,
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

const dropInPath = new RegExp(`^/dropin/(${dialectNames.join("|")})(/count_tokens)?$`);

/** A drop-in request creates its session. */
export function isDropIn(path: string): boolean {
  return dropInPath.test(path);
}

export function answer(call: Call): Response | Promise<Response> {
  const { method } = call.request;
  const seq = /^\/checkpoints\/(\d{1,15})$/.exec(call.path)?.[1];
  if (method === "GET" && seq !== undefined) return jsonAnswer(checkpoint(call.core, Number(seq)));
  const dropIn = method === "POST" ? dropInPath.exec(call.path) : null;
  if (dropIn !== null) {
    const dialect = dropIn[1] as DialectName;
    return dropIn[2] === undefined
      ? arrive(call.core, dialect, call.request)
      : countTokens(call.core, dialect, call.request);
  }
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
  const { strict = false, ...given } = checked(body, prepareSchema);
  const envelope = envelopeParts(body);
  const messages = body.list("messages");
  if (messages === undefined)
    throw new Refusal("bad-request", "Messages are missing; [] is legal.", { at: "messages" });
  const request = { branch: call.branch, envelope, messages, strict, ...given };
  const stored = await once<Prepared>(call, body, (remember) => prepare(call.core, request, remember));
  const parts = storedEnvelope(call.core.log, stored.envelope).parts;
  return jsonAnswer(stored.json, {
    system: parts.system,
    tools: parts.tools,
    params: parts.params,
    messages: messagesAt(call.core, stored.branch, stored.head, stored.view),
  });
}

async function postStep(call: Call): Promise<Response> {
  const { core, request } = call;
  const body = await bodyOf(call, [...prepareKeys, "stream"]);
  const { stream = false, strict = false, ...given } = checked(body, stepSchema);
  const messages = body.list("messages") ?? [];
  const asked = { branch: call.branch, envelope: envelopeParts(body), messages, strict, ...given };
  const key = keyOf(call);
  const own = { stream, key, digest: digestOf(call, body), signal: request.signal };
  if (stream) {
    const before = streamBefore(core, own);
    if (before !== undefined) return await before;
    const { idempotency, now } = core.parts;
    const begun = await runStep(core, { ...asked, ...own }, (record) => {
      if (key !== undefined) idempotency.put(key, own.digest, record, now());
    });
    return "stream" in begun ? begun.stream : stepAnswer(core, begun.record);
  }
  const stored = await once<SteppedRecord>(call, body, async (remember) => {
    const done = await runStep(core, { ...asked, ...own }, remember);
    if ("stream" in done) throw new Defect("a step that does not stream gave a stream");
    return done.record;
  });
  return stepAnswer(core, stored);
}

/** What a streaming step with this Idempotency-Key said, or is saying; undefined when there is none. */
function streamBefore(
  core: Core,
  { key, digest, signal }: { key: string | undefined; digest: string; signal: AbortSignal },
): Promise<Response> | Response | undefined {
  if (key === undefined) return undefined;
  const seen = core.parts.idempotency.get(key, core.parts.now());
  const flying = [...core.flights.values()].find(({ parts }) => parts.key === key);
  if ((seen?.digest ?? flying?.parts.digest ?? digest) !== digest) throw mismatch();
  if (seen !== undefined) return stepStream(core, seen.answer as SteppedRecord);
  return flying?.joinable ? flying.join(signal) : undefined;
}

function envelopeParts(body: Body): EnvelopeParts {
  const envelope: EnvelopeParts = {};
  for (const field of envelopeFields) {
    const raw = body.raw(field);
    if (raw !== undefined) envelope[field] = raw;
  }
  return envelope;
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
    throw mismatch();
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

function mismatch(): Refusal {
  return new Refusal("idempotency-mismatch", "This Idempotency-Key was used with another request.");
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

/** The dialect that an answer is asked for in; undefined: the session's own. */
function dialectIn(query: URLSearchParams): DialectName | undefined {
  const text = query.get("dialect");
  return text === null ? undefined : checkValue(text, dialectSchema, "dialect");
}

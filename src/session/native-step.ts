/**
 * `POST /steps`: one request to the model of the session's route and its reply, for applications without a loop of their own. The step
 * takes along what is posted with it and what waits in the inbox.
 */
import { composeRequest } from "../dialects/request/compose.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import { type EventRow, metaOf } from "../log/events.ts";
import { findNode } from "../projections/tree.ts";
import { renderReply } from "../providers/reply/render.ts";
import { retryAfterMs } from "../providers/retry-after.ts";
import { upstreamOf } from "../providers/routes.ts";
import { Flight } from "../turn/flight.ts";
import type { PrepareRequest } from "./attempt.ts";
import type { Core } from "./core.ts";
import { storedEnvelope } from "./envelope.ts";
import { claimable, claimed, waitingRaws } from "./inbox.ts";
import { ingest } from "./ingest.ts";
import type { Prepared } from "./landing.ts";
import { ownHeaders } from "./outbound/answers.ts";
import { fly } from "./outbound/fly.ts";
import { stepWork } from "./outbound/work.ts";
import { prepare } from "./prepare.ts";
import { currentPressure, pressureJson } from "./pressure.ts";
import { messagesAt } from "./read.ts";
import { type Json, jsonAnswer } from "./render.ts";
import { inProgress, prepareId } from "./steps.ts";

/** A caller of `/steps` has no loop of its own: what passes by itself is waited out here. */
const RETRIES = 2;

export interface StepRequest extends Omit<PrepareRequest, "dispatch"> {
  stream: boolean;
  digest: string;
  key: string | undefined;
  signal: AbortSignal;
}

/** What is remembered of a step that is over: enough to answer again. */
export interface SteppedRecord {
  branch: number;
  step: number;
  prepared: Json;
}

/** @throws Refusal `busy`, `not-configured`, `bad-request`, `irreducible`, `upstream`. */
export async function runStep(
  core: Core,
  request: StepRequest,
  remember: (record: SteppedRecord) => void,
): Promise<{ record: SteppedRecord } | { stream: Response }> {
  const branch = core.branch(request.branch);
  const at = core.parts.now();
  if (core.held.has(branch.id) || inProgress(branch, at))
    throw new Refusal("busy", "A step is in progress on this branch.");
  const { outbound, claims, raws } = outgoing(core, branch, request);
  const flight = new Flight({
    digest: request.digest,
    key: request.key,
    streams: request.stream,
    abandons: core.ground(branch.id, outbound.route).policy.onDisconnect === "abort",
  });
  core.askForList(outbound.route);
  core.held.add(branch.id);
  core.flights.set(branch.id, flight);
  let record: SteppedRecord | undefined;
  let unprepared: Refusal | undefined;
  const flown = fly(
    core,
    {
      dialect: outbound.dialect,
      branch: branch.id,
      prepare: async () => {
        try {
          const dispatch = dispatchOf(core, branch, raws, request.strict);
          const asked = { ...request, messages: raws, route: outbound.route, dispatch };
          const prepared = await prepare(core, asked, () => {});
          record = { branch: branch.id, step: prepared.step, prepared: prepared.json };
          return prepared;
        } catch (error) {
          if (error instanceof Refusal) unprepared = error;
          throw error;
        }
      },
      work: (prepared: Prepared) =>
        stepWork(core, { ...outbound, also: () => [...claimed(core, branch.id, claims)] }, prepared),
    },
    flight,
  );
  const ended = flown.then(() => {
    if (record === undefined || endOf(core, record) === undefined) return false;
    remember(record);
    return true;
  });
  core.parts.keep(ended);
  const answer = await flight.join(request.signal);
  if (request.stream && answer.ok) return { stream: answer };
  const whole = await ended;
  if (unprepared !== undefined) throw unprepared;
  if (whole && record !== undefined) return { record };
  if (flight.abort.signal.aborted) throw new Refusal("cancelled", "The step was cancelled.");
  throw await refusalOf(answer, core.parts.now());
}

function dispatchOf(core: Core, branch: Branch, raws: PrepareRequest["messages"], strict: boolean) {
  const ground = core.ground(branch.id);
  return {
    keys: [],
    reused: [],
    ingested: ingest(ground, branch, raws, { strict, sends: true }),
    request: () => undefined,
  };
}

function outgoing(core: Core, branch: Branch, request: StepRequest) {
  const { config, secrets } = core.parts;
  const route = request.route ?? core.settings().route;
  if (route === null)
    throw new Refusal("bad-request", "The session has no route: name one.", { at: "route" });
  const dialect = core.dialect(branch).name;
  const upstream = upstreamOf(route, config, secrets, dialect);
  if (upstream === undefined || upstream.forward === true || upstream.dialect !== dialect) {
    throw new Refusal(
      "not-configured",
      "The provider of this route can not be called from here in the session's dialect.",
      { at: "route" },
    );
  }
  const claims = claimable(core, branch, request.messages);
  const raws = [...request.messages, ...waitingRaws(core, claims)];
  const head = branch.head === 0 ? undefined : findNode(core.log, branch.head);
  if (raws.length === 0 && (head === undefined || head.type === "message/assistant")) {
    throw new Refusal("bad-request", "There is nothing to answer: post a message first.", { at: "messages" });
  }
  const body = (now: Branch, maxOutput: number | undefined) =>
    composeRequest(dialect, {
      model: upstream.model,
      ...storedEnvelope(core.log, now.envelope).parts,
      messages: messagesAt(core, now.id, now.tip, now.view),
      maxOutput: maxOutput ?? request.maxOutput,
      stream: request.stream,
    });
  const outbound = {
    dialect,
    route,
    upstream,
    headers: () => new Headers(dialect === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
    key: undefined,
    choices: 1,
    hidesUsage: false,
    retries: RETRIES,
    body,
    keysOf: () => [],
    also: () => [],
  };
  return { outbound, claims, raws };
}

/** The `step/end` of a step, if it has come to one. */
function endOf(core: Core, { branch, step }: SteppedRecord) {
  const { log } = core;
  for (let after = step; ; ) {
    const rows = log.read(after, { limit: 50, maxBytes: 1_048_576, branch });
    const end = rows.find((row) => row.step === step && endsStep(row));
    if (end !== undefined)
      return end.type === "step/end" ? { seq: end.seq, meta: metaOf(end, "step/end") } : undefined;
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    after = last.seq;
  }
}

/** A failure that was mended, and the request sent again, is no end. */
function endsStep(row: EventRow): boolean {
  if (row.type === "step/failed") return !metaOf(row, "step/failed").resend;
  return row.type.startsWith("step/");
}

/** What the log holds of a step that is over. */
function stored(core: Core, record: SteppedRecord) {
  const { log } = core;
  const end = endOf(core, record)!;
  const rows = log
    .read(record.step, { limit: 1_000, maxBytes: 64 * 1_048_576, branch: record.branch })
    .filter((row) => row.seq < end.seq);
  const seqs = rows.filter((row) => row.node !== null && row.step === record.step).map(({ seq }) => seq);
  return { rows, seqs, reply: seqs.map((seq) => log.body(seq)), told: end.meta.reply ?? {} };
}

/** The answer, from the log: the reply's messages as they stand there. */
export function stepAnswer(core: Core, record: SteppedRecord): Response {
  const { rows, seqs, reply, told } = stored(core, record);
  const recovered = compactionIn(rows);
  const branch = core.log.branch(record.branch)!;
  const { prepareId: _, ...prepared } = record.prepared;
  return jsonAnswer(
    {
      ...prepared,
      ...(recovered && { compaction: recovered }),
      stepId: prepareId(record.step),
      head: seqs.at(-1) ?? branch.head,
      generation: branch.gen,
      pressure: pressureJson(currentPressure(core, branch)),
      finish: told.finish ?? null,
      model: told.model ?? null,
      usage: told.usage ?? null,
      replySeqs: seqs,
    },
    { reply },
  );
}

/** The reply of a step that streamed, as a stream once more. */
export function stepStream(core: Core, record: SteppedRecord): Response {
  const { reply, told } = stored(core, record);
  const { id = `plimsoll-${record.step}`, model = "", finish, usage, created } = told;
  const whole = { id, model, finish, usage, ...(created !== undefined && { created }) };
  const branch = core.log.branch(record.branch)!;
  const bytes = renderReply(
    core.dialectName(branch),
    { ...whole, choices: [{ index: 0, messages: reply }] },
    { stream: true, includeUsage: true },
  );
  const headers = { ...ownHeaders(core, branch.id, { step: record.step }), "plimsoll-replayed": "1" };
  return new Response(bytes, { headers: { ...headers, "content-type": "text/event-stream" } });
}

/** The newest compaction that ended while the step was on its way: what recovered it. */
function compactionIn(rows: readonly EventRow[]): Json | undefined {
  const end = rows.findLast((row) => row.type === "compaction/end");
  if (end === undefined) return undefined;
  const {
    compaction: id,
    trigger,
    rungs,
    outcome,
    tokensBefore,
    tokensAfter,
  } = metaOf(end, "compaction/end");
  const generations = rows
    .filter((row) => row.type === "surface/replace")
    .map((row) => metaOf(row, "surface/replace"))
    .filter(({ compaction }) => compaction === id)
    .map(({ generation }) => generation);
  return { id, trigger, rungs, outcome, generation: generations.at(-1) ?? null, tokensBefore, tokensAfter };
}

/** Seconds; a longer wait is told as this. */
const LONGEST_WAIT = 86_400;

/** What the clients of the flight were told, as a problem document. */
async function refusalOf(answer: Response, now: number): Promise<Refusal> {
  const { status } = answer;
  const said = (await answer.json().catch(() => null)) as {
    error?: { code?: unknown; message?: unknown };
  } | null;
  const code = said?.error?.code === "context_length_exceeded" ? "irreducible" : "upstream";
  const wait = retryAfterMs(Object.fromEntries(answer.headers), now);
  return new Refusal(
    code,
    code === "irreducible" ? "The request cannot be made to fit." : "The provider did not answer the step.",
    {
      more: {
        upstreamStatus: status,
        ...(wait !== undefined && { retryAfter: Math.min(LONGEST_WAIT, Math.ceil(wait / 1_000)) }),
        ...(typeof said?.error?.message === "string" && { said: said.error.message.slice(0, 500) }),
      },
    },
  );
}

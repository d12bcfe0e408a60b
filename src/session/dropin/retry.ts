/**
 * Proven retries: the same Idempotency-Key, or the same body from an SDK that says that it tries again, or from whoever lost its stream.
 * They join the running step or get the stored reply. Any other equal body asks for a new sample (design.md 8.2).
 */

import type { DialectName } from "../../dialects/dialect.ts";
import type { GatewayRequest } from "../../dialects/request/read.ts";
import { Refusal } from "../../failure.ts";
import type { Branch, EventLog } from "../../log/event-log.ts";
import { type Meta, metaOf } from "../../log/events.ts";
import { findNode } from "../../projections/tree.ts";
import { renderReply } from "../../providers/reply/render.ts";
import type { Flight } from "../../turn/flight.ts";
import type { Core } from "../core.ts";
import { ownHeaders } from "../outbound/answers.ts";

const RETRY_MS = 15 * 60 * 1000;

/** A reply that was stored so shortly before its instance died may never have reached its client. */
const DIED_MS = 30_000;

export interface Attempted {
  digest: string;
  /** Idempotency-Key of the request. */
  key: string | undefined;
  /** `x-stainless-retry-count`: how often the client's SDK has tried before. */
  retries: number;
  streams: boolean;
}

/** A stored reply: its native messages, and what it said beside them. */
export interface StoredReply {
  branch: Branch;
  step: number;
  endedAt: number;
  messages: Uint8Array[];
  told: NonNullable<Meta<"step/end">["reply"]>;
}

/** The running step that the request is a proven retry of. @throws Refusal `idempotency-mismatch`. */
export function flightOf(core: Core, attempted: Attempted): Flight | undefined {
  for (const flight of core.flights.values()) {
    const { digest, key } = flight.parts;
    if (key !== undefined && key === attempted.key) return checked(flight, digest, attempted);
    if (digest === attempted.digest && (attempted.retries > 0 || flight.left))
      return checked(flight, digest, attempted);
  }
  return undefined;
}

function checked(flight: Flight, digest: string, attempted: Attempted): Flight | undefined {
  checkDigest(digest, attempted);
  return flight.joinable && flight.parts.streams === attempted.streams ? flight : undefined;
}

function checkDigest(digest: string, attempted: Attempted): void {
  if (digest === attempted.digest) return;
  throw new Refusal("idempotency-mismatch", "This Idempotency-Key was used with another request.");
}

/** The reply that a finished step of the same request got. @throws Refusal `idempotency-mismatch`. */
export function storedReply(core: Core, attempted: Attempted): StoredReply | undefined {
  const { log } = core;
  const now = core.parts.now();
  for (const branch of log.branches()) {
    const { request } = branch;
    if (request === null || now - request.at > RETRY_MS) continue;
    const byKey = request.key !== undefined && request.key === attempted.key;
    if (byKey) checkDigest(request.digest, attempted);
    const proven =
      byKey ||
      (request.digest === attempted.digest && (attempted.retries > 0 || core.broken.has(request.step)));
    const equal = request.digest === attempted.digest;
    const found = proven || equal ? replyOf(log, branch, request.step) : undefined;
    if (found !== undefined && (proven || diedWith(core, found))) {
      core.given.add(found.step);
      return found;
    }
  }
  return undefined;
}

/** The instance that sent the step is gone, and was gone soon after the reply was there: its client's stream broke with it. */
function diedWith({ log, parts, since, given }: Core, { step, endedAt }: StoredReply): boolean {
  const row = log.event(step);
  const epoch = row && metaOf(row, "step/start").epoch;
  if (epoch === undefined || epoch === parts.epoch || given.has(step)) return false;
  return since - endedAt <= DIED_MS;
}

/** The messages of the step's reply stand at the branch's head, behind its `step/end` alone. */
function replyOf(log: EventLog, branch: Branch, step: number): StoredReply | undefined {
  if (branch.step === step) return undefined;
  const seqs: number[] = [];
  for (let row = findNode(log, branch.head); row?.step === step; row = findNode(log, row.node.parent))
    seqs.unshift(row.seq);
  const last = seqs.at(-1);
  if (last === undefined) return undefined;
  const end = log.read(last, { limit: 1, maxBytes: 1, branch: branch.id })[0];
  if (end?.type !== "step/end") return undefined;
  return {
    branch,
    step,
    endedAt: end.at,
    messages: seqs.map((seq) => log.body(seq)),
    told: metaOf(end, "step/end").reply ?? {},
  };
}

/** The reply of a step that is over, given once more. */
export function answerAgain(
  core: Core,
  dialect: DialectName,
  request: GatewayRequest,
  stored: StoredReply,
): Response {
  const { told, messages, branch, step } = stored;
  const { finish, usage, created } = told;
  const reply = {
    id: told.id ?? `plimsoll-${step}`,
    model: told.model ?? request.model,
    choices: [{ index: 0, messages }],
    finish,
    usage,
    ...(created !== undefined && { created }),
  };
  const how = { stream: request.stream, includeUsage: request.includeUsage };
  const type = request.stream ? "text/event-stream" : "application/json";
  const headers = {
    ...ownHeaders(core, branch.id, { step }),
    "content-type": type,
    "plimsoll-replayed": "1",
  };
  return new Response(renderReply(dialect, reply, how), { headers });
}

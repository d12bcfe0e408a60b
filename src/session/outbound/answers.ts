/** What a client of a drop-in endpoint reads beside the provider's own words: our headers, and our refusals in its dialect. */
import type { DialectName } from "../../dialects/dialect.ts";
import { errorShape } from "../../dialects/error-shape.ts";
import { type Failure, statusOf } from "../../failure.ts";
import { utf8Bytes } from "../../log/json-edit.ts";
import { failureOf } from "../../problem-response.ts";
import type { Measure } from "../../projections/pressure.ts";
import { passedHeaders } from "../../providers/passed-headers.ts";
import { errorFrame, overflowError } from "../../providers/reply/errors.ts";
import type { HeaderMap } from "../../turn/flight.ts";
import type { Core } from "../core.ts";
import { currentPressure } from "../pressure.ts";
import { prepareId } from "../steps.ts";

/** Where the session stands, in the headers of every answer. */
export function ownHeaders(
  core: Core,
  id: number,
  told: {
    step?: number;
    /** Of the request that was answered; by default of the next one. */
    pressure?: Measure | undefined;
    compaction?: { id: string; trigger: string; outcome: string } | undefined;
  } = {},
): HeaderMap {
  const branch = core.log.branch(id);
  if (branch === undefined) return {};
  const { tokens, source } = told.pressure ?? currentPressure(core, branch);
  return {
    "plimsoll-branch": branch.name,
    "plimsoll-generation": String(branch.gen),
    "plimsoll-pressure": `${Math.ceil(tokens)};${source}`,
    ...(told.step !== undefined && { "plimsoll-step": prepareId(told.step) }),
    ...(told.compaction && {
      "plimsoll-compaction": `${told.compaction.id};${told.compaction.trigger};${told.compaction.outcome}`,
    }),
  };
}

/** The provider's headers that concern the client: limits, request id, content type. The body is unpacked already. */
export function passedAnswerHeaders(from: Headers | undefined): HeaderMap {
  if (from === undefined) return {};
  const headers = passedHeaders(from);
  headers.delete("content-length");
  headers.delete("content-encoding");
  return Object.fromEntries(headers);
}

/** A refusal of ours before anything was sent; `frame` tells it inside a stream that began already. */
export function failureAnswer(
  dialect: DialectName,
  error: unknown,
): { status: number; headers: HeaderMap; body: Uint8Array; frame: Uint8Array } {
  const failure = failureOf(error);
  const told = failure.code === "irreducible" ? overflow(dialect, failure) : plain(failure);
  const body = utf8Bytes(JSON.stringify(errorShape(dialect, told)));
  const headers: HeaderMap = { "content-type": "application/json" };
  if (told.status < 500 && told.status !== 409) headers["x-should-retry"] = "false";
  return { status: told.status, headers, body, frame: errorFrame(dialect, told) };
}

function plain({ code, detail, at }: Failure) {
  return { status: statusOf(code), code, message: detail, ...(at !== undefined && { at }) };
}

function overflow(dialect: DialectName, { more }: Failure) {
  return overflowError(dialect, { tokens: Number(more?.tokens ?? 0), limit: Number(more?.ceiling ?? 0) });
}

const causes: Readonly<Record<string, { status: number; message: string }>> = {
  network: { status: 502, message: "The provider could not be reached." },
  stream: { status: 502, message: "The provider broke off before its reply was whole." },
  idle: { status: 504, message: "The provider was silent for too long." },
  timeout: { status: 504, message: "The provider did not finish in time." },
  redirect: { status: 502, message: "The provider answered with a redirect; those are not followed." },
  "too-large": { status: 502, message: "The provider's reply is too large." },
  cancelled: { status: 499, message: "The step was cancelled." },
  client: { status: 499, message: "The client left." },
};

function causeOf(why: string) {
  return { code: "upstream", ...(causes[why] ?? { status: 502, message: why }) };
}

export function brokenAnswer(dialect: DialectName, why: string): { status: number; body: Uint8Array } {
  const told = causeOf(why);
  return { status: told.status, body: utf8Bytes(JSON.stringify(errorShape(dialect, told))) };
}

export function brokenFrame(dialect: DialectName, why: string): Uint8Array {
  return errorFrame(dialect, causeOf(why));
}

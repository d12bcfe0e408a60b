/**
 * A drop-in request arrives: known again, matched to its line, placed on a branch, and sent as a step of that branch. Everything from the
 * match to the hold on the branch is one synchronous stretch.
 */
import type { DialectName } from "../../dialects/dialect.ts";
import { prefixOf, readRequest } from "../../dialects/request/read.ts";
import { Refusal } from "../../failure.ts";
import type { StepRequest } from "../../log/events.ts";
import { forwardedKey } from "../../providers/client-key.ts";
import { routeOfModel } from "../../providers/model-name.ts";
import { passedHeaders } from "../../providers/passed-headers.ts";
import type { Upstream } from "../../providers/provider.ts";
import { upstreamOf } from "../../providers/routes.ts";
import { Flight } from "../../turn/flight.ts";
import { readBytes } from "../body.ts";
import { configure } from "../configure.ts";
import { type Core, effectivePolicy } from "../core.ts";
import type { Prepared } from "../landing.ts";
import { fly } from "../outbound/fly.ts";
import { stepWork } from "../outbound/work.ts";
import { prepare } from "../prepare.ts";
import { type Arrival, dropsThinking, vendorOf, wholeEnvelope } from "./arrival.ts";
import { keysBehind, matched } from "./match.ts";
import { headersOf, stepBody } from "./outgoing.ts";
import { type Placed, place } from "./place.ts";
import { recognize } from "./recognize.ts";
import { relayUnmanaged } from "./relay.ts";
import { type Attempted, answerAgain, flightOf, storedReply } from "./retry.ts";
import { logShadow } from "./shadow.ts";

export async function arrive(core: Core, dialect: DialectName, from: Request): Promise<Response> {
  const body = await readBytes(from);
  const isNew = core.log.end() === 0;
  const seen = recognize(core, dialect, body);
  const prefix = seen.known && { bytes: seen.known.bytes, count: seen.known.count };
  const behind = readRequest(dialect, body, prefix);
  // A list that goes on from a named reply begins anew: its first bytes say nothing about its line.
  const goesOn = behind.previousResponse !== undefined;
  const request = goesOn && prefix !== undefined ? readRequest(dialect, body) : behind;
  const known = goesOn ? undefined : seen.known;
  // What lives at the provider may name no model.
  const model = request.model === "" && request.managed !== true ? "none" : request.model;
  const route = routeOfModel(model, vendorOf(dialect), core.parts.config);
  const upstream = upstreamFor(core, dialect, route);
  const listed = goesOn ? undefined : prefixOf(request, request.skipped + request.messages.length);
  const digests = seen.digests(listed?.bytes ?? 0);
  const attempted = attemptedOf(from.headers, digests.body, request.stream);
  const running = flightOf(core, attempted);
  if (running !== undefined) return running.join(from.signal);
  const stored = storedReply(core, attempted);
  if (stored !== undefined) return answerAgain(core, dialect, request, stored);
  const arrival: Arrival = {
    dialect,
    request,
    route,
    upstream,
    headers: passedHeaders(from.headers),
    key: forwardedKey(from.headers),
    attempted,
    session: from.headers.get("plimsoll-session") ?? "",
    signal: from.signal,
  };
  const { mode } = isNew
    ? effectivePolicy(core.parts.config, route, {})
    : core.ground(core.branch(null).id, route).policy;
  const unmanaged = mode === "off" ? "off" : request.managed === true ? undefined : request.managed.because;
  // Nothing is kept of a session that is off, and none is made for a request that is refused before this.
  if (isNew && unmanaged !== "off") configure(core, { dialect, metadata: { by: "drop-in" } });
  if (unmanaged !== undefined) return relayUnmanaged(core, arrival, unmanaged);
  let placed: Placed;
  try {
    const { raws, keys, match } = matched(core, arrival, known);
    placed = place(core, match, { dialect, raws, keys });
  } catch (error) {
    // What the client sends is wrong, or of a kind that is not known here: the provider is the judge.
    if (!(error instanceof Refusal) || !judgedByProvider.has(error.failure.code)) throw error;
    return relayUnmanaged(core, arrival, error.failure.code);
  }
  const flight = new Flight({
    digest: attempted.digest,
    key: attempted.key,
    streams: request.stream,
    abandons: core.ground(placed.branch, route).policy.onDisconnect === "abort",
  });
  if (dropsThinking(core, arrival)) core.dropping.add(placed.branch);
  else core.dropping.delete(placed.branch);
  core.askForList(route);
  core.flights.set(placed.branch, flight);
  core.parts.keep(
    fly(
      core,
      departureOf(core, arrival, placed, requestOf(arrival, listed && { ...listed, digest: digests.prefix })),
      flight,
    ),
  );
  return flight.join(from.signal);
}

function departureOf(
  core: Core,
  arrival: Arrival,
  { branch: id, raws, ...dispatch }: Placed,
  request: (node: number) => StepRequest,
) {
  const { dialect, route } = arrival;
  const { name, head } = core.log.branch(id)!;
  return {
    dialect,
    branch: id,
    prepare: async () => {
      const asked = {
        branch: name,
        envelope: wholeEnvelope(arrival.request.envelope),
        messages: raws,
        route,
        maxOutput: arrival.request.maxOutput,
        strict: true,
        expect: head,
        dispatch: { ...dispatch, request },
      };
      const prepared = await prepare(core, asked, () => {});
      if (core.ground(id, route).policy.mode === "shadow") logShadow(core, id, route, prepared);
      return prepared;
    },
    work: (prepared: Prepared) =>
      stepWork(
        core,
        {
          ...arrival,
          headers: (now) => headersOf(core, arrival, now),
          choices: arrival.request.n,
          hidesUsage: arrival.request.stream && !arrival.request.includeUsage,
          retries: 0,
          body: (branch, maxOutput) => stepBody(core, arrival, branch, maxOutput),
          keysOf: (branch, messages) => keysBehind(core.log, dialect, branch.tip, messages),
          also: () => [],
        },
        prepared,
      ),
  };
}

const judgedByProvider = new Set<string>([
  "unknown-response",
  "bad-message",
  "result-without-call",
  "not-first",
  "open-calls",
  "late-result",
  "system-is-envelope",
]);

/** What is kept of the request, to know it again. */
function requestOf(
  { attempted }: Arrival,
  prefix: { bytes: number; count: number; digest: string } | undefined,
): (node: number) => StepRequest {
  const { digest, key } = attempted;
  return (node) => ({
    digest,
    ...(key !== undefined && { key }),
    ...(prefix && { prefix: { ...prefix, node } }),
  });
}

function upstreamFor(core: Core, dialect: DialectName, route: string): Upstream {
  const { config, secrets } = core.parts;
  const upstream = upstreamOf(route, config, secrets, dialect);
  if (upstream === undefined) {
    throw new Refusal("not-configured", "The provider of this model has no key here.", { at: "model" });
  }
  if (upstream.dialect === dialect) return upstream;
  throw new Refusal(
    "bad-request",
    "The provider of this model does not speak the dialect of this endpoint.",
    { at: "model" },
  );
}

function attemptedOf(headers: Headers, digest: string, streams: boolean): Attempted {
  const retries = Number(headers.get("x-stainless-retry-count") ?? 0) || 0;
  return { digest, key: keyOf(headers), retries, streams };
}

function keyOf(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key") ?? undefined;
  return key !== undefined && key !== "" && key.length <= 256 ? key : undefined;
}

/**
 * The way from the Worker to a session's object and back: what of a request goes on, and what an exception
 * on the way means.
 */
import { Refusal } from "../failure.ts";
import type { Admitted } from "./admission.ts";

/** The part of a Durable Object namespace that the gateway needs. */
export interface Sessions<Id = unknown> {
  idFromName(name: string): Id;
  get(id: Id): { fetch(request: Request): Promise<Response> };
}

export interface Destination {
  tenant: string;
  session: string;
  /** Path below the session, and the query with its `?`. */
  tail: string;
  search: string;
  /** Further headers of our own for the object. */
  headers?: Headers;
}

/**
 * Headers that may name or prove who sends, besides every `plimsoll-*`: the object gets the outcome, never
 * the proof.
 */
const credentials = ["authorization", "x-api-key", "proxy-authorization", "cookie"];

/**
 * Sends a request to its session's object and answers what the object answers, a WebSocket included.
 * @throws Refusal when the body was cut (its fault), or the object is `overloaded`; whatever else the
 * object threw.
 */
export async function forward(
  sessions: Sessions,
  to: Destination,
  request: Request,
  admitted: Admitted,
): Promise<Response> {
  const method = request.method === "HEAD" ? "GET" : request.method;
  const attempt = async () => {
    // A stub that threw is broken for good, so each attempt takes a new one.
    const stub = sessions.get(sessions.idFromName(`${to.tenant}:${to.session}`));
    const init = { method, headers: headersFor(request.headers, to), body: admitted.body };
    return await stub.fetch(new Request(`https://session${to.tail}${to.search}`, init));
  };
  try {
    const answer = await attempt();
    // An object that answers before it has read the body to its end knows less than the counter.
    const fault = admitted.fault();
    if (fault === undefined) return answer;
    throw fault;
  } catch (error) {
    const fault = admitted.fault() ?? meaningOf(error);
    if (fault !== undefined) throw fault;
    if (method !== "GET" || !flagged(error, "retryable")) throw error;
  }
  try {
    return await attempt();
  } catch (error) {
    throw meaningOf(error) ?? error;
  }
}

function headersFor(given: Headers, to: Destination): Headers {
  const headers = new Headers();
  for (const [name, value] of given) {
    if (!credentials.includes(name) && !name.startsWith("plimsoll-")) headers.append(name, value);
  }
  for (const [name, value] of to.headers ?? []) headers.set(name, value);
  headers.set("plimsoll-tenant", to.tenant);
  headers.set("plimsoll-session", to.session);
  return headers;
}

/** The refusal that an exception stands for, if any: an overloaded object must not be tried again at once. */
function meaningOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!flagged(error, "overloaded")) return undefined;
  return new Refusal("overloaded", "The session has too many requests waiting; try again shortly.");
}

/** Exceptions of a stub carry `retryable` and `overloaded` as own properties. */
function flagged(error: unknown, flag: "retryable" | "overloaded"): boolean {
  return typeof error === "object" && error !== null && (error as Record<string, unknown>)[flag] === true;
}

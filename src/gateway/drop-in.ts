/**
 * What the Worker does with a request on a drop-in path: names its session and hands it to the session's
 * object, lists models, or relays it. Nothing here reads more of a body than where it belongs.
 */
import { modelOf } from "../dialects/opening.ts";
import { Refusal } from "../failure.ts";
import { type ClientKey, passOn } from "../providers/client-key.ts";
import type { Catalogue } from "../providers/configuration.ts";
import type { Address, Target } from "./addresses.ts";
import { type Admitted, admit, type Gauge } from "./admission.ts";
import type { Caller } from "./auth.ts";
import { inDialect } from "./dialect-error.ts";
import { forward, type Sessions } from "./forward.ts";
import { modelAt, modelsAt } from "./models.ts";
import { relay } from "./relay.ts";
import { sessionByHeaders, sessionOf } from "./session-of.ts";

export interface DropInParts {
  catalogue: Catalogue;
  sessions: Sessions;
  secrets: object;
  gauge: Gauge;
  now: number;
  fetch: typeof fetch;
}

/** @throws Refusal, which the app tells in the dialect's shape. */
export async function dropIn(
  address: Address,
  caller: Caller,
  request: Request,
  parts: DropInParts,
): Promise<Response> {
  const { vendor, target } = address;
  if (address.session !== undefined) sessionByHeaders(address.session, request.headers);
  if (target === undefined) throw new Refusal("not-found", "There is nothing at this path.");
  if (target.kind === "relay") return await relay(vendor, target.path, request, caller.key, parts);
  if (target.kind === "step") return await step(address, target, caller, request, parts);
  const { catalogue, secrets } = parts;
  const listed =
    target.model === undefined
      ? modelsAt(vendor, catalogue, secrets, new URL(request.url).searchParams)
      : modelAt(vendor, target.model, catalogue, secrets);
  return Response.json(listed);
}

type Step = Extract<Target, { kind: "step" }>;

async function step(
  address: Address,
  target: Step,
  caller: Caller,
  request: Request,
  { catalogue, sessions, gauge, now }: DropInParts,
): Promise<Response> {
  const coding = request.headers.get("content-encoding") ?? "identity";
  if (coding !== "identity") throw new Refusal("bad-request", "Send the body without a content encoding.");
  const { tenant } = caller;
  let named = sessionByHeaders(address.session, request.headers);
  let admitted = admit(request, gauge, now);
  try {
    const key = caller.key === undefined ? "none" : mayTravel(address.vendor, catalogue);
    if (named === undefined || key === "ask") {
      const bytes = await wholeOf(admitted);
      admitted = { ...admitted, body: bytes };
      named ??= sessionOf(target.dialect, undefined, request.headers, bytes, tenant);
      if (key === "ask" && !namesForwarding(modelOf(bytes), catalogue)) {
        caller = { tenant };
      }
    }
    const headers = internalHeaders(target, request.headers, key === "none" ? undefined : caller.key);
    const { id: session } = named;
    const tail = `/dropin/${target.dialect}${target.endpoint === "count_tokens" ? "/count_tokens" : ""}`;
    const to = { tenant, session, tail, search: new URL(request.url).search, headers };
    const answer = await forward(sessions, to, request, admitted);
    return withSession(await inDialect(target.dialect, answer), session);
  } finally {
    admitted.release();
  }
}

/**
 * Whether the client's key may go to the object: always where the endpoint's own provider takes it; where
 * only others do, the model has to be asked.
 */
function mayTravel(vendor: string, { providers }: Catalogue): "always" | "ask" | "none" {
  if (providers.get(vendor)?.forward === true) return "always";
  return [...providers.values()].some(({ forward }) => forward === true) ? "ask" : "none";
}

function namesForwarding(model: string | undefined, { providers }: Catalogue): boolean {
  const slash = model?.indexOf("/") ?? -1;
  return slash > 0 && providers.get(model!.slice(0, slash))?.forward === true;
}

/** @throws Refusal when the body was cut on its way (its fault). */
async function wholeOf(admitted: Admitted): Promise<Uint8Array> {
  try {
    return new Uint8Array(await new Response(admitted.body).arrayBuffer());
  } catch (error) {
    throw admitted.fault() ?? error;
  }
}

/** Only these and tenant and session; a client's own `plimsoll-*` headers end here, but for what they ask. */
function internalHeaders(target: Step, given: Headers, key: ClientKey | undefined): Headers {
  const headers = new Headers({ "plimsoll-endpoint": target.endpoint, "plimsoll-dialect": target.dialect });
  if (given.get("plimsoll-count") === "full") headers.set("plimsoll-count", "full");
  if (key !== undefined) passOn(key, headers);
  return headers;
}

/** Every answer tells its session, a refusal of the object too. */
function withSession(answer: Response, session: string): Response {
  if (answer.headers.has("plimsoll-session")) return answer;
  const told = new Response(answer.body, answer);
  told.headers.set("plimsoll-session", session);
  return told;
}

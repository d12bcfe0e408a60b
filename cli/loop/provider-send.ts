/** Puts answers on the wire: whole, in pieces, late, or broken in the ways that real streams break. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { WireDialect } from "../../src/dialects/wire.ts";
import { type Refusal, refusal } from "./checks.ts";
import type { ProviderFault } from "./provider-options.ts";
import { errorEvent } from "./wire.ts";

let requests = 0;

/** The provider's name for this request, in both dialects' headers. */
function named(): Record<string, string> {
  const id = `req_${++requests}`;
  return { "x-request-id": id, "request-id": id };
}

export function sendJson(
  response: ServerResponse,
  { status, body }: Refusal,
  headers: Record<string, string> = {},
): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", ...named(), ...headers });
  response.end(JSON.stringify(body));
}

export interface Sending {
  eventsPerWrite: number;
  fault: ProviderFault | undefined;
  /** Called once, when all is ready and only the last piece is left to be written. */
  beforeEnd(): void;
}

/** `left`: the client went away before the end. */
export async function sendEvents(
  response: ServerResponse,
  dialect: WireDialect,
  events: readonly string[],
  { eventsPerWrite, fault, beforeEnd }: Sending,
): Promise<"sent" | "left" | "broken"> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...named() });
  if (fault !== undefined && fault.do !== "slow") return await breakOff(response, dialect, events, fault);
  const size = fault === undefined ? eventsPerWrite : 1;
  for (let from = 0; from < events.length; from += size) {
    if (fault !== undefined) await sleep(fault.everyMs);
    if (response.destroyed) return "left";
    const piece = events.slice(from, from + size).join("");
    const last = from + size >= events.length;
    if (last) beforeEnd();
    response.write(piece);
    // Without a turn of the loop the pieces leave as one.
    if (!last) await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
  return "sent";
}

async function breakOff(
  response: ServerResponse,
  dialect: WireDialect,
  events: readonly string[],
  fault: ProviderFault,
): Promise<"broken"> {
  const after = "after" in fault && fault.after !== undefined ? fault.after : 4;
  const opening = events.slice(0, Math.min(after, events.length - 1)).join("");
  await new Promise<void>((resolve) => {
    response.write(opening === "" ? ": \n\n" : opening, () => resolve());
  });
  if (fault.do === "cut") response.end();
  else if (fault.do === "error-event")
    response.end(errorEvent(dialect, streamError(dialect, fault.overflow)));
  else if (fault.do === "die") {
    // The bytes must be on their way before the connection breaks.
    await sleep(5);
    response.destroy();
  }
  return "broken";
}

/** An error behind status 200; an overflow comes like this from Responses and from some chat servers. */
function streamError(dialect: WireDialect, overflow = false): unknown {
  const message = overflow
    ? "Your input exceeds the context window of this model. Please adjust your input and try again."
    : "Overloaded";
  const code = overflow ? "context_length_exceeded" : "server_error";
  if (dialect === "openai-responses") return { type: "error", code, message, param: null };
  if (dialect === "anthropic" && overflow)
    return refusal(dialect, 400, "invalid_request_error", "prompt is too long: 40000 tokens > 32000 maximum")
      .body;
  return refusal(dialect, 529, dialect === "anthropic" ? "overloaded_error" : "server_error", message, code)
    .body;
}

/** From a request to what leaves on its socket: faults first, then the core's answer, then the books. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { WireDialect } from "../../src/dialects/wire.ts";
import type { Refusal } from "./checks.ts";
import { rateLimit, serverError } from "./failures.ts";
import { type Json, objectOf, textOf } from "./json.ts";
import type { Ledger } from "./ledger.ts";
import { type Answer, createCore } from "./provider-core.ts";
import type { ProviderFault, ProviderOptions } from "./provider-options.ts";
import { sendEvents, sendJson } from "./provider-send.ts";
import { bodyOf, eventsOf } from "./wire.ts";

export interface Desk {
  serve(
    response: ServerResponse,
    dialect: WireDialect,
    headers: Headers,
    body: Json | undefined,
  ): Promise<void>;
  count(response: ServerResponse, dialect: WireDialect, headers: Headers, body: Json | undefined): void;
}

/** `queue`: faults for the next requests, taken from its front. */
export function createDesk(options: ProviderOptions, ledger: Ledger, queue: ProviderFault[]): Desk {
  const core = createCore(options, ledger);

  function faultFor(dialect: WireDialect, headers: Headers, body: Json): ProviderFault | undefined {
    const nth = ledger.requested();
    const every = options.faultEvery;
    const fault =
      queue.shift() ??
      options.fault?.({ nth, dialect, headers, body }) ??
      (every !== undefined && nth % every.every === 0 ? every.fault : undefined);
    if (fault !== undefined) ledger.failed(fault);
    return fault;
  }

  async function serve(
    response: ServerResponse,
    dialect: WireDialect,
    headers: Headers,
    body: Json | undefined,
  ): Promise<void> {
    const fault = faultFor(dialect, headers, body ?? {});
    if (fault?.do === "hang") return;
    if (fault?.do === "status") return sendJson(response, failure(dialect, fault.status), fault.headers);
    if (fault?.do === "garbage") return sendGarbage(response, fault.body);
    const answer = core.answer(dialect, headers, body);
    if (options.delayMs !== undefined) await sleep(options.delayMs);
    if ("refused" in answer) return refuse(response, answer.refused);
    await reply(response, dialect, { ...answer, stream: body?.stream === true, fault });
  }

  async function reply(
    response: ServerResponse,
    dialect: WireDialect,
    {
      reply: made,
      bill,
      stream,
      fault,
    }: Extract<Answer, { reply: unknown }> & { stream: boolean; fault: ProviderFault | undefined },
  ): Promise<void> {
    if (!stream) {
      if (fault?.do === "stall") return;
      if (fault !== undefined && fault.do !== "slow") return void response.destroy();
      if (fault?.do === "slow") await sleep(fault.everyMs);
      if (response.destroyed) return ledger.abandoned();
      bill();
      return sendJson(response, { status: 200, body: bodyOf(dialect, made) });
    }
    const outcome = await sendEvents(response, dialect, eventsOf(dialect, made), {
      eventsPerWrite: options.eventsPerWrite ?? 8,
      fault,
      beforeEnd: bill,
    });
    if (outcome === "left") ledger.abandoned();
  }

  function refuse(response: ServerResponse, refused: Refusal): void {
    const { error } = (objectOf(refused.body) ?? {}) as { error?: Json };
    ledger.refused(refused.kind ?? "key", textOf(error?.message));
    sendJson(response, refused);
  }

  return {
    serve,
    count(response, dialect, headers, body) {
      ledger.counted();
      const counted = core.count(dialect, headers, body);
      if ("refused" in counted) return refuse(response, counted.refused);
      const named = dialect === "anthropic" ? {} : { object: "response.input_tokens" };
      sendJson(response, { status: 200, body: { ...named, input_tokens: counted.tokens } });
    },
  };
}

function failure(dialect: WireDialect, status: number): Refusal {
  return status === 429 ? rateLimit(dialect) : serverError(dialect, status);
}

function sendGarbage(response: ServerResponse, text = "<html>bad gateway</html>"): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(text);
}

/**
 * The one Durable Object class: one session, one log, one SQLite database. Builds the parts, exposes fetch, sockets and the alarm;
 * holds no rule.
 */
import { DurableObject } from "cloudflare:workers";
import { configOf } from "./env.ts";
import { Defect, Refusal } from "./failure.ts";
import { acceptLive, announce, closeLive, onLiveClose, onLiveMessage, publish } from "./live/sockets.ts";
import { createIdempotency } from "./log/idempotency.ts";
import { createKeptLog } from "./log/kept-log.ts";
import { isMigrated, migrate } from "./log/migrations.ts";
import { createSqliteLog } from "./log/sqlite-log.ts";
import { createMeter } from "./meter/price.ts";
import { countTokens } from "./meter/vocabulary.ts";
import { failureOf, problemResponse } from "./problem-response.ts";
import { callModel } from "./providers/call.ts";
import { Core } from "./session/core.ts";
import { liveSource, pressureNote } from "./session/live-source.ts";
import { answer, isDropIn } from "./session/routes.ts";
import { closeLeftovers, dueAt } from "./session/upkeep.ts";

const meter = createMeter(countTokens);

export class SessionObject extends DurableObject<Env> {
  private readonly epoch = crypto.randomUUID();
  private core: Core | undefined;
  /** Time of the alarm that is known to be set. */
  private armed = Number.POSITIVE_INFINITY;
  /** The pressure that the sockets were told last. */
  private toldPressure = "";

  override async fetch(request: Request): Promise<Response> {
    try {
      const url = new URL(request.url);
      if (request.method === "DELETE" && url.pathname === "/") return await this.erase();
      const creates = request.method === "PUT" ? url.pathname === "/" : isDropIn(url.pathname);
      const core = this.open(creates);
      if (url.pathname === "/live") return this.live(core, request);
      const call = {
        core,
        query: url.searchParams,
        branch: url.searchParams.get("branch"),
        path: url.pathname,
        request,
      };
      try {
        // The work is the session's: it goes on when the client leaves.
        const answered = Promise.resolve(answer(call));
        this.ctx.waitUntil(answered.catch(() => {}));
        const response = await answered;
        // What was only passed on, or counted, leaves nothing behind.
        if (core.log.end() === 0 && this.core === core) await this.drop();
        return response;
      } catch (error) {
        core.forget();
        if (this.core !== core) throw new Refusal("unknown-session", "The session was erased meanwhile.");
        if (core.log.end() === 0) await this.drop();
        throw error;
      } finally {
        await this.settle(core);
      }
    } catch (error) {
      const defect = error instanceof Refusal ? error.cause : error;
      if (defect !== undefined) reportDefect(defect);
      return problemResponse(failureOf(error));
    }
  }

  override async alarm(): Promise<void> {
    this.armed = Number.POSITIVE_INFINITY;
    const core = this.opened();
    if (core === undefined) return;
    core.parts.idempotency.purge(Date.now());
    closeLeftovers(core);
    await this.settle(core);
  }

  override webSocketMessage(ws: WebSocket): void {
    onLiveMessage(ws);
  }

  override webSocketClose(ws: WebSocket, code: number, reason: string): void {
    onLiveClose(ws, code, reason);
  }

  private live(core: Core, request: Request): Response {
    core.settings();
    this.toldPressure = "";
    return acceptLive(
      this.ctx,
      request,
      request.headers.get("plimsoll-tenant") ?? "",
      liveSource(core),
      Date.now(),
    );
  }

  /** @throws Refusal `unknown-session`; asking creates no database. */
  private open(create: boolean): Core {
    const core = this.opened() ?? (create ? this.build() : undefined);
    if (core === undefined) throw new Refusal("unknown-session", "There is no such session.");
    return core;
  }

  private opened(): Core | undefined {
    if (this.core !== undefined) return this.core;
    if (!isMigrated(this.ctx.storage.sql)) return undefined;
    const core = this.build();
    core.parts.idempotency.purge(Date.now());
    closeLeftovers(core);
    return core;
  }

  private build(): Core {
    const { storage } = this.ctx;
    storage.transactionSync(() => migrate(storage.sql));
    const store = createSqliteLog(storage, () => this.tellSockets());
    this.core = new Core({
      log: createKeptLog(store),
      store,
      idempotency: createIdempotency(storage.sql),
      config: configOf(this.env),
      secrets: this.env,
      epoch: this.epoch,
      meter,
      now: () => Date.now(),
      newId: () => crypto.randomUUID(),
      fetch: (input, init) => fetch(input, init),
      callModel,
      wait,
      landed: () => this.ctx.waitUntil(this.settle(this.core!)),
      keep: (work) => this.ctx.waitUntil(work.catch(() => {})),
      onlookers: {
        present: () => this.ctx.getWebSockets().length > 0,
        tell: (note) => announce(this.ctx.getWebSockets(), note, Date.now()),
      },
      defect: reportDefect,
    });
    return this.core;
  }

  /** After each commit. The runtime holds the frames back until what they tell is on disk. Never throws: what was written stands. */
  private tellSockets(): void {
    const sockets = this.ctx.getWebSockets();
    if (sockets.length === 0 || this.core === undefined) return;
    try {
      publish(sockets, liveSource(this.core), Date.now());
      const note = pressureNote(this.core);
      const text = JSON.stringify(note);
      if (text === this.toldPressure) return;
      this.toldPressure = text;
      announce(sockets, note, Date.now());
    } catch (error) {
      reportDefect(error);
    }
  }

  /** After each operation: keeps the one alarm. */
  private async settle(core: Core): Promise<void> {
    if (this.core !== core) return;
    const due = dueAt(core);
    if (due === undefined || due >= this.armed) return;
    this.armed = due;
    await this.ctx.storage.setAlarm(due);
  }

  private async erase(): Promise<Response> {
    const core = this.opened();
    if (core === undefined) throw new Refusal("unknown-session", "There is no such session.");
    for (const running of core.running.values()) running.abort.abort();
    for (const flight of core.flights.values()) flight.abort.abort("cancelled");
    closeLive(this.ctx.getWebSockets(), "erased");
    await this.drop();
    return new Response(null, { status: 204 });
  }

  /** Leaves nothing: of an erased session, or of a first write that was refused. */
  private async drop(): Promise<void> {
    this.core = undefined;
    this.armed = Number.POSITIVE_INFINITY;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** For the operator's log: what broke and where. Messages of foreign errors may quote a client's data, so only ours are told. */
function reportDefect(error: unknown): void {
  const { name, message, stack = "" } = error instanceof Error ? error : new Error("not an error");
  const at = stack
    .split("\n")
    .filter((line) => line.trimStart().startsWith("at "))
    .slice(0, 8);
  console.error(
    JSON.stringify({ level: "error", name, ...(error instanceof Defect ? { message } : {}), at }),
  );
}

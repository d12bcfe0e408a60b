/**
 * Stands in for the session object until `src/session-object.ts` is there: keeps a list of events in SQLite
 * and serves the routes that the tests of the gateway and of the live feed need. Not part of Plimsoll.
 */
import { DurableObject } from "cloudflare:workers";
import { Refusal } from "../../src/failure.ts";
import { failureOf, problemResponse } from "../../src/gateway/problem-response.ts";
import type { FeedSource } from "../../src/live/feed.ts";
import type { WireEvent } from "../../src/live/protocol.ts";
import { acceptLive, closeLive, onLiveMessage, publish } from "../../src/live/sockets.ts";

export class SessionObject extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    try {
      return await this.#answer(request);
    } catch (error) {
      return problemResponse(failureOf(error));
    }
  }

  override webSocketMessage(ws: WebSocket, data: string | ArrayBuffer): void {
    onLiveMessage(ws, data, this.#source(), Date.now());
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const sql = this.ctx.storage.sql;
    if (request.method === "PUT") {
      await request.json();
      sql.exec("CREATE TABLE IF NOT EXISTS event(seq INTEGER PRIMARY KEY, type TEXT, body TEXT)");
      this.#append([["session/created", "{}"]]);
      return Response.json({}, { status: 201 });
    }
    const tables = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'event'").toArray();
    if (tables.length === 0) throw new Refusal("unknown-session", "There is no such session.");
    if (url.pathname === "/live") {
      const tenant = request.headers.get("plimsoll-tenant") ?? "";
      return acceptLive(this.ctx, request, tenant, this.#source(), Date.now());
    }
    if (request.method === "DELETE") {
      closeLive(this.ctx.getWebSockets(), "erased");
      await this.ctx.storage.deleteAll();
      return new Response(null, { status: 204 });
    }
    if (url.pathname === "/events" && request.method === "POST") {
      const { items } = await request.json<{ items: { message: unknown }[] }>();
      const seqs = this.#append(items.map((item) => ["message/user", JSON.stringify(item.message)]));
      return Response.json({ seqs });
    }
    const after = Number(url.searchParams.get("after") ?? 0);
    const events = this.#source()
      .read(after, 4 << 20)
      .map((event) => ({ ...event, body: JSON.parse(String(event.body)) }));
    return Response.json({ events, next: null });
  }

  #append(rows: readonly (readonly [type: string, body: string])[]): number[] {
    const before = this.#source().end();
    for (const [type, body] of rows) {
      this.ctx.storage.sql.exec("INSERT INTO event(type, body) VALUES(?, ?)", type, body);
    }
    const events = this.#source().read(before, Number.POSITIVE_INFINITY);
    publish(this.ctx.getWebSockets(), events, this.#source(), Date.now());
    return events.map((event) => event.seq);
  }

  #source(): FeedSource {
    const sql = this.ctx.storage.sql;
    return {
      end: () => Number(sql.exec("SELECT max(seq) AS seq FROM event").one().seq ?? 0),
      read: (after, maxBytes) => {
        const events: WireEvent[] = [];
        let bytes = 0;
        for (const row of sql.exec("SELECT seq, type, body FROM event WHERE seq > ? ORDER BY seq", after)) {
          const body = String(row.body);
          bytes += body.length;
          if (events.length > 0 && bytes > maxBytes) break;
          events.push({ seq: Number(row.seq), type: String(row.type), at: 0, branch: "main", body });
        }
        return events;
      },
    };
  }
}

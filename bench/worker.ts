/**
 * The Worker that the benches measure objects in: sessions as they are, a bare object that does nothing but insert, and
 * routes that drive both from inside, so that what is compared shares Worker and transport. Local workerd lets the clock run
 * during CPU work.
 */
import { DurableObject } from "cloudflare:workers";
import type { BodyFacts, NewEvent } from "../src/log/events.ts";
import { createSqliteLog } from "../src/log/sqlite-log.ts";
import { createMeter } from "../src/meter/price.ts";
import { countTokens } from "../src/meter/vocabulary.ts";
import { appendEvents } from "../src/projections/write.ts";
import { SessionObject } from "../src/session-object.ts";
import { textOf } from "./texts.ts";

interface BenchEnv {
  SESSIONS: DurableObjectNamespace;
  BARE: DurableObjectNamespace;
}

/** A call to an object: what a Worker pays for one. */
const base = "https://object";
const encoder = new TextEncoder();

/** Takes the same request as a session and inserts its bytes under a seq. */
export class BareObject extends DurableObject {
  private readonly sql = this.ctx.storage.sql;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.sql.exec("CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)");
  }

  override async fetch(request: Request): Promise<Response> {
    const body = new Uint8Array(await request.arrayBuffer());
    const { seq } = this.sql
      .exec<{ seq: number }>("INSERT INTO event (body) VALUES (?) RETURNING seq", body)
      .one();
    return Response.json({ seq });
  }
}

/** A session that can be filled and evicted at will. */
export class BenchSession extends SessionObject {
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/bench/evict") this.ctx.abort("evicted");
    if (pathname !== "/bench/fill") return super.fetch(request);
    this.fill(Number(searchParams.get("messages")), searchParams.get("words") ?? "");
    return Response.json({});
  }

  /** Appends short messages as events, weighed by their bytes alone. To be followed by an eviction. */
  private fill(messages: number, words: string): void {
    const log = createSqliteLog(this.ctx.storage);
    for (let from = 0; from < messages; from += 1_000) {
      const most = Math.min(messages, from + 1_000);
      const events = Array.from({ length: most - from }, (_, i) => shortMessage(from + i, words));
      appendEvents(log, events);
    }
  }
}

function shortMessage(n: number, words: string): NewEvent {
  const role = n % 2 === 0 ? "user" : "assistant";
  const body = encoder.encode(JSON.stringify({ role, content: `${words} ${n % 100}` }));
  const facts: BodyFacts = {
    price: 12 + Math.ceil(body.byteLength / 4),
    bytes: body.byteLength,
    images: 0,
    sampled: false,
    mend: false,
    thinking: false,
  };
  return { type: `message/${role}`, at: Date.now(), branch: 2, meta: {}, body, facts, turn: role === "user" };
}

/** One message per call, one call after the other or `at` of them at a time; answers milliseconds for all. */
async function append(stub: DurableObjectStub, bodies: readonly Uint8Array[], at: number): Promise<number> {
  const from = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < bodies.length) {
      const body = bodies[next++]!;
      const response = await stub.fetch(`${base}/events`, { method: "POST", body });
      const answer = await response.text();
      if (!response.ok) throw new Error(answer);
    }
  };
  await Promise.all(Array.from({ length: at }, lane));
  return performance.now() - from;
}

function bodiesOf(count: number, size: number, seed: number): Uint8Array[] {
  return Array.from({ length: count }, (_, n) => {
    const message = { role: n % 2 === 0 ? "user" : "assistant", content: textOf(size, seed + n) };
    return encoder.encode(JSON.stringify({ items: [{ type: "message", message }] }));
  });
}

const meter = createMeter(countTokens);

function count(texts: readonly string[]): number {
  const from = performance.now();
  for (const text of texts) meter.message([{ type: "text", text }]);
  return performance.now() - from;
}

async function timed(work: () => Promise<Response>): Promise<number> {
  const from = performance.now();
  const response = await work();
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return performance.now() - from;
}

async function drive(url: URL, env: BenchEnv): Promise<unknown> {
  const text = (name: string) => url.searchParams.get(name) ?? "";
  const number = (name: string) => Number(text(name));
  const namespace = text("kind") === "bare" ? env.BARE : env.SESSIONS;
  const stub = () => namespace.get(namespace.idFromName(text("id")));
  switch (url.pathname) {
    case "/bench/append": {
      const bodies = bodiesOf(number("calls"), number("size"), number("seed"));
      return { ms: await append(stub(), bodies, number("at")) };
    }
    case "/bench/count":
      return {
        ms: count(
          Array.from({ length: number("calls") }, (_, n) => textOf(number("size"), number("seed") + n)),
        ),
      };
    case "/bench/call": {
      const init: RequestInit = { method: text("method") };
      if (text("body") !== "") init.body = text("body");
      return { ms: await timed(() => stub().fetch(base + text("path"), init)) };
    }
    case "/bench/open": {
      await stub()
        .fetch(`${base}/bench/evict`)
        .catch(() => undefined);
      const fresh = stub();
      return { ms: await timed(() => fresh.fetch(base + text("path"))) };
    }
    default:
      throw new Error("no such route");
  }
}

export default {
  async fetch(request, env) {
    try {
      return Response.json(await drive(new URL(request.url), env));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
} satisfies ExportedHandler<BenchEnv>;

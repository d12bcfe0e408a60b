/**
 * A session in a real object with a model provider behind it: speaks HTTP like a harness does, kills the object, and reads the
 * log back. The provider is the strict fake, put in the place of the global `fetch`.
 */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { expect, vi } from "vitest";
import type { EventRow } from "../../src/log/events.ts";
import { isMigrated } from "../../src/log/migrations.ts";
import { createSqliteLog } from "../../src/log/sqlite-log.ts";
import { type SessionClient, sessionClient } from "./client.ts";
import { textOf } from "./naive-messages.ts";
import { createStrictProvider, type StrictProvider } from "./strict-provider.ts";
import { words } from "./talk.ts";

const PROVIDERS = JSON.stringify({ model: { baseUrl: "https://model.test/v1", dialects: ["openai-chat"] } });
const ROUTES = JSON.stringify({ "model/m": { window: 8_000, ratio: 1 } });

export interface Prepared {
  prepareId: string;
  seqs: number[];
  head: number;
  generation: number;
  messages: unknown[];
  compaction: { id: string; rungs: string[]; outcome: string } | null;
}

export class Harness {
  readonly session: SessionClient = sessionClient();
  readonly provider: StrictProvider = createStrictProvider();
  /** JSON of every message whose append or prepare was answered with success, in order. */
  readonly acknowledged: string[] = [];
  /** The provider does not answer at all, not even to an abort. */
  deaf = false;
  private serial = 0;

  static async open(): Promise<Harness> {
    const harness = new Harness();
    vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
      harness.deaf ? new Promise(() => undefined) : harness.provider.fetch(input, init),
    );
    await harness.wake();
    await harness.session.expect(201, "PUT", "/", { dialect: "openai-chat", route: "model/m" });
    return harness;
  }

  /** Gives the object's newest instance its configuration, which a test cannot bind. Touches nothing else of it. */
  async wake(): Promise<void> {
    await runInDurableObject(this.session.stub(), (instance) => {
      const held = instance as unknown as { env: object };
      held.env = { ...held.env, PROVIDERS, ROUTES };
    });
  }

  /** The power fails: every instance is gone at once, whatever it was doing. */
  async crash(): Promise<void> {
    await abortAllDurableObjects();
    await this.wake();
  }

  user(size = 60): object {
    return { role: "user", content: words(`user ${++this.serial}`, size) };
  }

  reply(size = 60): object {
    return { role: "assistant", content: words(`reply ${++this.serial}`, size) };
  }

  async say(...messages: object[]): Promise<void> {
    const items = messages.map((message) => ({ type: "message", message }));
    await this.session.expect(200, "POST", "/events", { items });
    this.acknowledged.push(...messages.map((message) => JSON.stringify(message)));
  }

  /** Turns that bring the session over its threshold. */
  async fill(turns = 22): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await this.say(this.user(700), this.reply(700));
  }

  async prepare(messages: object[] = [this.user()], headers: Record<string, string> = {}): Promise<Prepared> {
    const response = await this.session.request("POST", "/prepare", { messages }, headers);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    this.acknowledged.push(...messages.map((message) => JSON.stringify(message)));
    return JSON.parse(text) as Prepared;
  }

  /** Starts an operation that will hang in the model's call, and waits until it does. */
  async hanging(start: () => Promise<unknown>): Promise<{ over: Promise<unknown> }> {
    const before = this.provider.requests.length;
    const over = start().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await expect.poll(() => this.provider.requests.length, { timeout: 5_000 }).toBeGreaterThan(before);
    return { over };
  }

  async running(): Promise<{ kind: string; id: string }[]> {
    return (await this.session.expect<{ running: { kind: string; id: string }[] }>(200, "GET", "/")).running;
  }

  /** The rows as they lie in the database, read without waking the session. */
  async rows(): Promise<EventRow[]> {
    return await runInDurableObject(this.session.stub(), (_, { storage }) =>
      isMigrated(storage.sql)
        ? createSqliteLog(storage).read(0, { limit: 100_000, maxBytes: Number.MAX_SAFE_INTEGER })
        : [],
    );
  }

  async ends(): Promise<string[]> {
    const rows = await this.rows();
    return rows
      .filter(({ type }) => type === "compaction/end")
      .map(({ meta }) => (meta as { outcome: string }).outcome);
  }

  async alarm(): Promise<number | null> {
    return await runInDurableObject(this.session.stub(), (_, { storage }) => storage.getAlarm());
  }

  /** Nothing acknowledged is lost or doubled, no projection drifts, no operation is open. */
  async checkWhole(): Promise<void> {
    expect(await this.session.expect(200, "GET", "/audit?prices=true")).toMatchObject({
      ok: true,
      drift: [],
    });
    const bodies = await runInDurableObject(this.session.stub(), (_, { storage }) => {
      const log = createSqliteLog(storage);
      const rows = log.read(0, { limit: 100_000, maxBytes: Number.MAX_SAFE_INTEGER });
      return rows.filter(({ type }) => type.startsWith("message/")).map(({ seq }) => textOf(log.body(seq)));
    });
    const known = new Set(this.acknowledged);
    expect(bodies.filter((body) => known.has(body))).toEqual(this.acknowledged);
    expect((await this.running()).filter(({ kind }) => kind === "compaction")).toEqual([]);
  }
}

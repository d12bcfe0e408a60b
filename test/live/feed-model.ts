/**
 * A log, an object that dies between a commit and what should follow it, and clients: the world around the
 * feed, without a runtime.
 */
import { type FeedSocket, type FeedSource, openFeed, publishTo } from "../../src/live/feed.ts";
import type { WireEvent } from "../../src/live/protocol.ts";

export class Log implements FeedSource {
  readonly events: WireEvent[] = [];
  /** How often it was read, and the most that one read gave, in characters of bodies. */
  reads = 0;
  mostRead = 0;

  /** Commits one event; `skip` leaves seqs unused before it. */
  append(size: number, skip = 0): WireEvent {
    const seq = this.end() + 1 + skip;
    const event = {
      seq,
      type: "message/user",
      at: 0,
      branch: "main",
      parent: seq - 1,
      body: `"${"x".repeat(size)}"`,
    };
    this.events.push(event);
    return event;
  }

  end(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  read(after: number, maxBytes: number): WireEvent[] {
    const found: WireEvent[] = [];
    let bytes = 0;
    for (const event of this.events) {
      if (event.seq <= after) continue;
      bytes += String(event.body).length;
      if (found.length > 0 && bytes > maxBytes) break;
      found.push(event);
    }
    this.reads++;
    this.mostRead = Math.max(
      this.mostRead,
      found.reduce((sum, { body }) => sum + String(body).length, 0),
    );
    return found;
  }

  seqsAfter(after: number): number[] {
    return this.events.map((event) => event.seq).filter((seq) => seq > after);
  }
}

/**
 * The socket of one client. Its attachment is kept as text: what is not plain data would be lost here as by
 * the runtime.
 */
export class Client implements FeedSocket {
  readonly after: number;
  /** Frames in the order in which they came, and the seqs of their events. */
  readonly frames: string[] = [];
  readonly seen: number[] = [];
  readonly said: string[] = [];
  closed: { code: number; reason: string } | undefined;
  broken = false;
  #attachment = "null";

  constructor(after: number) {
    this.after = after;
  }

  send(text: string): void {
    if (this.broken || this.closed !== undefined) throw new Error("the socket is gone");
    this.frames.push(text);
    const [, type = "", seq] = /^\{"type":"(\w+)","seq":(\d+)/.exec(text) ?? [];
    this.said.push(type);
    if (type === "event") this.seen.push(Number(seq));
  }

  close(code: number, reason: string): void {
    this.closed ??= { code, reason };
  }

  get attachment(): unknown {
    return JSON.parse(this.#attachment);
  }

  set attachment(value: unknown) {
    this.#attachment = JSON.stringify(value);
  }
}

/** The object's side: commits, tells the sockets of it, or dies before it could. */
export class World {
  readonly log = new Log();
  readonly clients: Client[] = [];
  now = 1_000_000;

  commit(sizes: readonly number[], skip = 0): void {
    for (const size of sizes) this.log.append(size, skip);
  }

  publish(): void {
    publishTo(this.open(), this.log, this.now);
  }

  join(after: number): Client {
    const client = new Client(after);
    this.clients.push(client);
    openFeed(client, this.log, { tenant: "acme", after, now: this.now });
    return client;
  }

  open(): Client[] {
    return this.clients.filter((client) => client.closed === undefined);
  }
}

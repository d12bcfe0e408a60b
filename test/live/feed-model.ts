/**
 * A log, an object that forgets, and clients that read when they like: the world around the feed, without a
 * runtime.
 */
import { type FeedSocket, type FeedSource, openFeed, publishTo, receive } from "../../src/live/feed.ts";
import type { WireEvent } from "../../src/live/protocol.ts";

export class Log implements FeedSource {
  readonly events: WireEvent[] = [];

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
  /** Frames on the way, and seqs that the client has read. */
  readonly inbox: string[] = [];
  readonly seen: number[] = [];
  readonly said: string[] = [];
  closed: { code: number; reason: string } | undefined;
  broken = false;
  #attachment = "null";
  #asks = 0;

  constructor(after: number) {
    this.after = after;
  }

  send(text: string): void {
    if (this.broken || this.closed !== undefined) throw new Error("the socket is gone");
    this.inbox.push(text);
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

  /** Reads one frame; answers the `more` that it calls for, if any. */
  read(): string | undefined {
    const text = this.inbox.shift();
    if (text === undefined) return undefined;
    const frame = JSON.parse(text) as { type: string; seq: number; after: number };
    this.said.push(frame.type);
    if (frame.type === "event") this.seen.push(frame.seq);
    if (frame.type !== "page") return undefined;
    this.#asks++;
    return JSON.stringify({ type: "more", after: frame.after });
  }

  get asks(): number {
    return this.#asks;
  }

  unread(): number {
    return this.inbox.reduce((sum, text) => sum + text.length, 0);
  }
}

/** The object's side: commits, publishes later, forgets everything but the log and the attachments. */
export class World {
  readonly log = new Log();
  readonly clients: Client[] = [];
  now = 1_000_000;
  #unpublished: WireEvent[][] = [];

  commit(sizes: readonly number[], skip = 0): void {
    this.#unpublished.push(sizes.map((size) => this.log.append(size, skip)));
  }

  publishNext(): void {
    const batch = this.#unpublished.shift();
    if (batch !== undefined) publishTo(this.open(), batch, this.log, this.now);
  }

  publishAll(): void {
    while (this.#unpublished.length > 0) this.publishNext();
  }

  /** The object dies between a commit and its publication. */
  forget(): void {
    this.#unpublished = [];
  }

  join(after: number): Client {
    const client = new Client(after);
    this.clients.push(client);
    openFeed(client, this.log, { tenant: "acme", after, now: this.now });
    return client;
  }

  say(client: Client, data: string): void {
    if (client.closed === undefined) receive(client, data, this.log, this.now);
  }

  /** The client reads one frame and asks on if it has to. */
  step(client: Client): void {
    const answer = client.read();
    if (answer !== undefined) this.say(client, answer);
  }

  drain(client: Client): void {
    while (client.inbox.length > 0) this.step(client);
  }

  open(): Client[] {
    return this.clients.filter((client) => client.closed === undefined);
  }
}

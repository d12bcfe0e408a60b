import { type Answer, type Client, problemCode, type RequestOptions } from "./client.ts";
import { asList, isObject, type Json } from "./import/session.ts";
import { rawElements, rawMembers, textOf, utf8 } from "./raw.ts";

/** The native routes of one session, as the player uses them. Messages stay the raw bytes that came. */

/** The server answered what the player can not go on from. */
export class PlayError extends Error {}

export interface Prepared {
  /** JSON text. */
  prepareId: string;
  messages: Uint8Array[];
  generation: number;
  pressure: number;
  compaction: Json | undefined;
  /** Calls that were closed. */
  repaired: number;
}

export interface LoggedEvent {
  type: string;
  /** Raw bytes of the event's body. */
  body: Uint8Array;
}

export class SessionApi {
  private readonly client: Client;
  private readonly sessionId: string;
  private requests = 0;

  constructor(client: Client, sessionId: string) {
    this.client = client;
    this.sessionId = sessionId;
  }

  async configure(settings: Json): Promise<void> {
    await this.ask("PUT", "", { body: JSON.stringify(settings) });
  }

  /** @param body JSON text. Undefined when the server says that nothing can make the request fit. */
  async prepare(body: string): Promise<Prepared | undefined> {
    const answer = await this.send("POST", "/prepare", { body, key: this.nextKey() });
    if (problemCode(answer) === "irreducible") return undefined;
    if (answer.status !== 200) throw refused("POST /prepare", answer);
    const members = rawMembers(answer.body);
    const messages = members.get("messages");
    if (messages === undefined) throw new PlayError("POST /prepare answered without messages");
    const value = (name: string): unknown => decode(members.get(name));
    const pressure = value("pressure");
    const compaction = value("compaction");
    return {
      prepareId: textOf(members.get("prepareId") ?? utf8("null")),
      messages: rawElements(messages),
      generation: Number(value("generation")),
      pressure: isObject(pressure) ? Number(pressure.tokens) : Number.NaN,
      compaction: isObject(compaction) ? compaction : undefined,
      repaired: asList(value("repaired")).length,
    };
  }

  /** @param items JSON texts. @returns the head after the last of them, and how many calls were closed. */
  async append(items: readonly string[], prepareId?: string): Promise<{ head: number; repaired: number }> {
    const step = prepareId === undefined ? "" : `"prepareId":${prepareId},`;
    const body = `{${step}"items":[${items.join(",")}]}`;
    const answer = objectOf(await this.ask("POST", "/events", { body, key: this.nextKey() }));
    return { head: Number(answer.head), repaired: asList(answer.repaired).length };
  }

  /** The whole log, page by page. */
  async *events(): AsyncGenerator<LoggedEvent> {
    let after = 0;
    for (;;) {
      const page = rawMembers(await this.ask("GET", `/events?after=${after}&limit=1000`));
      const events = rawElements(page.get("events") ?? utf8("[]")).map(rawMembers);
      for (const event of events) {
        yield { type: String(decode(event.get("type"))), body: event.get("body") ?? utf8("null") };
      }
      const next = decode(page.get("next"));
      if (typeof next !== "number" || next <= after) return;
      after = next;
    }
  }

  /** The raw messages of the Surface as it was at a seq. */
  async surface(at: number): Promise<Uint8Array[]> {
    const answer = rawMembers(await this.ask("GET", `/surface?at=${at}`));
    return rawElements(answer.get("messages") ?? utf8("[]"));
  }

  async get(path: "" | "/pressure" | "/audit"): Promise<Json> {
    return objectOf(await this.ask("GET", path));
  }

  private async ask(method: string, path: string, options: RequestOptions = {}): Promise<Uint8Array> {
    const answer = await this.send(method, path, options);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw refused(`${method} ${path.split("?")[0] || "/"}`, answer);
  }

  private send(method: string, path: string, options: RequestOptions): Promise<Answer> {
    return this.client.request(method, `/v1/sessions/${this.sessionId}${path}`, options);
  }

  /** Counts up, so that no two different requests of the session share a key. */
  private nextKey(): string {
    this.requests += 1;
    return `${this.sessionId}-${this.requests}`;
  }
}

function refused(what: string, answer: Answer): PlayError {
  const code = problemCode(answer) ?? "no problem document";
  let place = "";
  try {
    const { at, detail } = objectOf(answer.body);
    place = ` ${typeof at === "string" ? `at ${at}: ` : ""}${typeof detail === "string" ? detail : ""}`;
  } catch {
    // The body of a broken answer tells nothing.
  }
  return new PlayError(`${what} answered ${answer.status} (${code})${place}`);
}

function decode(raw: Uint8Array | undefined): unknown {
  return raw === undefined ? undefined : JSON.parse(textOf(raw));
}

function objectOf(raw: Uint8Array): Json {
  const value = decode(raw);
  return isObject(value) ? value : {};
}

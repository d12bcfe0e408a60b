import type { Answer, Client, RequestOptions } from "../../../cli/client.ts";
import type { Oracle } from "../../../cli/oracle.ts";
import { rawElements, rawMembers, textOf, utf8 } from "../../../cli/raw.ts";
import type { Dialect } from "../../../src/dialects/dialect.ts";
import { dialectOf } from "../../../src/dialects/registry.ts";

/** What the fake does wrong, so that a test sees the player notice. */
export interface Sins {
  /** The n-th request (from 1) loses its last message. */
  truncateStep?: number;
  /** Never compacts, whatever the window. */
  neverCompact?: boolean;
  /** The n-th message is not in the log, or is in it twice. */
  forget?: number;
  repeat?: number;
  /** `GET /surface?at=` answers what is shown now. */
  forgetsThePast?: boolean;
  drift?: boolean;
  /** The n-th `/prepare` is refused as irreducible. */
  irreducibleStep?: number;
  /** The n-th `/prepare` is refused for another reason. */
  brokenStep?: number;
}

interface Node {
  seq: number;
  raw: string;
  role: string;
}

/**
 * The smallest thing that keeps the API's contract as the player knows it: a log, and a Surface that is cut to
 * `[checkpoint, newest reply, batch]` when it reaches four fifths of the window.
 */
export class FakeApi implements Client {
  readonly keys = new Set<string>();
  readonly bodies: string[] = [];
  private readonly oracle: Oracle;
  private readonly sins: Sins;
  private readonly log: { seq: number; type: string; body: string }[] = [];
  private surface: Node[] = [];
  private readonly shown: { seq: number; messages: string[] }[] = [];
  private window = Number.POSITIVE_INFINITY;
  private dialect: Dialect = dialectOf("anthropic");
  private open: string[] = [];
  private generation = 0;
  private prepares = 0;
  private nodes = 0;

  constructor(oracle: Oracle, sins: Sins = {}) {
    this.oracle = oracle;
    this.sins = sins;
  }

  request(method: string, path: string, { body, key }: RequestOptions = {}): Promise<Answer> {
    if (key !== undefined) this.keys.add(key);
    if (body !== undefined) this.bodies.push(body);
    const [tail = "", query = ""] = (/^\/v1\/sessions\/[^/?]+(.*)$/.exec(path)?.[1] ?? "").split("?");
    const answer = this.answer(`${method} ${tail}`, new URLSearchParams(query), body ?? "{}");
    return Promise.resolve({ status: answer[0], body: utf8(answer[1]) });
  }

  private answer(route: string, query: URLSearchParams, body: string): [status: number, body: string] {
    switch (route) {
      case "PUT ":
        return this.configure(JSON.parse(body));
      case "POST /prepare":
        return this.prepare(body);
      case "POST /events":
        return this.append(body);
      case "GET /events":
        return this.events(Number(query.get("after")));
      case "GET /surface":
        return [200, `{"generation":0,"messages":[${this.past(Number(query.get("at"))).join(",")}]}`];
      case "GET /pressure":
        return [200, JSON.stringify({ budget: { threshold: this.threshold() } })];
      case "GET /audit":
        return [
          200,
          JSON.stringify({
            ok: this.sins.drift !== true,
            drift: this.sins.drift ? [{ what: "pressure" }] : [],
          }),
        ];
      case "GET ":
        return [200, JSON.stringify({ generation: this.generation, running: [] })];
      default:
        return [404, JSON.stringify({ code: "not-found", detail: route })];
    }
  }

  private configure(settings: {
    dialect: "anthropic" | "openai-chat";
    capacity: { window: number };
  }): [number, string] {
    this.window = settings.capacity.window;
    this.dialect = dialectOf(settings.dialect);
    return [201, "{}"];
  }

  private threshold(): number {
    return Math.floor(this.window * 0.8);
  }

  private prepare(body: string): [number, string] {
    this.prepares += 1;
    const members = rawMembers(utf8(body));
    const batch = rawElements(members.get("messages") ?? utf8("[]")).map(textOf);
    if (this.prepares === this.sins.irreducibleStep)
      return [409, '{"code":"irreducible","detail":"too large"}'];
    if (this.prepares === this.sins.brokenStep)
      return [400, '{"code":"bad-message","detail":"no","at":"messages[0]"}'];
    const compaction = this.compact(batch);
    const repaired: string[] = [];
    const seqs = batch.map((raw) => this.take(raw, repaired));
    for (const call of this.open.splice(0)) repaired.push(this.close(call));
    const messages = this.rendered();
    if (this.prepares === this.sins.truncateStep) messages.pop();
    this.shown.push({ seq: this.log.length, messages });
    const tokens = messages.reduce((sum, raw) => sum + this.oracle.message(utf8(raw)), 0);
    const rest = `"generation":${this.generation},"pressure":{"tokens":${tokens}},"compaction":${compaction}`;
    const lists = `"seqs":[${seqs}],"messages":[${messages}],"repaired":[${repaired}]`;
    return [200, `{"prepareId":"p${this.prepares}",${lists},${rest}}`];
  }

  private compact(batch: string[]): string {
    const weigh = (raws: string[]) => raws.reduce((sum, raw) => sum + this.oracle.message(utf8(raw)), 0);
    const before = weigh([...this.rendered(), ...batch]);
    if (this.sins.neverCompact === true || before < this.threshold() || this.surface.length < 3)
      return "null";
    const last = this.surface.findLastIndex(({ role }) => role === "assistant");
    const checkpoint = {
      seq: 0,
      raw: '{"role":"user","content":"What came before, in short."}',
      role: "user",
    };
    this.surface = [checkpoint, ...this.surface.slice(last)];
    this.generation += 1;
    this.write(
      "surface/replace",
      JSON.stringify({ kind: this.generation % 2 === 0 ? "prune" : "checkpoint" }),
    );
    const after = weigh([...this.rendered(), ...batch]);
    const numbers = { generation: this.generation, tokensBefore: before, tokensAfter: after };
    return JSON.stringify({
      id: "c",
      trigger: "pressure",
      rungs: ["extractive"],
      outcome: "done",
      ...numbers,
    });
  }

  private append(body: string): [number, string] {
    const items = rawElements(rawMembers(utf8(body)).get("items") ?? utf8("[]")).map(rawMembers);
    const repaired: string[] = [];
    const seqs = items.flatMap((item) => {
      const message = item.get("message");
      return message === undefined ? [] : [this.take(textOf(message), repaired)];
    });
    return [
      200,
      JSON.stringify({ seqs, head: this.surface.at(-1)?.seq ?? 0, generation: this.generation, repaired }),
    ];
  }

  /** Appends a message; calls that it leaves open are closed before it. */
  private take(raw: string, repaired: string[]): number {
    const { role, calls, results } = this.dialect.read(utf8(raw), "message");
    if (role === "tool") this.open = this.open.filter((call) => !results.includes(call));
    else for (const call of this.open.splice(0)) repaired.push(this.close(call));
    this.open.push(...calls);
    this.nodes += 1;
    const seq = this.nodes === this.sins.forget ? 0 : this.write(`message/${role}`, raw);
    if (this.nodes === this.sins.repeat) this.write(`message/${role}`, raw);
    this.surface.push({ seq, raw, role });
    return seq;
  }

  private close(call: string): string {
    const raw = textOf(this.dialect.closedResult(call, "The call was not run."));
    const seq = this.write("message/tool", raw);
    this.surface.push({ seq, raw, role: "tool" });
    return JSON.stringify({ call, seq });
  }

  private write(type: string, body: string): number {
    const seq = this.log.length + 1;
    this.log.push({ seq, type, body });
    return seq;
  }

  private rendered(): string[] {
    const items = this.surface.map(({ raw }) => {
      const bytes = utf8(raw);
      const { role, mend } = this.dialect.read(bytes, "message");
      return { role, bytes, mend };
    });
    return this.dialect.render(items).map(textOf);
  }

  private past(at: number): string[] {
    if (this.sins.forgetsThePast === true) return this.rendered();
    return this.shown.findLast(({ seq }) => seq <= at)?.messages ?? [];
  }

  /** Pages of seven events, so that every session takes more than one. */
  private events(after: number): [number, string] {
    const page = this.log.slice(after, after + 7);
    const events = page.map(({ seq, type, body }) => `{"seq":${seq},"type":"${type}","body":${body}}`);
    const next = after + 7 < this.log.length ? after + 7 : null;
    return [200, `{"events":[${events}],"next":${next}}`];
  }
}

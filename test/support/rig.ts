/**
 * A session in a real object with a strict fake provider behind it: what the tests of the routes stand on. Every
 * rig that a test opened must end with a clean audit and a legal Surface: `checkRigs` after each test.
 */
import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { parseEnv } from "../../src/env.ts";
import type { CoreParts } from "../../src/session/core.ts";
import { type SessionClient, sessionClient } from "./client.ts";
import { bytesOf } from "./engine.ts";
import { createStrictProvider, type StrictOptions, type StrictProvider } from "./strict-provider.ts";

/** Counts in o200k tokens: its ratio is 1. */
export const ROUTE = "fake/gpt-x";
/** Ceiling 10,000, threshold 8,000, enough 7,200; a first round must free 800. */
export const capacity = { window: 11_000, maxOutput: 1_000 };

export type Message = Record<string, unknown>;

export interface WireEvent {
  seq: number;
  type: string;
  at: number;
  branch: string;
  step?: number;
  price?: number;
  body: Record<string, unknown>;
}

export interface Pressure {
  tokens: number;
  source: "usage" | "estimate";
  envelope: number;
  surface: number;
  incoming: number;
}

export interface Prepared {
  prepareId: string;
  seqs: number[];
  head: number;
  generation: number;
  messages: Message[];
  system: unknown;
  tools: unknown;
  params: unknown;
  maxOutput: number | null;
  pressure: Pressure;
  compaction: {
    id: string;
    trigger: string;
    rungs: string[];
    outcome: string;
    generation: number;
    tokensBefore: number;
    tokensAfter: number;
  } | null;
  repaired: { call: string; seq: number }[];
}

export interface Problem {
  code: string;
  at?: string;
  detail: string;
  status: number;
  [more: string]: unknown;
}

export interface RigOptions {
  dialect?: DialectName;
  route?: string | null;
  capacity?: Record<string, number>;
  policy?: Record<string, unknown>;
  /** `false`: no provider is configured, summaries are written by code. */
  provider?: StrictOptions | false;
  /** Deployment variables beside `PROVIDERS`. */
  env?: Record<string, unknown>;
}

const opened: Rig[] = [];

export async function openRig(options: RigOptions = {}): Promise<Rig> {
  const rig = new Rig(options);
  const { dialect = "openai-chat", policy = {} } = options;
  const route = options.route === undefined ? ROUTE : options.route;
  await rig.session.expect(201, "PUT", "/", {
    dialect,
    route,
    capacity: options.capacity ?? capacity,
    policy,
  });
  await rig.plug();
  opened.push(rig);
  return rig;
}

/** To be called after each test. */
export async function checkRigs(): Promise<void> {
  for (const rig of opened.splice(0)) await rig.check();
}

export class Rig {
  readonly session: SessionClient = sessionClient();
  readonly provider: StrictProvider;
  private readonly options: RigOptions;
  private readonly dialect: DialectName;
  private gate: Promise<void> | undefined;
  private shift = 0;

  constructor(options: RigOptions) {
    this.options = options;
    this.dialect = options.dialect ?? "openai-chat";
    this.provider = createStrictProvider(options.provider === false ? {} : (options.provider ?? {}));
  }

  /** Puts the provider, the configuration and the clock into the object; again after an eviction. */
  async plug(change: (parts: CoreParts) => void = () => {}): Promise<void> {
    const { provider, env = {} } = this.options;
    const fake = { fake: { baseUrl: "https://llm.example/v1", dialects: ["openai-chat", "anthropic"] } };
    const config = parseEnv({ ...(provider === false ? {} : { PROVIDERS: fake }), ...env });
    await runInDurableObject(this.session.stub(), (instance) => {
      const { parts } = (instance as unknown as { core: { parts: CoreParts } }).core;
      parts.config = config;
      parts.now = () => Date.now() + this.shift;
      parts.fetch = async (input, init) => {
        await this.gate;
        return this.provider.fetch(input, init);
      };
      change(parts);
    });
  }

  /** Holds every provider call until the returned function is called. */
  hold(): () => void {
    let release = () => {};
    this.gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  /** Moves the object's clock on. */
  pass(ms: number): void {
    this.shift += ms;
  }

  prepare(messages: readonly Message[], more: Record<string, unknown> = {}): Promise<Prepared> {
    return this.session.expect<Prepared>(200, "POST", "/prepare", { ...more, messages });
  }

  /** What a request is refused with. */
  async refused(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Problem> {
    const response = await this.session.request(method, path, body, headers);
    const problem = await response.json<Problem>();
    expect(response.headers.get("content-type")).toContain("application/problem+json");
    expect(problem.status).toBe(response.status);
    return problem;
  }

  append(items: readonly Message[], more: Record<string, unknown> = {}) {
    return this.session.expect<{
      seqs: number[];
      head: number;
      generation: number;
      pressure: Pressure;
      repaired: object[];
    }>(200, "POST", "/events", { ...more, items });
  }

  say(...messages: readonly Message[]) {
    return this.append(messages.map((message) => ({ type: "message", message })));
  }

  /** `count` turns of two messages of about 100 tokens each. */
  turns(count: number) {
    const turn = (n: number) => [user(words(86, `ask${n}`)), reply(words(86, `told${n}`))];
    return this.say(...Array.from({ length: count }, (_, n) => turn(n)).flat());
  }

  async events(): Promise<WireEvent[]> {
    return (await this.session.expect<{ events: WireEvent[] }>(200, "GET", "/events")).events;
  }

  async types(): Promise<string[]> {
    return (await this.events()).map(({ type }) => type);
  }

  async bodies(type: string): Promise<Record<string, unknown>[]> {
    return (await this.events()).filter((event) => event.type === type).map(({ body }) => body);
  }

  async surface(at?: number): Promise<Message[]> {
    const path = at === undefined ? "/surface" : `/surface?at=${at}`;
    return (await this.session.expect<{ messages: Message[] }>(200, "GET", path)).messages;
  }

  async pressure(): Promise<Pressure> {
    return (await this.session.expect<{ pressure: Pressure }>(200, "GET", "/pressure")).pressure;
  }

  async check(): Promise<void> {
    expect(await this.session.expect(200, "GET", "/audit?prices=true")).toMatchObject({
      ok: true,
      drift: [],
    });
    const open = ["call-without-result", "no-messages"];
    const broken = violations(this.dialect, (await this.surface()).map(bytesOf));
    expect(broken.filter(({ rule }) => !open.includes(rule))).toEqual([]);
  }
}

// --- OpenAI Chat messages

/** A text of exactly `count` o200k tokens more than its first word. */
export function words(count: number, first = "word"): string {
  return `${first}${" word".repeat(count)}`;
}
export const user = (content: string): Message => ({ role: "user", content });
export const reply = (content: string): Message => ({ role: "assistant", content });
export const calls = (ids: readonly string[], name = "read", args = "{}"): Message => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name, arguments: args } })),
});
export const result = (id: string, content: string): Message => ({ role: "tool", tool_call_id: id, content });
export const usage = (prompt: number, completion = 0): Message => ({
  type: "usage",
  usage: { prompt_tokens: prompt, completion_tokens: completion },
});
export const said = (message: Message): Message => ({ type: "message", message });

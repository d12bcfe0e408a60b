/**
 * A session under test: the real session logic over some log, with a clock, ids and a model that do what the
 * test says. Instances come and go over the one log; calls of the model stay open until the test settles
 * them, also those of an instance that is gone.
 */
import { vi } from "vitest";
import type { PolicyInput } from "../../src/compaction/policy.ts";
import { type DialectName, dialectNames } from "../../src/dialects/dialect.ts";
import { type Config, parseEnv } from "../../src/env.ts";
import { Refusal } from "../../src/failure.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import type { Idempotency } from "../../src/log/idempotency.ts";
import { createMeter } from "../../src/meter/price.ts";
import type { CallResult, Upstream } from "../../src/providers/provider.ts";
import { configure } from "../../src/session/configure.ts";
import { Core } from "../../src/session/core.ts";
import { closeLeftovers, dueAt } from "../../src/session/upkeep.ts";

/** One token per four characters: fast, and far from the truth by as much as it likes. */
export const meter = createMeter((text) => Math.ceil(text.length / 4));

export interface RouteFacts {
  window?: number;
  ratio: number;
  thinkingBinding: "none" | "prefix";
}

/** What is known about the routes of the test; `window` is in provider tokens. */
export const routes: Record<string, RouteFacts> = {
  "test/free": { window: 4_000, ratio: 1, thinkingBinding: "none" },
  "test/bound": { window: 4_400, ratio: 1.2, thinkingBinding: "prefix" },
  "test/small": { window: 3_200, ratio: 1, thinkingBinding: "prefix" },
  "test/unknown": { ratio: 1.15, thinkingBinding: "none" },
};

const config: Config = parseEnv({
  PROVIDERS: { test: { baseUrl: "https://model.test/v1", dialects: [...dialectNames] } },
  ROUTES: routes,
});

/** A small prune limit and a short wait, so that few and small messages reach every rung. */
export const basePolicy: PolicyInput = {
  prune: { over: 500, head: 200, tail: 100, protectGroups: 1 },
  summary: { maxTokens: 600 },
  maxWaitMs: 40_000,
};

/** A call of the model that waits for its answer. */
export interface OpenCall {
  upstream: Upstream;
  body: Uint8Array;
  signal: AbortSignal;
  /** The instance that made it. */
  epoch: string;
  settle: (result: CallResult) => void;
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; code: string };

/** An operation that may await the model. */
export interface Operation {
  what: string;
  branch: number;
  epoch: string;
  outcome: Outcome<unknown> | undefined;
}

export class World {
  readonly dialect: DialectName;
  readonly log: EventLog;
  readonly calls: OpenCall[] = [];
  operations: Operation[] = [];
  core: Core;
  clock = 1_000_000;
  private readonly idempotency: Idempotency;
  private instances = 0;
  private ids = 0;

  constructor(log: EventLog, idempotency: Idempotency, dialect: DialectName, policy: PolicyInput = {}) {
    this.log = log;
    this.idempotency = idempotency;
    this.dialect = dialect;
    this.core = this.instance();
    configure(this.core, { dialect, route: "test/free", policy: { ...basePolicy, ...policy } });
  }

  private instance(): Core {
    const epoch = `epoch-${++this.instances}`;
    return new Core({
      log: this.log,
      idempotency: this.idempotency,
      config,
      secrets: {},
      epoch,
      meter,
      now: () => this.clock,
      newId: () => `id-${++this.ids}`,
      fetch: () => Promise.reject(new Error("no network in this test")),
      callModel: (upstream, body, { signal }) =>
        new Promise((settle) => this.calls.push({ upstream, body, signal, epoch, settle })),
      wait: () => Promise.resolve(),
      landed: () => undefined,
      keep: () => undefined,
      defect: () => undefined,
    });
  }

  /** The object is gone without a word, and another one opens the log. What the old one awaits stays open. */
  restart(): void {
    this.core = this.instance();
    closeLeftovers(this.core);
  }

  /** Time passes, for timers too (they must be faked); the alarm rings if something falls due. */
  async pass(ms: number): Promise<void> {
    this.clock += ms;
    vi.advanceTimersByTime(ms);
    const due = dueAt(this.core);
    if (due !== undefined && due <= this.clock) closeLeftovers(this.core);
    await this.rest();
  }

  /** Does one thing as the object does it. @throws what is no refusal: a defect. */
  do<T>(work: (core: Core) => T): Outcome<T> {
    const { core } = this;
    try {
      return { ok: true, value: work(core) };
    } catch (error) {
      core.forget();
      return { ok: false, code: codeOf(error) };
    }
  }

  /** Starts what may await, and lets it run as far as it comes. */
  async start<T>(what: string, branch: number, work: (core: Core) => Promise<T>): Promise<Operation> {
    const { core } = this;
    const operation: Operation = { what, branch, epoch: core.parts.epoch, outcome: undefined };
    this.operations.push(operation);
    const done = (outcome: Outcome<unknown>) => {
      operation.outcome = outcome;
      this.operations = this.operations.filter((other) => other !== operation);
    };
    const failed = (error: unknown) => {
      core.forget();
      if (error instanceof Refusal) done({ ok: false, code: codeOf(error) });
      else this.defect ??= error;
    };
    Promise.resolve()
      .then(() => work(core))
      .then((value) => done({ ok: true, value }), failed);
    await this.rest();
    return operation;
  }

  /** What an operation threw that is no refusal. */
  private defect: unknown;

  /** Until nothing moves any more but by the model or the clock. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < 60; turn++) await null;
    if (this.defect !== undefined) throw this.defect;
  }

  async settle(call: OpenCall, result: CallResult): Promise<void> {
    this.calls.splice(this.calls.indexOf(call), 1);
    call.settle(result);
    await this.rest();
  }

  /** Ends all that is open, so that no promise and no timer outlives the test. */
  async close(): Promise<void> {
    const lost = { ok: false, reason: "network", detail: "closed", retryable: false, ms: 1 } as const;
    for (let round = 0; round < 1_000 && this.operations.length > 0; round++) {
      if (this.calls.length > 0) await this.settle(this.calls[0]!, lost);
      else await this.pass(1_000);
    }
  }
}

export function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.failure.code;
  throw error;
}

/** For a log in memory: answers by key, kept beside it. */
export function memoryIdempotency(): Idempotency {
  const answers = new Map<string, { digest: string; answer: unknown }>();
  return {
    get: (key) => answers.get(key),
    put: (key, digest, answer) => void answers.set(key, { digest, answer }),
    purge: () => answers.clear(),
  };
}

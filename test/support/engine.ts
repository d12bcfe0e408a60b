/**
 * The engine over a log in memory, without an object: what plans, rungs and transactions stand on. Its meter
 * weighs one token per UTF-16 unit and 12 per message, so that a test can do the arithmetic by hand.
 */
import type { BatchItem, Entering, Ground, Observed, Snapshot } from "../../src/compaction/ground.ts";
import { takeSnapshot } from "../../src/compaction/ground.ts";
import type { Invocation } from "../../src/compaction/invocation.ts";
import { type PolicyInput, resolvePolicy } from "../../src/compaction/policy.ts";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import type { Branch } from "../../src/log/event-log.ts";
import type { EventRow, Meta, NewEvent } from "../../src/log/events.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { createMeter, type Meter } from "../../src/meter/price.ts";
import { type SurfaceItem, surfaceOf } from "../../src/projections/surface.ts";
import { appendEvents } from "../../src/projections/write.ts";
import type { Capacity, ThinkingBinding } from "../../src/providers/provider.ts";
import { ingest, messageEvents } from "../../src/session/ingest.ts";
import { renderItems } from "../../src/session/render.ts";

export interface BedOptions {
  dialect?: DialectName;
  capacity?: Capacity;
  policy?: PolicyInput;
  binding?: ThinkingBinding;
  prior?: number;
  meter?: Meter;
}

/** Tokens are UTF-16 units here. */
export const units = createMeter((text) => text.length);

export class Bed {
  readonly log = createMemoryLog();
  readonly branch = 2;
  ground: Ground;
  /** Milliseconds; moves only when a test moves it. */
  clock = 1_000;

  constructor(options: BedOptions = {}) {
    const dialect = options.dialect ?? "openai-chat";
    const main: Meta<"branch/opened"> = { name: "main", from: 0, parent: 0, view: 0, generation: 0 };
    const settings: Meta<"session/configured"> = {
      route: "fake/model",
      capacity: {},
      policy: {},
      metadata: {},
      effective: {},
    };
    this.write(
      { type: "session/created", at: 0, branch: 0, meta: { dialect, version: 1 } },
      { type: "branch/opened", at: 0, branch: 0, meta: main },
      { type: "session/configured", at: 0, branch: 2, meta: settings },
    );
    this.ground = {
      log: this.log,
      branch: this.branch,
      dialect: dialectOf(dialect),
      meter: options.meter ?? units,
      policy: resolvePolicy(options.policy),
      capacity: options.capacity ?? {},
      route: "fake/model",
      prior: options.prior ?? 1,
      binding: options.binding ?? "none",
      now: () => this.clock,
      surface: (branch, view) => surfaceOf(this.log, branch.tip, view),
    };
  }

  write(...events: NewEvent[]): EventRow[] {
    return appendEvents(this.log, events);
  }

  /** Appends messages to the branch; their seqs. */
  say(...messages: readonly object[]): number[] {
    return this.write(...messageEvents(this.batch(...messages), { branch: this.branch, at: this.clock })).map(
      ({ seq }) => seq,
    );
  }

  /** The messages as a batch on its way in. */
  batch(...messages: readonly object[]): BatchItem[] {
    const raws = messages.map((message, index) => ({ bytes: bytesOf(message), at: `messages[${index}]` }));
    return ingest(this.ground, this.tip, raws, { strict: false, sends: false }).items;
  }

  get tip(): Branch {
    return this.log.branch(this.branch)!;
  }

  items(): SurfaceItem[] {
    return surfaceOf(this.log, this.tip.head, this.log.view(this.tip.view));
  }

  snapshot(entering: Partial<Entering> = {}, observed?: Observed): Snapshot {
    return takeSnapshot(this.ground, entered(entering), observed);
  }

  /** The Surface as it goes to the model, decoded. */
  shown(): Record<string, unknown>[] {
    return renderItems(this.log, this.ground.dialect, this.items()).map(
      (bytes) => JSON.parse(textOf(bytes)) as Record<string, unknown>,
    );
  }

  /** Takes the branch for a compaction of this name. */
  claim(compaction = "c1", trigger: Meta<"compaction/start">["trigger"] = "pressure"): void {
    const { gen: generation } = this.tip;
    const meta = { compaction, trigger, span: null, generation, epoch: "e", deadline: 10_000, tokens: 0 };
    this.write({ type: "compaction/start", at: this.clock, branch: this.branch, meta });
  }

  rows<T extends NewEvent["type"]>(type: T): (EventRow & { meta: Meta<T> })[] {
    const all = this.log.read(0, { limit: 100_000, maxBytes: Number.POSITIVE_INFINITY });
    return all.filter((row) => row.type === type) as (EventRow & { meta: Meta<T> })[];
  }

  types(): string[] {
    return this.log.read(0, { limit: 100_000, maxBytes: Number.POSITIVE_INFINITY }).map(({ type }) => type);
  }
}

export function entered(entering: Partial<Entering> = {}): Entering {
  return { envelope: { tokens: 0, bytes: 0 }, batch: [], maxOutput: undefined, ...entering };
}

export function invocation(changes: Partial<Invocation> = {}): Invocation {
  return {
    compaction: "c1",
    trigger: "pressure",
    epoch: "e",
    resends: 0,
    codeOnly: false,
    signal: new AbortController().signal,
    ...changes,
  };
}

export function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

// --- OpenAI Chat messages; each weighs its text and 12.

export const user = (text: string | number) => ({ role: "user", content: textFor(text, "u") });
export const reply = (text: string | number) => ({ role: "assistant", content: textFor(text, "a") });

/** An assistant message with one call per id, to `read` with `{}`: its text, 6 per call and 12. */
export const calls = (ids: readonly string[], text: string | number = "", name = "read", args = "{}") => ({
  role: "assistant",
  content: textFor(text, "c") || null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name, arguments: args } })),
});
export const result = (id: string, text: string | number) => ({
  role: "tool",
  tool_call_id: id,
  content: textFor(text, "r"),
});

function textFor(text: string | number, letter: string): string {
  return typeof text === "number" ? letter.repeat(text) : text;
}

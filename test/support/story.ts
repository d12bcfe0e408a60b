/**
 * A log written event by event through the fold, without dialect, meter or engine: prices are what the test
 * says. For tests of the projections alone.
 */
import type { Branch, EventLog, View } from "../../src/log/event-log.ts";
import {
  type BodyFacts,
  type EventRow,
  type EventType,
  type Meta,
  minus,
  type NewEvent,
} from "../../src/log/events.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { type ViewContent, weigh } from "../../src/projections/views.ts";
import { appendEvents } from "../../src/projections/write.ts";

export const MAIN = 2;

export interface Told {
  price?: number;
  bytes?: number;
  images?: number;
  open?: readonly string[];
  role?: "user" | "assistant" | "tool" | "system";
  turn?: boolean;
  thinking?: boolean;
  step?: number;
}

export class Story {
  readonly log: EventLog = createMemoryLog();

  constructor() {
    this.write("session/created", 0, { dialect: "anthropic", version: 1 });
    this.write("branch/opened", 0, { name: "main", from: 0, parent: 0, view: 0, generation: 0 });
  }

  /** Appends one event and answers its seq. @throws what the fold throws. */
  write<T extends EventType>(type: T, branch: number, meta: Meta<T>, more: Partial<NewEvent> = {}): number {
    const [row] = appendEvents(this.log, [{ type, at: 1, branch, meta, ...more } as NewEvent]);
    return row!.seq;
  }

  branch(id = MAIN): Branch {
    return this.log.branch(id)!;
  }

  view(id = MAIN): View | undefined {
    const { view } = this.branch(id);
    return view === 0 ? undefined : this.log.view(view);
  }

  node(branch = MAIN, told: Told = {}): number {
    const { role = "user", open = [], turn = false, step } = told;
    const event = {
      body: new Uint8Array(1),
      facts: factsOf(told),
      open,
      turn,
      ...(step === undefined ? {} : { step }),
    };
    return this.write(`message/${role}`, branch, {}, event);
  }

  nodes(count: number, branch = MAIN, told: Told = {}): number[] {
    return Array.from({ length: count }, () => this.node(branch, told));
  }

  /** A fork at a node; its id. */
  open(
    name: string,
    from: number,
    parent = MAIN,
    inherits: { view: number; generation: number } | undefined = undefined,
  ): number {
    const { view, generation } = inherits ?? this.inherited(from, parent);
    return this.write("branch/opened", 0, { name, from, parent, view, generation });
  }

  /** What a fork at `from` would inherit, looked up the slow way: newest first, path by parents. */
  private inherited(from: number, parent: number): { view: number; generation: number } {
    const path = new Set([0]);
    for (let at = from; at !== 0; at = this.log.event(at)!.node!.parent) path.add(at);
    const found = this.log.views(parent).find((view) => path.has(view.upto));
    return { view: found?.seq ?? 0, generation: found?.gen ?? 0 };
  }

  claim(
    compaction: string,
    branch = MAIN,
    trigger: Meta<"compaction/start">["trigger"] = "pressure",
  ): number {
    const generation = this.branch(branch).gen;
    const rest = { span: null, generation, epoch: "e", deadline: 99, tokens: 0 };
    return this.write("compaction/start", branch, { compaction, trigger, ...rest });
  }

  end(compaction: string, branch = MAIN, meta: Partial<Meta<"compaction/end">> = {}): number {
    const base = {
      trigger: "pressure",
      outcome: "done",
      rungs: [] as string[],
      tokensBefore: 9,
      tokensAfter: 1,
      progress: true,
    } as const;
    return this.write("compaction/end", branch, { compaction, ...base, ...meta });
  }

  form(
    compaction: string,
    node: number,
    price: number,
    branch = MAIN,
    kind: Meta<"compaction/prune">["kind"] = "prune",
  ): number {
    const event = { body: new Uint8Array(1), facts: factsOf({ price }) };
    return this.write("compaction/prune", branch, { compaction, node, kind, version: 1 }, event);
  }

  summary(compaction: string, price: number, branch = MAIN): number {
    return this.write("compaction/summary", branch, summaryMeta(compaction), {
      body: new Uint8Array(1),
      facts: factsOf({ price }),
    });
  }

  /** Puts a content in force with the weights that it has. */
  replace(
    compaction: string,
    content: Partial<ViewContent>,
    branch = MAIN,
    kind: Meta<"surface/replace">["kind"] = "prune",
  ): number {
    return this.write("surface/replace", branch, { kind, ...this.replacement(compaction, content, branch) });
  }

  undo(compaction: string, content: Partial<ViewContent>, branch = MAIN): number {
    return this.write("compaction/undone", branch, this.replacement(compaction, content, branch));
  }

  replacement(compaction: string, content: Partial<ViewContent>, branch = MAIN): Meta<"compaction/undone"> {
    const whole = { upto: 0, checkpoint: 0, forms: [], ...content };
    const { delta } = weigh(this.log, whole);
    const inserted = { tokens: 0, bytes: 0, images: 0 };
    const before = this.view(branch)?.delta ?? inserted;
    return {
      compaction,
      generation: this.branch(branch).gen + 1,
      upto: whole.upto,
      checkpoint: whole.checkpoint,
      forms: whole.forms.map(([node, form]): [number, number] => [node, form]),
      shadowed: minus(before, delta),
      inserted,
      delta,
    };
  }

  /** A whole compaction that puts one checkpoint of this price over the path up to a node. */
  compact(compaction: string, upto: number, price: number, branch = MAIN): number {
    this.claim(compaction, branch);
    const checkpoint = this.summary(compaction, price, branch);
    const kept = this.view(branch)?.forms.filter(([node]) => node > upto) ?? [];
    const forms = kept.map(([node, form]): [number, number] => [node, form]);
    const seq = this.replace(compaction, { upto, checkpoint, forms }, branch, "checkpoint");
    this.end(compaction, branch);
    return seq;
  }

  /** A whole compaction that prunes these nodes to this price. */
  prune(compaction: string, nodes: readonly number[], price: number, branch = MAIN): number {
    this.claim(compaction, branch);
    const made = nodes.map((node): [number, number] => [node, this.form(compaction, node, price, branch)]);
    const { upto = 0, checkpoint = 0, forms = [] } = this.view(branch) ?? {};
    const all = new Map([...forms.map(([node, form]): [number, number] => [node, form]), ...made]);
    const seq = this.replace(compaction, { upto, checkpoint, forms: [...all] }, branch);
    this.end(compaction, branch);
    return seq;
  }

  /** All that the log holds, to see that a refusal changed nothing. */
  everything(): unknown {
    const { log } = this;
    return structuredClone({
      rows: log.read(0, { limit: 10_000, maxBytes: 1e9 }),
      branches: log.branches(),
      views: log.branches().map(({ id }) => log.views(id)),
      claims: log.claims(),
      states: log.states(),
    });
  }
}

export function factsOf({ price = 1, bytes = price * 4, images = 0, thinking = false }: Told): BodyFacts {
  return { price, bytes, images, sampled: false, mend: false, thinking };
}

export function summaryMeta(compaction: string): Meta<"compaction/summary"> {
  const span = { from: 1, to: 1, count: 1, tokens: 1 };
  const evidence = attemptMeta(compaction);
  return {
    compaction,
    text: "t",
    by: "extractive",
    span,
    facts: {},
    evidence,
    attempts: 0,
    version: 1,
    meter: 1,
  };
}

export function attemptMeta(
  compaction: string,
  changes: Partial<Meta<"compaction/attempt">> = {},
): Meta<"compaction/attempt"> {
  const span = { from: 1, to: 1, count: 1, tokens: 1 };
  const base = {
    purpose: "compaction",
    route: "p/m",
    shape: "conversation",
    outcome: "failed",
    ms: 1,
  } as const;
  return { compaction, span, ...base, ...changes };
}

/** Surfaces as lists of [seq, body]: what a test compares. */
export function shownBy(
  items: readonly Pick<EventRow & { body: number }, "seq" | "body">[],
): [number, number][] {
  return items.map(({ seq, body }) => [seq, body]);
}

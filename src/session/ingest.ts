/**
 * Takes messages in: raw bytes to nodes-to-be, checked against the order rules at the head, with the results that Plimsoll writes itself
 * for calls that are left behind. Everything is checked before anything is written.
 */
import type { BatchItem } from "../compaction/ground.ts";
import type { Dialect, Role } from "../dialects/dialect.ts";
import { orderOf } from "../dialects/order.ts";
import { type Failure, Refusal } from "../failure.ts";
import type { Branch, EventLog } from "../log/event-log.ts";
import type { NewEvent } from "../log/events.ts";
import { kindOf } from "../log/scanner.ts";
import type { Meter } from "../meter/price.ts";
import { nodeOpen, openIds } from "../projections/open-calls.ts";
import { roleOf } from "../projections/surface.ts";
import { findNode, nodeAt } from "../projections/tree.ts";
import { weighMessage } from "../projections/weigh.ts";

/** A node is at most 8 MiB (design.md section 7). */
export const MAX_NODE_BYTES = 8 * 1024 * 1024;

/** More parallel calls than any model makes; each open call is kept with every node until it is answered. */
export const MAX_CALLS = 256;

/** Said to the model in place of a result that never came. */
const CLOSED = "No result: the call was left behind before its result arrived.";

/** How far back a late result is looked for, in nodes. */
const LATE_SEARCH = 500;

export interface Raw {
  bytes: Uint8Array;
  at: string;
}

/** What a re-sent message is known by: its place on its line, and itself. */
export interface NodeKeys {
  key: string;
  own: string;
}

export interface Ingested {
  items: BatchItem[];
  /** Index in `items` of each message given, in order. */
  places: number[];
  /** Calls closed by a result of our own: the call and the index of that result in `items`. */
  closed: { call: string; index: number }[];
}

export interface IngestRules {
  /** Refuse messages over open calls instead of closing the calls. */
  strict: boolean;
  /** A request goes out behind the batch: calls that are still open then are closed too. */
  sends: boolean;
}

/** @throws Refusal with the place of the fault; nothing is written. */
export function ingest(
  source: Source,
  branch: Pick<Branch, "tip">,
  raws: readonly Raw[],
  rules: IngestRules,
): Ingested {
  const intake = new Intake(source, branch, rules.strict);
  for (const raw of raws) intake.take(raw);
  if (rules.sends) intake.closeRest();
  return intake.out;
}

interface Source {
  log: EventLog;
  dialect: Dialect;
  meter: Meter;
}

class Intake {
  readonly out: Ingested = { items: [], places: [], closed: [] };
  private readonly source: Source;
  private readonly head: number;
  private readonly strict: boolean;
  private open: readonly string[];
  private after: Role | undefined;

  constructor(source: Source, branch: Pick<Branch, "tip">, strict: boolean) {
    const head = branch.tip === 0 ? undefined : nodeAt(source.log, branch.tip);
    this.source = source;
    this.head = branch.tip;
    this.strict = strict;
    this.open = openIds(head?.node.open ?? []);
    this.after = lastShownRole(source, branch.tip);
  }

  take({ bytes, at }: Raw): void {
    const { dialect, meter } = this.source;
    const weighed = weighMessage(dialect, meter, boundedMessage(dialect, { bytes, at }), at);
    const { results, calls } = weighed.message;
    if (calls.length > MAX_CALLS) {
      throw new Refusal("bad-message", `A message opens at most ${MAX_CALLS} calls.`, { at });
    }
    const place = {
      dialect: dialect.name,
      open: this.open,
      first: this.after === undefined,
      after: this.after,
    };
    const order = orderOf(place, weighed.message, at);
    if (!order.ok) throw this.refusal(order.failure, results);
    this.close(
      order.closes,
      this.open.filter((id) => results.includes(id)),
      at,
    );
    this.out.places.push(this.out.items.length);
    this.out.items.push({ ...weighed, open: nodeOpen(order.opens, order.joined === true) });
    this.open = order.opens;
    if (!rendersNothing(dialect, weighed.message.role, weighed.bytes, weighed.facts.mend)) {
      this.after = weighed.message.role;
    }
  }

  closeRest(): void {
    this.close(this.open, [], "messages");
    this.open = [];
  }

  /** Writes a result for each of these calls; `others` stay open behind them. */
  private close(calls: readonly string[], others: readonly string[], at: string): void {
    if (calls.length > 0 && this.strict) {
      throw new Refusal("open-calls", "Calls are open here that have no result yet.", { at });
    }
    const { dialect, meter } = this.source;
    for (const [index, call] of calls.entries()) {
      const closing = weighMessage(dialect, meter, dialect.closedResult(call, CLOSED), at);
      this.out.closed.push({ call, index: this.out.items.length });
      this.out.items.push({ ...closing, open: [...calls.slice(index + 1), ...others], origin: "plimsoll" });
    }
  }

  /** A result whose call was closed by us is late, which its sender can do nothing about; any other is a fault. */
  private refusal({ code, detail, ...rest }: Failure, results: readonly string[]): Refusal {
    if (code !== "result-without-call") return new Refusal(code, detail, rest);
    const here = this.out.closed.map((entry) => entry.call);
    const closed = new Set([...here, ...closedOnPath(this.source.log, this.head)]);
    if (!results.some((id) => closed.has(id))) return new Refusal(code, detail, rest);
    return new Refusal("late-result", "The call was closed before this result arrived.", rest);
  }
}

/** The role of the newest message on the path that goes out; one that renders to nothing does not count. */
function lastShownRole({ log, dialect }: Source, head: number): Role | undefined {
  for (let seq = head; seq !== 0; ) {
    const row = nodeAt(log, seq);
    const role = roleOf(row);
    if (!row.mend || !rendersNothing(dialect, role, log.body(seq), true)) return role;
    seq = row.node.parent;
  }
  return undefined;
}

function rendersNothing(dialect: Dialect, role: Role, bytes: Uint8Array, mend: boolean): boolean {
  return mend && dialect.render([{ role, bytes, mend }]).length === 0;
}

function boundedMessage(dialect: Dialect, { bytes, at }: Raw): Uint8Array {
  if (bytes.byteLength > MAX_NODE_BYTES)
    throw new Refusal("too-large", "A message is at most 8 MiB.", { at });
  if (kindOf(bytes, 0) !== "object") throw new Refusal("bad-message", "A message must be an object.", { at });
  // A slice of the request would keep the whole request in memory for as long as the node is held.
  return dialect.withoutCacheMarks(bytes).slice();
}

function closedOnPath(log: EventLog, head: number): string[] {
  const ids: string[] = [];
  let seq = head;
  for (let n = 0; n < LATE_SEARCH && seq !== 0; n++) {
    const row = findNode(log, seq);
    if (row === undefined) break;
    const { parent } = row.node;
    if ((row.meta as { origin?: string }).origin === "plimsoll" && parent !== 0) {
      const still = new Set(row.node.open);
      ids.push(...openIds(nodeAt(log, parent).node.open).filter((id) => !still.has(id)));
    }
    seq = parent;
  }
  return ids;
}

export interface Placed {
  branch: number;
  at: number;
  step?: number | undefined;
  /** By index; absent off the drop-in branches. */
  keys?: readonly NodeKeys[];
  entering?: boolean;
}

/** The events that append the batch. */
export function messageEvents(items: readonly BatchItem[], placed: Placed): NewEvent[] {
  const { branch, at, step, keys, entering } = placed;
  return items.map((item, index) => ({
    type: item.context === undefined ? (`message/${item.message.role}` as const) : "context/runtime",
    at,
    branch,
    ...(step === undefined ? {} : { step }),
    meta: {
      ...(item.context === undefined ? {} : { key: item.context }),
      ...(item.origin === undefined ? {} : { origin: item.origin }),
      ...(entering ? { entering } : {}),
    },
    ...keys?.[index],
    body: item.bytes,
    facts: item.facts,
    open: item.open,
    turn: item.turn,
  }));
}

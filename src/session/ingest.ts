/**
 * Takes messages in: raw bytes to nodes-to-be, checked against the order rules at the head, with the results that Plimsoll writes itself
 * for calls that are left behind. Everything is checked before anything is written.
 */
import type { BatchItem } from "../compaction/ground.ts";
import type { Dialect, Role } from "../dialects/dialect.ts";
import { orderOf } from "../dialects/order.ts";
import { Refusal } from "../failure.ts";
import type { Branch, EventLog } from "../log/event-log.ts";
import type { NewEvent } from "../log/events.ts";
import { kindOf } from "../log/scanner.ts";
import type { Meter } from "../meter/price.ts";
import { roleOf } from "../projections/surface.ts";
import { findNode, nodeAt } from "../projections/tree.ts";
import { weighMessage } from "../projections/weigh.ts";

/** A node is at most 8 MiB (design.md section 7). */
export const MAX_NODE_BYTES = 8 * 1024 * 1024;

/** Said to the model in place of a result that never came. */
const CLOSED = "No result: the call was left behind before its result arrived.";

/** How far back a late result is looked for, in nodes. */
const LATE_SEARCH = 500;

export interface Raw {
  bytes: Uint8Array;
  at: string;
}

export interface Ingested {
  items: BatchItem[];
  /** Index in `items` of each message given, in order. */
  places: number[];
  /** Calls closed by a result of our own: the call and the index of that result in `items`. */
  closed: { call: string; index: number }[];
}

/**
 * @param strict refuse messages over open calls instead of closing the calls.
 * @throws Refusal with the place of the fault; nothing is written.
 */
export function ingest(
  source: { log: EventLog; dialect: Dialect; meter: Meter },
  branch: Branch,
  raws: readonly Raw[],
  strict: boolean,
): Ingested {
  const { log, dialect, meter } = source;
  const head = branch.head === 0 ? undefined : nodeAt(log, branch.head);
  let open: readonly string[] = head?.node.open ?? [];
  let after: Role | undefined = head && roleOf(head);
  const out: Ingested = { items: [], places: [], closed: [] };
  for (const raw of raws) {
    const weighed = weighMessage(dialect, meter, boundedMessage(dialect, raw), raw.at);
    const order = orderOf(
      { dialect: dialect.name, open, first: after === undefined, after },
      weighed.message,
      raw.at,
    );
    if (!order.ok)
      throw lateOr(order.failure.code, log, branch.head, weighed.message.results, order.failure, out);
    if (order.closes.length > 0 && strict) {
      throw new Refusal("open-calls", "Calls are open here that have no result yet.", { at: raw.at });
    }
    let left = order.closes.length;
    for (const call of order.closes) {
      left--;
      const closing = weighMessage(dialect, meter, dialect.closedResult(call, CLOSED), raw.at);
      const still = [
        ...order.closes.slice(order.closes.length - left),
        ...answeredBy(weighed.message.results, open),
      ];
      out.closed.push({ call, index: out.items.length });
      out.items.push({ ...closing, open: still, origin: "plimsoll" });
    }
    out.places.push(out.items.length);
    out.items.push({ ...weighed, open: order.opens });
    open = order.opens;
    after = weighed.message.role;
  }
  return out;
}

function boundedMessage(dialect: Dialect, { bytes, at }: Raw): Uint8Array {
  if (bytes.byteLength > MAX_NODE_BYTES)
    throw new Refusal("too-large", "A message is at most 8 MiB.", { at });
  if (kindOf(bytes, 0) !== "object") throw new Refusal("bad-message", "A message must be an object.", { at });
  // A slice of the request would keep the whole request in memory for as long as the node is held.
  return dialect.withoutCacheMarks(bytes).slice();
}

/** Of the open calls, those that the message itself answers: open until it stands. */
function answeredBy(results: readonly string[], open: readonly string[]): string[] {
  return open.filter((id) => results.includes(id));
}

/** A result whose call was closed by us is late, which its sender can do nothing about; any other is a fault. */
function lateOr(
  code: Refusal["failure"]["code"],
  log: EventLog,
  head: number,
  results: readonly string[],
  failure: Refusal["failure"],
  out: Ingested,
): Refusal {
  const { detail, ...rest } = failure;
  if (code !== "result-without-call") return new Refusal(code, detail, rest);
  const closed = new Set([...out.closed.map((entry) => entry.call), ...closedOnPath(log, head)]);
  if (!results.some((id) => closed.has(id))) return new Refusal(code, detail, rest);
  return new Refusal("late-result", "The call was closed before this result arrived.", rest);
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
      ids.push(...nodeAt(log, parent).node.open.filter((id) => !still.has(id)));
    }
    seq = parent;
  }
  return ids;
}

/** The events that append the batch. */
export function messageEvents(
  items: readonly BatchItem[],
  branch: number,
  at: number,
  step?: number,
): NewEvent[] {
  return items.map((item) => ({
    type: `message/${item.message.role}` as const,
    at,
    branch,
    ...(step === undefined ? {} : { step }),
    meta: item.origin === undefined ? {} : { origin: item.origin },
    body: item.bytes,
    facts: item.facts,
    open: item.open,
    turn: item.turn,
  }));
}

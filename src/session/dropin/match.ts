/**
 * What the log knows of a list of messages that a client sends again: the deepest node whose line the list follows, or the stretch of
 * a line that the list begins with in the middle. Reads the log, writes nothing.
 */

import type { DialectName } from "../../dialects/dialect.ts";
import { contentKey, linkKey } from "../../dialects/link-key.ts";
import { messagesOf } from "../../dialects/request/read.ts";
import { Refusal } from "../../failure.ts";
import type { Branch, EventLog } from "../../log/event-log.ts";
import type { NodeRow } from "../../log/events.ts";
import { responseKey } from "../../projections/fold.ts";
import { openCalls, openIds } from "../../projections/open-calls.ts";
import { depthOf, findNode, nodeAt, onPath } from "../../projections/tree.ts";
import type { Core } from "../core.ts";
import type { NodeKeys, Raw } from "../ingest.ts";
import type { Arrival } from "./arrival.ts";
import { expanded } from "./expand.ts";

export interface Match {
  /** The node that the list is known up to, and how many of its messages that covers; 0 and 0 for none. */
  node: number;
  count: number;
  /** The node in front of the first listed message, where that is not the first of its line; 0 otherwise. */
  upto: number;
}

/** What is known without a look at the messages: the first `count` lead to `node`. */
export interface Known {
  node: number;
  count: number;
}

/** Keys of messages that follow `node` on its line. */
export function keysBehind(
  log: EventLog,
  dialect: DialectName,
  node: number,
  messages: readonly Uint8Array[],
): NodeKeys[] {
  return chained(
    log,
    node,
    messages.map((bytes) => contentKey(dialect, bytes)),
  );
}

function chained(log: EventLog, node: number, owns: readonly string[]): NodeKeys[] {
  let parent = lastKey(log, node);
  return owns.map((own) => {
    if (own === "") return { key: "", own };
    parent = linkKey(parent, own);
    return { key: parent, own };
  });
}

/** What is left of a matched list: messages and their keys behind the node that it goes on from. */
export function behind<T>(
  log: EventLog,
  match: Match,
  list: { from: number; raws: readonly T[]; keys: readonly NodeKeys[] },
): { raws: T[]; keys: NodeKeys[] } {
  const covered = match.count - list.from;
  const keys = list.keys.slice(covered);
  const owns = keys.map(({ own }) => own);
  return { raws: list.raws.slice(covered), keys: match.upto === 0 ? keys : chained(log, match.node, owns) };
}

/** The newest link key at or above the node; transparent nodes have none. */
function lastKey(log: EventLog, node: number): string {
  for (let row = findNode(log, node); row !== undefined; row = findNode(log, row.node.parent)) {
    if (row.node.key !== undefined) return row.node.key;
  }
  return "";
}

/**
 * @param keys of the messages behind `known`.
 * @param restarts whether the list begins with the provider's own compaction: like no other message, it is known by itself.
 */
export function matchList(
  log: EventLog,
  branches: readonly Branch[],
  known: Known,
  keys: readonly NodeKeys[],
  restarts: () => boolean = () => false,
): Match {
  const found = deepest(log, keys);
  if (found !== undefined) return { node: found.node, count: known.count + found.count, upto: 0 };
  if (known.node !== 0) return { ...known, upto: 0 };
  const least = branches.length > 0 && restarts() ? 1 : 2;
  for (const branch of branches) {
    const stretch = stretchOf(log, branch, keys, least);
    if (stretch !== undefined) return stretch;
  }
  return { node: 0, count: 0, upto: 0 };
}

/** A key is known only if all before it are: the last one is tried, then the list is bisected. */
function deepest(log: EventLog, keys: readonly NodeKeys[]): { node: number; count: number } | undefined {
  const places = keys.flatMap(({ key }, index) => (key === "" ? [] : [{ key, count: index + 1 }]));
  const nodeOf = (at: number) => newestAccepted(log, log.keyed(places[at]!.key));
  let [low, high] = [-1, places.length - 1];
  let node = high < 0 ? 0 : nodeOf(high);
  if (node !== 0) return { node, count: places[high]!.count };
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const at = nodeOf(middle);
    if (at === 0) high = middle;
    else [low, node] = [middle, at];
  }
  return low < 0 ? undefined : { node, count: places[low]!.count };
}

function newestAccepted(log: EventLog, seqs: readonly number[]): number {
  return seqs.find((seq) => isAccepted(log, seq)) ?? seqs[0] ?? 0;
}

export function isAccepted(log: EventLog, seq: number): boolean {
  return onPath(log, seq, log.branch(nodeAt(log, seq).branch)?.head ?? 0);
}

/** Nodes of a line that are compared beyond as many as the list has: what a client left out since. */
const FURTHER = 64;

/** The list begins with at least so many messages that are the newest of the branch, up to its head. */
function stretchOf(
  log: EventLog,
  branch: Branch,
  keys: readonly NodeKeys[],
  least: number,
): Match | undefined {
  const depth = depthOf(log, branch.head);
  const rows = log
    .path(branch.head, Math.max(0, depth - keys.length - FURTHER))
    .filter((row) => row.node.own !== undefined);
  const listed = keys.flatMap(({ own }, index) => (own === "" ? [] : [{ own, count: index + 1 }]));
  for (let length = Math.min(rows.length, listed.length); length >= least; length--) {
    const line = rows.slice(rows.length - length);
    if (!line.every((row, at) => row.node.own === listed[at]!.own)) continue;
    if (!isRecognizable(log, line)) continue;
    return { node: branch.head, count: listed[length - 1]!.count, upto: line[0]!.node.parent };
  }
  return undefined;
}

/** Short lists are alike by chance: a reply of the line must be among them; and what is left out must not cut a call from its result. */
function isRecognizable(log: EventLog, line: readonly NodeRow[]): boolean {
  const above = findNode(log, line[0]!.node.parent);
  const torn = openCalls(line[0]!.node.open).joined || openIds(above?.node.open ?? []).length > 0;
  return !torn && line.some((row) => row.type === "message/assistant");
}

/** The messages of the list behind what is known of its bytes, their keys, and where they go on. */
export function matched(
  core: Core,
  { dialect, request }: Pick<Arrival, "dialect" | "request">,
  known: { node: number; count: number } | undefined,
): { match: Match; raws: Raw[]; keys: ReturnType<typeof keysBehind> } {
  const { log } = core;
  const start = continued(log, request.previousResponse) ?? known ?? { node: 0, count: 0 };
  const listed = messagesOf(request);
  const messages = request.dialect === "openai-responses" ? expanded(core, listed) : listed;
  const raws = messages.map(
    (bytes, index): Raw => ({
      bytes,
      at: `${request.dialect === "openai-responses" ? "input" : "messages"}[${start.count + index}]`,
    }),
  );
  const keys = keysBehind(log, dialect, start.node, messages);
  const restarts = () =>
    raws[0] !== undefined && core.dialect({ dialect }).read(raws[0].bytes, raws[0].at).restarts === true;
  const match = matchList(log, recentBranches(core, dialect), start, keys, restarts);
  return { match, ...behind(log, match, { from: start.count, raws, keys }) };
}

/** Where a request goes on that names the reply before it instead of sending the list. @throws Refusal `unknown-response`. */
function continued(log: EventLog, id: string | undefined): Known | undefined {
  if (id === undefined) return undefined;
  const state = log.state(responseKey(id)) as { node: number } | undefined;
  if (state === undefined)
    throw new Refusal("unknown-response", "This response is not one of the session's.");
  return { node: state.node, count: 0 };
}

/** Branches of the dialect, the one with the newest request first. */
export function recentBranches(core: Core, dialect: DialectName): Branch[] {
  return core.log
    .branches()
    .filter((branch) => core.dialectName(branch) === dialect)
    .sort((a, b) => (b.request?.at ?? 0) - (a.request?.at ?? 0) || b.id - a.id);
}

/**
 * Where a matched request goes on: on the branch that ends there, or on a new one. What the client reports of the past is taken in as
 * accepted; what stands behind its last reply enters with the step. Decided and written in one synchronous stretch.
 */
import { branchAt } from "../../compaction/ground.ts";
import type { DialectName } from "../../dialects/dialect.ts";
import type { Branch, EventLog } from "../../log/event-log.ts";
import { depthOf, findNode, nodeAt, onPath } from "../../projections/tree.ts";
import { inheritedView } from "../../projections/views.ts";
import { appendEvents } from "../../projections/write.ts";
import { unboundReplacement } from "../arriving.ts";
import type { Core } from "../core.ts";
import { type Ingested, ingest, messageEvents, type NodeKeys, type Raw } from "../ingest.ts";
import { showFrom } from "../shown-from.ts";
import { isAccepted, type Match } from "./match.ts";

export interface Placed {
  /** The branch, which is held until the step is over: `core.held`. */
  branch: number;
  /** The entering messages: those that the log holds already, and the new ones. */
  raws: Raw[];
  keys: NodeKeys[];
  reused: number[];
  ingested: Ingested;
}

export interface Fresh {
  dialect: DialectName;
  /** Messages behind the match, and their keys. */
  raws: readonly Raw[];
  keys: readonly NodeKeys[];
}

/** @throws Refusal when the list breaks the dialect's order or a message is none; nothing is written then. */
export function place(core: Core, match: Match, fresh: Fresh): Placed {
  const { log } = core;
  const past = 1 + fresh.raws.findLastIndex(({ bytes }) => isReply(core, fresh.dialect, bytes));
  // Behind the last reply nothing is settled: nodes that were sent before and refused enter again.
  const reused = past > 0 ? [] : unsettled(log, match.node);
  const base = reused.length === 0 ? match.node : nodeAt(log, reused[0]!).node.parent;
  const again = reused.map((seq): Raw => ({ bytes: log.body(seq), at: "messages" }));
  const again_keys = reused.map((seq) => keysOf(log, seq));
  const raws = [...again, ...fresh.raws];
  const source = { log, meter: core.parts.meter, dialect: core.dialect({ dialect: fresh.dialect }) };
  const ingested = ingest(source, { tip: base }, raws, { strict: true, sends: true });
  return log.transaction(() => {
    const branch = lineAt(core, base, fresh.dialect);
    core.held.add(branch.id);
    try {
      showFrom(core, branch.id, match.upto);
      takeIn(core, branch.id, ingested, { count: past, keys: fresh.keys });
    } catch (error) {
      core.held.delete(branch.id);
      throw error;
    }
    return {
      branch: branch.id,
      raws: raws.slice(past),
      keys: [...again_keys, ...fresh.keys].slice(past),
      reused,
      ingested: {
        ...ingested,
        items: ingested.items.slice(past),
        places: ingested.items.slice(past).map((_, at) => at),
      },
    };
  });
}

function isReply(core: Core, dialect: DialectName, bytes: Uint8Array): boolean {
  return core.dialect({ dialect }).read(bytes, "messages").role === "assistant";
}

function keysOf(log: EventLog, seq: number): NodeKeys {
  const { key = "", own = "" } = nodeAt(log, seq).node;
  return { key, own };
}

/** The nodes from behind the newest reply to `node`, oldest first. */
function unsettled(log: EventLog, node: number): number[] {
  const seqs: number[] = [];
  for (let row = findNode(log, node); row !== undefined; row = findNode(log, row.node.parent)) {
    if (row.type === "message/assistant") break;
    seqs.unshift(row.seq);
  }
  return seqs;
}

/** The branch whose accepted end is `base`: one that ends there and is free, or a new one. */
function lineAt(core: Core, base: number, dialect: DialectName): Branch {
  const { log } = core;
  const free = log
    .branches()
    .filter((branch) => isFree(core, branch, dialect) && endsAt(log, branch, base))
    .sort(
      (a, b) => depthOf(log, b.head) - depthOf(log, a.head) || (b.request?.at ?? 0) - (a.request?.at ?? 0),
    )[0];
  const branch = free ?? fork(core, base, dialect);
  if (branch.head !== base) {
    const meta = { head: base, tip: base };
    appendEvents(log, [{ type: "branch/advanced", at: core.parts.now(), branch: branch.id, meta }]);
  }
  return log.branch(branch.id)!;
}

function isFree(core: Core, branch: Branch, dialect: DialectName): boolean {
  return (
    core.dialectName(branch) === dialect &&
    branch.step === 0 &&
    branch.claim === "" &&
    !core.held.has(branch.id)
  );
}

/** A branch also ends where its own nodes lead on: choices of which one was taken, or messages that were refused. */
function endsAt(log: EventLog, branch: Branch, base: number): boolean {
  if (branch.head === base) return true;
  const node = findNode(log, base);
  return node?.branch === branch.id && onPath(log, branch.head, base);
}

function fork(core: Core, base: number, dialect: DialectName): Branch {
  const { log } = core;
  const id = log.end() + 1;
  const from = settledAt(log, base);
  const parent = from === 0 ? undefined : log.branch(nodeAt(log, from).branch)!;
  const inherited = parent && inheritedView(log, parent, from);
  const other = core.settings().dialect !== dialect;
  const meta = {
    name: log.branchNamed(`b${id}`) === undefined ? `b${id}` : `b${id}-${core.parts.newId()}`,
    from,
    parent: parent?.id ?? 0,
    view: inherited?.seq ?? 0,
    generation: inherited?.gen ?? 0,
    ...(other && { dialect }),
  };
  appendEvents(log, [{ type: "branch/opened", at: core.parts.now(), branch: id, meta }]);
  return log.branch(id)!;
}

/** The newest accepted node at or above. */
function settledAt(log: EventLog, node: number): number {
  let at = node;
  while (at !== 0 && !isAccepted(log, at)) at = nodeAt(log, at).node.parent;
  return at;
}

/** What the client reports of the past. Its thinking was made in front of the client's own list, not of a compacted one. */
function takeIn(
  core: Core,
  id: number,
  ingested: Ingested,
  past: { count: number; keys: readonly NodeKeys[] },
): void {
  if (past.count === 0) return;
  const { log } = core;
  const items = ingested.items.slice(0, past.count);
  const at = core.parts.now();
  const rows = appendEvents(log, messageEvents(items, { branch: id, at, keys: past.keys }));
  const ground = core.ground(id);
  const arriving = items.map((item, index) => ({ item, seq: rows[index]!.seq }));
  appendEvents(log, unboundReplacement(ground, branchAt(ground), arriving));
}

/**
 * The one fold: what an event adds to the log and changes in the projections. The writer and the audit both run it, so that a
 * projection is never anything but its log. Pure: reads through a `LogReader`, answers what to put.
 * A breach of the log's own rules is a defect and changes nothing.
 */
import { Defect } from "../failure.ts";
import type { Branch, Claim, LogReader, View } from "../log/event-log.ts";
import {
  type EventRow,
  type EventType,
  isNodeType,
  type Meta,
  type NewEvent,
  type NodeColumns,
  noWeight,
  plus,
  weightOf,
} from "../log/events.ts";
import { foldRatio, noSamples, type RatioState } from "../meter/ratio.ts";
import { foldBreaker, foldPaid } from "./bounds.ts";
import { nodeAt, onPath, placeBehind } from "./tree.ts";
import { checkContent, contentOn, inheritedStep, inheritedView, viewOf } from "./views.ts";

export interface Changes {
  row: EventRow;
  branch?: Branch;
  view?: View;
  claim?: Claim;
  dropClaim?: string;
  states: { key: string; value: unknown }[];
}

/** Settings of the session in force, as the newest `session/configured` left them. */
export interface SessionState extends Omit<Meta<"session/configured">, "dialect"> {
  dialect: Meta<"session/created">["dialect"];
  /** Seq of the newest `session/configured`, 0 before the first. */
  configured: number;
}

export const ratioKey = (route: string) => `ratio:${route}`;
export const breakerKey = (branch: number) => `breaker:${branch}`;
export const sessionKey = "session";
export const paidKey = "paid";

export function fold(log: LogReader, event: NewEvent): Changes {
  const seq = log.end() + 1;
  const changes: Changes = { row: rowOf(log, event, seq), states: [] };
  const context: Context = { log, seq, event, changes, branch: () => branchOf(log, event.branch) };
  folds[event.type](context, event.meta as never);
  return changes;
}

interface Context {
  log: LogReader;
  seq: number;
  event: NewEvent;
  changes: Changes;
  branch: () => Branch;
}

type Folds = { [T in EventType]: (context: Context, meta: Meta<T>) => void };

const folds: Folds = {
  "session/created": (context, meta) => {
    if (context.seq !== 1) throw new Defect("session/created is not the first event");
    const state: Partial<SessionState> = { dialect: meta.dialect, configured: 0 };
    context.changes.states.push({ key: sessionKey, value: state });
  },
  "session/configured": (context, meta) => {
    const before = context.log.state(sessionKey) as SessionState;
    const { dialect = before.dialect } = meta;
    const value: SessionState = { ...before, ...meta, dialect, configured: context.seq };
    context.changes.states.push({ key: sessionKey, value });
  },
  "branch/opened": openBranch,
  "request/header": (context, meta) => put(context, { envelope: meta.envelope }),
  "message/user": appendNode,
  "message/assistant": appendNode,
  "message/tool": appendNode,
  "message/system": appendNode,
  "step/start": (context, meta) => {
    const { step, steps } = context.branch();
    if (step !== 0) throw new Defect(`step ${step} is still in progress`);
    put(context, {
      step: context.seq,
      stepDeadline: meta.deadline,
      sent: meta.view,
      resends: 0,
      route: meta.route ?? "",
      steps: steps + 1,
    });
  },
  "step/end": closeStep,
  "step/aborted": closeStep,
  "step/cancelled": closeStep,
  "step/failed": (context, meta) => {
    requireStep(context, meta);
    const { resends, view } = context.branch();
    if (meta.resend) put(context, { resends: resends + 1, sent: view });
    else closeStep(context, meta);
  },
  "usage/reported": (context, meta) => {
    if (meta.anchor !== null) put(context, { anchor: context.seq });
    if (meta.sample === undefined || meta.route === null) return;
    const key = ratioKey(meta.route);
    const value = foldRatio((context.log.state(key) as RatioState | undefined) ?? noSamples, meta.sample);
    context.changes.states.push({ key, value });
  },
  "compaction/start": (context, meta) => {
    const branch = context.branch();
    if (branch.claim !== "") throw new Defect(`compaction ${branch.claim} still holds the branch`);
    if (meta.compaction === "") throw new Defect("compaction without an id");
    put(context, { claim: meta.compaction });
    const { compaction: id, trigger, epoch, deadline } = meta;
    context.changes.claim = { id, branch: branch.id, seq: context.seq, trigger, epoch, deadline };
  },
  // Also without the claim: a reply that came too late was paid for all the same, and counted when the claim was closed.
  "compaction/attempt": (context, meta) => {
    payFor(context, meta);
  },
  "compaction/prune": (context, meta) => {
    // Thinking also leaves by a route switch and by an undo, which hold no claim.
    if (meta.kind !== "thinking" || meta.compaction === context.branch().claim) requireClaim(context, meta);
    requireForm(context);
  },
  "compaction/summary": (context, meta) => {
    requireClaim(context, meta);
    requireForm(context);
    payFor(context, meta.evidence);
    if (meta.span.count < 1 || meta.span.to === 0) throw new Defect("summary of nothing");
  },
  "surface/replace": (context, meta) => {
    if (meta.kind !== "route") requireClaim(context, meta);
    replaceView(context, meta, meta.kind);
  },
  "compaction/undone": (context, meta) => {
    if (context.branch().claim !== "") throw new Defect("undo while a compaction holds the branch");
    replaceView(context, meta, "undo");
  },
  "compaction/end": (context, meta) => {
    requireClaim(context, meta);
    put(context, { claim: "" });
    context.changes.dropClaim = meta.compaction;
    if (meta.outcome === "interrupted" || meta.outcome === "cancelled") {
      // Only a call of a model can be broken off; it was paid for, and its evidence may never come.
      if (meta.trigger !== "manual") countPaid(context, meta);
      return;
    }
    if (meta.trigger !== "pressure") return;
    const branch = context.branch();
    const key = breakerKey(branch.id);
    const value = foldBreaker(context.log.state(key), { meta, branch });
    if (value !== undefined) context.changes.states.push({ key, value });
  },
};

function branchOf(log: LogReader, id: number): Branch {
  const branch = log.branch(id);
  if (branch === undefined) throw new Defect(`no branch ${id}`);
  return branch;
}

function put(context: Context, change: Partial<Branch>): void {
  context.changes.branch = { ...(context.changes.branch ?? context.branch()), ...change };
}

function requireStep(context: Context, meta: { step: number }): void {
  if (context.branch().step !== meta.step) throw new Defect(`step ${meta.step} is not in progress`);
}

function closeStep(context: Context, meta: { step: number }): void {
  requireStep(context, meta);
  put(context, { step: 0, stepDeadline: 0, sent: 0, resends: 0 });
}

function appendNode(context: Context): void {
  put(context, { head: context.seq });
}

function requireClaim(context: Context, meta: { compaction: string }): void {
  const claim = context.branch().claim;
  if (claim !== meta.compaction) throw new Defect(`compaction ${meta.compaction} does not hold the branch`);
}

/** Forms and checkpoints carry their price: a replacement without one does not exist. */
function requireForm({ event }: Context): void {
  if (event.facts === undefined || event.body === undefined || event.facts.price < 0) {
    throw new Defect(`${event.type} without bytes and price`);
  }
}

/** A call of a model that nobody asked for by hand: its failures have an event of their own, its summary holds its evidence. */
function payFor(context: Context, evidence: { compaction: string; shape: string }): void {
  const claim = context.log.claims().find((open) => open.id === evidence.compaction);
  if (claim === undefined || claim.trigger === "manual" || evidence.shape === "extractive") return;
  countPaid(context, evidence);
}

function countPaid({ log, changes }: Context, { compaction }: { compaction: string }): void {
  const steps = log.branches().reduce((sum, branch) => sum + branch.steps, 0);
  const value = foldPaid(log.state(paidKey), { compaction, steps });
  if (value !== undefined) changes.states.push({ key: paidKey, value });
}

function openBranch(context: Context, meta: Meta<"branch/opened">): void {
  const { log, seq } = context;
  if (log.branchNamed(meta.name) !== undefined) throw new Defect("branch name taken");
  const parent = meta.parent === 0 ? undefined : branchOf(log, meta.parent);
  if (!onPath(log, meta.from, parent?.head ?? 0))
    throw new Defect("branch/opened at a node of another branch");
  const inherited = parent && inheritedView(log, parent, meta.from);
  if ((inherited?.seq ?? 0) !== meta.view || (inherited?.gen ?? 0) !== meta.generation) {
    throw new Defect("branch/opened names another view than it inherits");
  }
  if (inherited !== undefined) {
    const place = { seq, branch: seq, gen: inherited.gen, base: 0, kind: "inherit", compaction: "" } as const;
    context.changes.view = viewOf(log, place, contentOn(log, inherited, meta.from));
  }
  context.changes.branch = {
    id: seq,
    name: meta.name,
    from: meta.from,
    head: meta.from,
    view: inherited === undefined ? 0 : seq,
    gen: meta.generation,
    ...inheritedStep(log, meta.from, inherited, parent),
    anchor: meta.from === 0 ? 0 : nodeAt(log, meta.from).node.anchor,
    steps: 0,
    step: 0,
    stepDeadline: 0,
    sent: 0,
    resends: 0,
    claim: "",
  };
}

function replaceView(
  context: Context,
  meta: Omit<Meta<"compaction/undone">, never>,
  kind: View["kind"],
): void {
  const { log, seq } = context;
  const branch = context.branch();
  if (meta.generation !== branch.gen + 1) throw new Defect("a replacement must add one to the generation");
  const old = branch.view === 0 ? undefined : log.view(branch.view);
  checkContent(log, branch.head, meta, old);
  const before = old?.delta ?? noWeight;
  const place = {
    seq,
    branch: branch.id,
    gen: meta.generation,
    base: branch.view,
    kind,
    compaction: meta.compaction,
  };
  const view = viewOf(log, place, meta);
  for (const unit of ["tokens", "bytes", "images"] as const) {
    const moved = meta.inserted[unit] - meta.shadowed[unit];
    if (view.delta[unit] !== meta.delta[unit] || before[unit] + moved !== meta.delta[unit]) {
      throw new Defect(`replacement with a wrong weight in ${unit}`);
    }
  }
  context.changes.view = view;
  put(context, { view: seq, gen: meta.generation });
}

function rowOf(log: LogReader, event: NewEvent, seq: number): EventRow {
  const facts = event.facts ?? {
    price: 0,
    bytes: 0,
    images: 0,
    sampled: false,
    mend: false,
    thinking: false,
  };
  return {
    seq,
    type: event.type,
    at: event.at,
    branch: event.type === "branch/opened" ? seq : event.branch,
    step: event.step ?? 0,
    meta: event.meta,
    size: event.body?.byteLength ?? 0,
    ...facts,
    node: isNodeType(event.type) ? nodeColumns(log, event) : null,
  };
}

function nodeColumns(log: LogReader, event: NewEvent): NodeColumns {
  if (event.facts === undefined || event.body === undefined) throw new Defect("node without bytes and price");
  const branch = branchOf(log, event.branch);
  const before = branch.head === 0 ? noWeight : nodeAt(log, branch.head).node.cum;
  return {
    ...placeBehind(log, branch.head),
    cum: plus(before, weightOf(event.facts)),
    open: event.open ?? [],
    turn: event.turn ?? false,
    anchor: branch.anchor,
  };
}

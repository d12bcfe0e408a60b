/**
 * The one fold: what an event adds to the log and changes in the projections. The writer and the audit both run it, so that a
 * projection is never anything but its log. Pure: reads through a `LogReader`, answers what to put.
 * A breach of the log's own rules is a defect and changes nothing.
 */
import { Defect } from "../failure.ts";
import type { LogReader, View } from "../log/event-log.ts";
import {
  type EventRow,
  type EventType,
  isNodeType,
  type Meta,
  type NewEvent,
  type NodeColumns,
  noWeight,
  plus,
  weightless,
  weightOf,
} from "../log/events.ts";
import { foldRatio, noSamples, type RatioState } from "../meter/ratio.ts";
import { foldBreaker, foldPaid } from "./bounds.ts";
import { advance, openBranch, putInbox } from "./fold-branch.ts";
import { branchOf, type Changes, type Context, put } from "./fold-context.ts";
import { nodeAt, placeBehind } from "./tree.ts";
import { checkContent, viewOf } from "./views.ts";

/** Settings of the session in force, as the newest `session/configured` left them. */
export interface SessionState extends Omit<Meta<"session/configured">, "dialect"> {
  dialect: Meta<"session/created">["dialect"];
  /** Seq of the newest `session/configured`, 0 before the first. */
  configured: number;
}

export const ratioKey = (route: string) => `ratio:${route}`;
export const breakerKey = (branch: number) => `breaker:${branch}`;
export const learnedKey = (route: string) => `learned:${route}`;
export const responseKey = (id: string) => `response:${id}`;
export const sessionKey = "session";
export const paidKey = "paid";

export function fold(log: LogReader, event: NewEvent): Changes {
  const seq = log.end() + 1;
  const changes: Changes = { row: rowOf(log, event, seq), states: [] };
  const context: Context = { log, seq, event, changes, branch: () => branchOf(log, event.branch) };
  folds[event.type](context, event.meta as never);
  return changes;
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
  "branch/advanced": advance,
  "inbox/enqueued": (context) => putInbox(context, (seqs) => [...seqs, context.seq]),
  "inbox/claimed": (context, meta) =>
    putInbox(context, (seqs) => seqs.filter((one) => !meta.seqs.includes(one))),
  "request/unmanaged": () => {},
  "request/shadow": () => {},
  "request/header": (context, meta) => put(context, { envelope: meta.envelope }),
  "context/runtime": appendNode,
  "route/learned": (context, { route, limits }) =>
    void context.changes.states.push({ key: learnedKey(route), value: limits }),
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
      ...(meta.request && { request: { ...meta.request, step: context.seq, at: context.event.at } }),
    });
  },
  // The provider took what entered.
  "step/end": (context, meta) => {
    closeStep(context, meta);
    const { tip } = context.branch();
    put(context, { head: tip });
    // Responses clients may go on from a reply by its id alone.
    const id = dialectOf(context) === "openai-responses" ? meta.reply?.id : undefined;
    if (id !== undefined) context.changes.states.push({ key: responseKey(id), value: { node: tip } });
  },
  "step/aborted": giveUpStep,
  "step/cancelled": giveUpStep,
  "step/failed": (context, meta) => {
    requireStep(context, meta);
    const { resends, view } = context.branch();
    // Only what made the request another one counts against a recovery; a provider that was waited for does not.
    const mended = meta.reason === "overflow" || meta.reason === "binding";
    if (meta.resend) put(context, { resends: mended ? resends + 1 : resends, sent: view });
    else giveUpStep(context, meta);
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
    if (meta.kind === "prune" || meta.kind === "checkpoint") requireClaim(context, meta);
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

function dialectOf({ log, branch }: Context): string {
  return branch().dialect || (log.state(sessionKey) as SessionState).dialect;
}

function requireStep(context: Context, meta: { step: number }): void {
  if (context.branch().step !== meta.step) throw new Defect(`step ${meta.step} is not in progress`);
}

function closeStep(context: Context, meta: { step: number }): void {
  requireStep(context, meta);
  put(context, { step: 0, stepDeadline: 0, sent: 0, resends: 0 });
}

/** What entered and was not accepted stands on no branch any more; its nodes are found again when they are sent again. */
function giveUpStep(context: Context, meta: { step: number }): void {
  closeStep(context, meta);
  put(context, { tip: context.branch().head });
}

function appendNode(context: Context, meta: Meta<"message/user">): void {
  if (meta.sibling !== undefined) return;
  put(context, meta.entering ? { tip: context.seq } : { head: context.seq, tip: context.seq });
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

function replaceView(
  context: Context,
  meta: Omit<Meta<"compaction/undone">, never>,
  kind: View["kind"],
): void {
  const { log, seq } = context;
  const branch = context.branch();
  if (meta.generation !== branch.gen + 1) throw new Defect("a replacement must add one to the generation");
  const old = branch.view === 0 ? undefined : log.view(branch.view);
  checkContent(log, branch.tip, meta, old, kind);
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
  const facts = event.facts ?? weightless;
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
  const parent = (event.meta as Meta<"message/user">).sibling ?? branch.tip;
  const above = parent === 0 ? undefined : nodeAt(log, parent).node;
  const before = above?.cum ?? noWeight;
  const context = event.type === "context/runtime" ? log.end() + 1 : above?.context;
  return {
    ...placeBehind(log, parent),
    cum: plus(before, weightOf(event.facts)),
    open: event.open ?? [],
    turn: event.turn ?? false,
    anchor: branch.anchor,
    ...(event.key && { key: event.key }),
    ...(event.own && { own: event.own }),
    ...(context !== undefined && { context }),
  };
}

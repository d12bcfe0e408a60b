/**
 * Runs one invocation: claim, then rung by rung until the request is relieved, then the caller's own ending. Awaits only the
 * summary, between the claim and its commit; after each await everything is read anew.
 */
import type { Meta, Trigger } from "../log/events.ts";
import type { Measure } from "../projections/pressure.ts";
import { fits } from "./budget.ts";
import { staleForms } from "./forms.ts";
import { type Entering, type Ground, type Observed, type Snapshot, takeSnapshot } from "./ground.ts";
import {
  couldProgress,
  freesEnough,
  isRelieved,
  type Keep,
  planPrune,
  planSpan,
  type SpanPlan,
} from "./plan.ts";
import { type Summarizer, summarizeSpan } from "./run-summary.ts";
import { claim, commitForms, holds, release } from "./transaction.ts";

export interface Invocation {
  compaction: string;
  trigger: Trigger;
  epoch: string;
  command?: string;
  step?: number;
  observed?: Observed;
  /** Re-sends of the step so far: where on the overflow ladder to begin. */
  resends: number;
  /** Only rungs of code: the breaker is open, or the budget of paid summaries is used up. */
  codeOnly: boolean;
  signal: AbortSignal;
}

/** An invocation under way. */
export interface Run {
  ground: Ground;
  entering: () => Entering;
  invocation: Invocation;
  summarizer: Summarizer;
  deadline: number;
  rungs: string[];
  /** Calls of a model so far, of at most `maxPaidCalls`. */
  paid: number;
  checkpoints: number[];
  shadowed: { items: number; tokens: number };
  /** Why the last summary did not land. */
  failure?: string;
  before: { measure: Measure; generation: number };
}

export function snapshotOf(run: Run): Snapshot {
  return takeSnapshot(run.ground, run.entering(), run.invocation.observed);
}

/**
 * @param finish runs in the same synchronous stretch as the last look at the Surface; it must release the claim (`conclude`)
 * if that is still held.
 */
export async function runCompaction<T>(
  ground: Ground,
  entering: () => Entering,
  summarizer: Summarizer,
  invocation: Invocation,
  finish: (run: Run) => T,
): Promise<T> {
  const run = start(ground, entering, summarizer, invocation);
  try {
    if (invocation.trigger === "manual") await climbManual(run);
    else await climb(run);
    return finish(run);
  } catch (error) {
    if (holds(ground, invocation.compaction)) conclude(run, { failed: "error" });
    throw error;
  }
}

function start(
  ground: Ground,
  entering: () => Entering,
  summarizer: Summarizer,
  invocation: Invocation,
): Run {
  const snapshot = takeSnapshot(ground, entering(), invocation.observed);
  const { compaction, trigger, epoch, command, step } = invocation;
  const deadline = ground.now() + ground.policy.maxWaitMs;
  const plan = planSpan(
    ground,
    snapshot,
    trigger === "manual" ? { kind: "newest" } : { kind: "retain", share: 1 },
  );
  claim(ground, {
    compaction,
    trigger,
    epoch,
    deadline,
    span: plan?.span ?? null,
    tokens: snapshot.measure.tokens,
    ...(command === undefined ? {} : { command }),
    ...(step === undefined ? {} : { step }),
  });
  return {
    ground,
    entering,
    invocation,
    summarizer,
    deadline,
    rungs: [],
    paid: 0,
    checkpoints: [],
    shadowed: { items: 0, tokens: 0 },
    before: { measure: snapshot.measure, generation: snapshot.branch.gen },
  };
}

/** One summary of everything in front of the newest unit; what is pruned only feeds it. */
async function climbManual(run: Run): Promise<void> {
  const snapshot = snapshotOf(run);
  const plan = planSpan(run.ground, snapshot, { kind: "newest" });
  if (plan !== undefined) await summarizeSpan(run, snapshot, plan);
}

async function climb(run: Run): Promise<void> {
  const { ground, invocation } = run;
  const overflow = invocation.trigger === "overflow";
  pruneRung(run, overflow ? 0 : ground.policy.prune.protectGroups);
  for (let round = 0; round <= ground.policy.compactionRetries; round++) {
    const snapshot = snapshotOf(run);
    if (isDone(run, snapshot)) return;
    const keep: Keep = overflow ? overflowKeep(run, round) : { kind: "retain", share: 0.5 ** round };
    const plan = planSpan(ground, snapshot, keep);
    if (plan === undefined || !isWorthwhile(run, snapshot, plan, round)) break;
    if (!(await summarizeSpan(run, snapshot, plan))) break;
  }
  await ceilingRound(run);
}

/** If the request does not fit the ceiling after all rounds, one more keeps only the newest unit. */
async function ceilingRound(run: Run): Promise<void> {
  if (!holds(run.ground, run.invocation.compaction)) return;
  const snapshot = snapshotOf(run);
  if (fits(snapshot.measure, snapshot.budget)) return;
  const plan = planSpan(run.ground, snapshot, { kind: "newest" });
  if (plan !== undefined) await summarizeSpan(run, snapshot, plan);
}

function pruneRung(run: Run, protect: number): void {
  const { ground, invocation } = run;
  const snapshot = snapshotOf(run);
  const forms = planPrune(ground, snapshot, protect, invocation.trigger !== "overflow");
  if (forms.length === 0) return;
  const first = snapshot.items.findIndex((item) => forms.some((form) => form.node === item.seq));
  const stale = staleForms(ground, snapshot, first, forms);
  commitForms(ground, snapshot, invocation.compaction, [...forms, ...stale]);
  run.rungs.push("prune");
}

function isDone(run: Run, snapshot: Snapshot): boolean {
  if (!holds(run.ground, run.invocation.compaction)) return true;
  if (run.invocation.trigger === "pressure") return isRelieved(snapshot);
  return hasProgress(run, snapshot) && fits(snapshot.measure, snapshot.budget);
}

/** First the smaller of the normal tail and a quarter of the ceiling, then the newest unit. */
function overflowKeep(run: Run, round: number): Keep {
  return run.invocation.resends + round === 0 ? { kind: "quarter" } : { kind: "newest" };
}

function isWorthwhile(run: Run, snapshot: Snapshot, plan: SpanPlan, round: number): boolean {
  if (run.invocation.trigger !== "pressure" || round > 0) return true;
  return !fits(snapshot.measure, snapshot.budget) || couldProgress(snapshot, plan);
}

/** Proof of progress: the generation advanced and the priced Surface shrank. */
export function hasProgress(run: Run, now: Snapshot): boolean {
  return now.branch.gen > run.before.generation && now.measure.surface < run.before.measure.surface;
}

/** Whether a checkpoint that frees this much may land: the first round of a pressure invocation has to be worth its flush. */
export function mayLand(run: Run, snapshot: Snapshot, freed: number): boolean {
  if (freed <= 0) return false;
  if (run.invocation.trigger !== "pressure" || run.checkpoints.length > 0) return true;
  return !fits(snapshot.measure, snapshot.budget) || freesEnough(snapshot, freed);
}

export type Ended = Omit<Meta<"compaction/end">, "compaction">;

export interface Verdict {
  failed?: string;
  /** What the invocation led to, where the log does not show it yet. */
  after?: Measure;
  generation?: number;
}

/** How the invocation ended, as the log tells it. */
export function endingOf(run: Run, verdict: Verdict = {}): Ended {
  const { invocation, before, rungs } = run;
  const snapshot = snapshotAfter(run);
  const after = verdict.after ?? snapshot?.measure ?? before.measure;
  const generation = verdict.generation ?? snapshot?.branch.gen ?? before.generation;
  const progress = generation > before.generation && after.surface < before.measure.surface;
  const threshold = snapshot?.budget.threshold;
  const relieved = progress && (threshold === undefined || after.tokens < threshold);
  const done = verdict.failed === undefined && (invocation.trigger === "pressure" ? relieved : progress);
  return {
    trigger: invocation.trigger,
    outcome: done ? "done" : "failed",
    ...(done ? {} : { reason: verdict.failed ?? run.failure ?? "not-relieved" }),
    rungs,
    tokensBefore: before.measure.tokens,
    tokensAfter: after.tokens,
    progress,
  };
}

/** The state at the end; a batch that can no longer be appended must not keep the claim from closing. */
function snapshotAfter(run: Run): Snapshot | undefined {
  try {
    return snapshotOf(run);
  } catch {
    return undefined;
  }
}

/** Closes the claim. */
export function conclude(run: Run, verdict: Verdict = {}): Ended {
  const ending = endingOf(run, verdict);
  release(run.ground, run.invocation.compaction, ending);
  return ending;
}

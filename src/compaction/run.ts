/**
 * Runs one invocation: claim, then rung by rung until the request is relieved, then the caller's own ending. Awaits only the
 * summary, between the claim and its commit; after each await everything is read anew.
 */
import { fits } from "./budget.ts";
import { withStale } from "./forms.ts";
import { type Entering, type Ground, type Snapshot, takeSnapshot } from "./ground.ts";
import {
  type Ended,
  endingOf,
  hasProgress,
  type Invocation,
  type Run,
  type Summarizer,
  snapshotOf,
  type Verdict,
} from "./invocation.ts";
import { couldProgress, isRelieved, type Keep, planPrune, planSpan, type SpanPlan } from "./plan.ts";
import { summarizeSpan } from "./run-summary.ts";
import { claim, commitForms, holds, release } from "./transaction.ts";

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
  commitForms(ground, snapshot, invocation.compaction, withStale(ground, snapshot, forms));
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

/** Closes the claim. */
export function conclude(run: Run, verdict: Verdict = {}): Ended {
  const ending = endingOf(run, verdict);
  release(run.ground, run.invocation.compaction, ending);
  return ending;
}

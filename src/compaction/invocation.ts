/**
 * One invocation of the engine as plain data: what was asked, what has happened so far, and what may land. Shared by the climb (`run.ts`)
 * and the summary call (`run-summary.ts`). Pure but for reading the log.
 */
import { createHash } from "node:crypto";
import type { Meta, Trigger } from "../log/events.ts";
import type { Measure } from "../projections/pressure.ts";
import type { CallResult } from "../providers/provider.ts";
import { fits } from "./budget.ts";
import { type Entering, type Ground, type Observed, type Snapshot, takeSnapshot } from "./ground.ts";
import { freesEnough } from "./plan.ts";
import type { SummaryModel } from "./summary-call.ts";

/** Who writes summaries. `call` sends a body to the upstream and never throws. */
export type Summarizer =
  | { kind: "extractive" }
  | {
      kind: "model";
      model: SummaryModel;
      call: (body: Uint8Array, options: { signal: AbortSignal; timeoutMs: number }) => Promise<CallResult>;
      /** Resolves after `ms`, or at once when the signal aborts; never rejects. */
      wait: (ms: number, signal: AbortSignal) => Promise<void>;
    };

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

/** What the outcome of an invocation depends on beside the branch: route, policy and capacity, as one short digest. */
export function basisOf({ route, policy, capacity }: Ground): string {
  const basis = JSON.stringify([route, policy, capacity]);
  return createHash("sha256").update(basis).digest("hex").slice(0, 16);
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
    basis: basisOf(run.ground),
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

/**
 * `POST /overflow`: the harness reports what the provider said to a prepared request. Recovery happens inside the same step, with the
 * same envelope; nothing is added to the conversation. Proof of progress is a newer generation and a smaller priced Surface.
 */

import { fits } from "../compaction/budget.ts";
import { withStale } from "../compaction/forms.ts";
import {
  branchAt,
  type Entering,
  type Ground,
  type Observed,
  type Snapshot,
  takeSnapshot,
} from "../compaction/ground.ts";
import { hasProgress, type Run, snapshotOf } from "../compaction/invocation.ts";
import { lastRung } from "../compaction/last-rung.ts";
import { conclude } from "../compaction/run.ts";
import { commitForms, holds } from "../compaction/transaction.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { Meta, NewEvent } from "../log/events.ts";
import { appendEvents } from "../projections/write.ts";
import { classifyRefusal, type Overflow, silentOverflow } from "../providers/overflow.ts";
import { usageOf } from "../providers/usage.ts";
import type { Core } from "./core.ts";
import { envelopeWeight } from "./envelope.ts";
import { irreducible } from "./landing.ts";
import { lessonEvents } from "./lessons.ts";
import { outputCap } from "./pressure.ts";
import { compact } from "./relief.ts";
import { stepOf } from "./steps.ts";

export interface OverflowReport {
  branch: string | null;
  prepareId: string;
  status?: number | undefined;
  body?: unknown;
  usage?: unknown;
  finish?: string | undefined;
}

export type Recovery =
  | {
      action: "retry";
      branch: number;
      /** The invocation that made it smaller; null where only the output cap went down. */
      compaction: string | null;
      maxOutput: number | null;
      generation: number;
      head: number;
      view: number;
      envelope: string;
    }
  | { action: "none"; reason: string };

/** Re-sends of one step, together one recovery. */
const MAX_RESENDS = 3;
/** What is left of a request that was refused without numbers although it seemed to fit. */
const BLIND_SHARE = 0.75;

export async function recover(core: Core, report: OverflowReport): Promise<Recovery> {
  const branch = core.branch(report.branch);
  const step = stepOf(core.log, branch, report.prepareId, core.parts.now());
  const ground = core.ground(branch.id, step.meta.route);
  const entering: Entering = {
    envelope: envelopeWeight(core.log, step.meta.envelope),
    batch: [],
    maxOutput: step.meta.maxOutput ?? undefined,
  };
  const snapshot = takeSnapshot(ground, entering);
  const verdict = judge(ground, snapshot, report);
  if (verdict.kind !== "overflow") return { action: "none", reason: verdict.kind };
  if (!ground.policy.overflowRecovery) return { action: "none", reason: "off" };
  if (branch.claim !== "") return { action: "none", reason: "busy" };
  if (branch.resends >= MAX_RESENDS) throw irreducible(snapshot);
  const failed: Meta<"step/failed"> = {
    step: step.seq,
    reason: "overflow",
    ...(report.status === undefined ? {} : { status: report.status }),
    resend: true,
  };
  const event: NewEvent<"step/failed"> = {
    type: "step/failed",
    at: core.parts.now(),
    branch: branch.id,
    step: step.seq,
    meta: failed,
  };
  const asked = entering.maxOutput ?? verdict.clamp;
  if (verdict.clamp !== undefined && verdict.clamp >= Math.min(asked ?? LEAST_OUTPUT, LEAST_OUTPUT)) {
    appendEvents(core.log, [event]);
    return retry(core, branch.id, { asked: Math.min(verdict.clamp, asked ?? verdict.clamp), tokens: 0 });
  }
  if (verdict.said !== undefined) {
    const lesson = { kind: "refused" as const, overflow: verdict.said, sent: snapshot.measure.tokens };
    appendEvents(core.log, lessonEvents(ground, lesson));
  }
  const observed = observe(snapshot, verdict);
  const wanted = { trigger: "overflow" as const, step: step.seq, observed, resends: branch.resends };
  const recovery = await compact(
    core,
    ground,
    () => entering,
    wanted,
    (run) => finish(core, run, event, verdict.limit),
  );
  // Thrown only here: the rungs that landed stay, the claim is closed.
  if (recovery instanceof Refusal) throw recovery;
  return recovery;
}

interface Verdict {
  kind: string;
  /** The provider's count of the request, and its limit. */
  tokens?: number;
  limit?: number;
  /** The refusal as it was read; absent where the provider said nothing. */
  said?: Overflow;
  /** The input fits: only the output cap has to go down to this. */
  clamp?: number;
}

function judge(ground: Ground, { measure, entering }: Snapshot, report: OverflowReport): Verdict {
  const { maxOutput } = entering;
  const window = ground.capacity.window;
  const usage = usageOf(ground.dialect.name, report.usage);
  const accepted = report.status === undefined || (report.status >= 200 && report.status < 300);
  if (accepted && report.body === undefined) {
    const silent = silentOverflow({ usage, finish: report.finish, window });
    if (silent === undefined) return { kind: "not-overflow" };
    // A completed answer is never run again.
    if (silent.answered) return { kind: "answered" };
    return { kind: "overflow", ...(silent.inputTokens === undefined ? {} : { tokens: silent.inputTokens }) };
  }
  const { status, body } = report;
  const refusal = classifyRefusal({
    status,
    body,
    dialect: ground.dialect.name,
    estimate: measure.tokens,
    window,
    maxOutput,
  });
  if (refusal.kind !== "overflow") return { kind: refusal.kind === "other" ? "not-overflow" : refusal.kind };
  const verdict: Verdict = { kind: "overflow", said: refusal };
  if (refusal.tokens !== undefined) verdict.tokens = refusal.inputTokens ?? refusal.tokens;
  if (refusal.limit !== undefined) verdict.limit = refusal.limit;
  if (refusal.maxTokensOnly && refusal.limit !== undefined && refusal.inputTokens !== undefined) {
    verdict.clamp = refusal.limit - refusal.inputTokens - CLAMP_MARGIN;
  }
  return verdict;
}

/** A reply with less room than this is not worth sending for: then the history has to give way. */
const LEAST_OUTPUT = 256;
/** Tokens left free between a clamped output cap and the limit: providers count a little more than they say. */
const CLAMP_MARGIN = 64;

function observe(snapshot: Snapshot, verdict: Verdict): Observed {
  const { measure, budget } = snapshot;
  const price = measure.envelope + measure.surface;
  const counted = verdict.tokens ?? measure.tokens;
  const { limit } = verdict;
  const stated = limit === undefined ? undefined : Math.max(1, limit - Math.min(budget.reserved, limit / 4));
  const known = stated ?? budget.ceiling;
  const blind = Math.max(1, counted * BLIND_SHARE);
  const guessed = known === undefined || known >= counted;
  return {
    ceiling: Math.floor(guessed ? blind : known),
    guessed,
    ...(verdict.tokens === undefined || price <= 0 ? {} : { ratio: verdict.tokens / price }),
  };
}

/** Clips what a cut cannot help, then answers only with proof of progress. Landed rungs stay in either case. */
function finish(
  core: Core,
  run: Run,
  failed: NewEvent<"step/failed">,
  limit: number | undefined,
): Recovery | Refusal {
  const { ground, invocation } = run;
  if (!holds(ground, invocation.compaction)) return { action: "none", reason: "cancelled" };
  const { step, tip } = branchAt(ground);
  if (step !== failed.meta.step || tip > step) {
    // It was answered, ended or overtaken meanwhile: there is nothing to send again.
    conclude(run);
    return { action: "none", reason: "superseded" };
  }
  return core.log.transaction(() => {
    let now = snapshotOf(run);
    if (!fits(now.measure, now.budget)) {
      clip(run, now);
      now = snapshotOf(run);
    }
    // A ceiling that was only guessed asks for progress, not for a fit.
    const guessed = invocation.observed?.guessed ?? false;
    const proven = hasProgress(run, now) && (guessed || fits(now.measure, now.budget));
    conclude(run, proven ? {} : { failed: "irreducible" });
    if (!proven) return irreducible(now);
    appendEvents(core.log, [failed]);
    const { tokens } = now.measure;
    const { compaction } = invocation;
    return retry(core, ground.branch, { asked: run.entering().maxOutput, tokens, limit, compaction });
  });
}

function clip(run: Run, now: Snapshot): void {
  const { ground, invocation } = run;
  const { forms } = lastRung(ground, now, []);
  if (forms.length === 0) return;
  commitForms(ground, now, invocation.compaction, withStale(ground, now, forms));
  run.rungs.push("clip");
}

function retry(
  core: Core,
  id: number,
  room: {
    asked: number | undefined;
    tokens: number;
    limit?: number | undefined;
    compaction?: string;
  },
): Recovery {
  const branch: Branch = core.log.branch(id)!;
  const ground = core.ground(id, branch.route === "" ? null : branch.route);
  const { tip: head, view, envelope, gen: generation } = branch;
  const { window } = ground.capacity;
  const { limit, tokens, asked, compaction = null } = room;
  // What the provider just stated outranks what is configured, for this one re-send.
  const stated =
    limit === undefined
      ? ground
      : { ...ground, capacity: { ...ground.capacity, window: Math.min(limit, window ?? limit) } };
  const maxOutput = outputCap(stated, asked, tokens);
  return { action: "retry", branch: id, compaction, maxOutput, generation, head, view, envelope };
}

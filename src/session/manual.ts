/** Manual compaction, its plan, undo and cancel: what a person asks of an idle branch. */

import { takeSnapshot } from "../compaction/ground.ts";
import type { Run } from "../compaction/invocation.ts";
import { planPrune, planSpan } from "../compaction/plan.ts";
import { conclude } from "../compaction/run.ts";
import { holds, undo } from "../compaction/transaction.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { NewEvent } from "../log/events.ts";
import { appendEvents } from "../projections/write.ts";
import type { Core } from "./core.ts";
import { giveUp } from "./outbound/reply.ts";
import { idle } from "./pressure.ts";
import { compact } from "./relief.ts";
import type { Json } from "./render.ts";
import { inProgress, prepareId } from "./steps.ts";

/** @throws Refusal `busy`, `cancelled`, `surface-changed`, `summary`, `commit`, `persistence`. */
export async function compactManually(core: Core, name: string | null, command: string): Promise<Json> {
  const branch = core.branch(name);
  checkIdle(core, branch);
  const ground = core.ground(branch.id);
  const entering = () => idle(core, core.log.branch(branch.id) ?? branch);
  if (planSpan(ground, takeSnapshot(ground, entering()), { kind: "newest" }) === undefined) {
    return { outcome: "nothing", commandId: command, generation: branch.gen };
  }
  const wanted = { trigger: "manual" as const, command };
  const outcome = await compact(core, ground, entering, wanted, (run) =>
    manualOutcome(core, run, command),
  ).catch(unwritten);
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

function checkIdle(core: Core, branch: Branch): void {
  if (branch.claim !== "") throw new Refusal("busy", "A compaction runs on this branch.");
  if (core.held.has(branch.id) || inProgress(branch, core.parts.now()))
    throw new Refusal("busy", "A step is in progress on this branch.");
}

function manualOutcome(core: Core, run: Run, command: string): Json | Refusal {
  const { ground, invocation } = run;
  if (!holds(ground, invocation.compaction)) return new Refusal("cancelled", "The compaction was stopped.");
  const { generation } = run.before;
  const summarySeq = run.checkpoints.at(-1);
  if (summarySeq === undefined) {
    const reason = run.failure ?? "nothing";
    conclude(run, { failed: reason });
    return unlanded(reason, { commandId: command, generation });
  }
  try {
    conclude(run);
  } catch (cause) {
    throw new Refusal("persistence", "The summary is in force, but its end could not be recorded.", {
      cause,
    });
  }
  return {
    compactionId: invocation.compaction,
    commandId: command,
    summarySeq,
    shadowed: run.shadowed,
    generation: core.log.branch(ground.branch)!.gen,
  };
}

/** The store refused to take the summary. A defect of ours is told as what it is. */
function unwritten(cause: unknown): never {
  const store = cause instanceof Error && cause.name === "Error";
  if (!store) throw cause;
  throw new Refusal("commit", "The summary could not be written; the conversation is unchanged.", { cause });
}

/** Reasons of a summary that did not land, as the person is told them; the conversation is unchanged in each. */
function unlanded(reason: string, same: Json): Json | Refusal {
  const changed = ["span-changed", "unbalanced", "price-changed", "claim-lost"];
  if (reason === "nothing" || reason === "not-worth") return { outcome: "nothing", ...same };
  if (changed.includes(reason)) {
    return new Refusal("surface-changed", "The conversation changed meanwhile; it was left as it is.");
  }
  return new Refusal("summary", "No usable summary was written; the conversation is unchanged.", {
    more: { reason },
  });
}

/** `POST /compact?plan=true`: what a manual compaction would do now. Changes nothing. */
export function planManually(core: Core, name: string | null): Json {
  const branch = core.branch(name);
  const ground = core.ground(branch.id);
  const snapshot = takeSnapshot(ground, idle(core, branch));
  const plan = planSpan(ground, snapshot, { kind: "newest" });
  if (plan === undefined)
    return { outcome: "nothing", span: null, prunes: [], retained: snapshot.items.length };
  const span = { ...snapshot, items: snapshot.items.slice(0, plan.cut) };
  return {
    outcome: "compact",
    span: plan.span,
    prunes: planPrune(ground, span, 0, true).map((form) => form.node),
    retained: snapshot.items.length - plan.cut,
  };
}

/** @throws Refusal `busy`, `nothing-to-undo`. */
export function undoNewest(core: Core, name: string | null): Json {
  const branch = core.branch(name);
  checkIdle(core, branch);
  const ground = core.ground(branch.id);
  const { compaction, generation } = undo(ground, takeSnapshot(ground, idle(core, branch)));
  return { compactionId: compaction, generation };
}

/** `POST /cancel`: stops what runs on the branch, at once; a reply that comes later commits nothing. */
export function cancel(core: Core, name: string | null): Json {
  const branch = core.branch(name);
  const at = core.parts.now();
  const events: NewEvent[] = [];
  const cancelled: Json[] = [];
  if (branch.claim !== "") {
    events.push(cancelledCompaction(core, branch, at));
    cancelled.push({ kind: "compaction", id: branch.claim });
  }
  if (branch.step !== 0) cancelled.push({ kind: "step", id: prepareId(branch.step) });
  core.log.transaction(() => {
    appendEvents(core.log, events);
    giveUp(core, branch.id, { type: "step/cancelled", meta: {} });
  });
  core.flights.get(branch.id)?.abort.abort("cancelled");
  core.running.get(branch.id)?.abort.abort();
  return { cancelled };
}

function cancelledCompaction(core: Core, branch: Branch, at: number): NewEvent {
  const claim = core.log.claims().find((open) => open.id === branch.claim)!;
  return endWithout(core, claim, at, "cancelled");
}

/** The end of a compaction that nobody brings to its own. */
export function endWithout(
  core: Pick<Core, "log">,
  claim: { id: string; branch: number; seq: number; trigger: "pressure" | "overflow" | "manual" },
  at: number,
  outcome: "cancelled" | "interrupted",
): NewEvent {
  const tokens = (core.log.event(claim.seq)?.meta as { tokens?: number } | undefined)?.tokens ?? 0;
  const { id: compaction, trigger } = claim;
  const rungs: string[] = [];
  const meta = {
    compaction,
    trigger,
    outcome,
    rungs,
    tokensBefore: tokens,
    tokensAfter: tokens,
    progress: false,
  };
  return { type: "compaction/end", at, branch: claim.branch, meta };
}

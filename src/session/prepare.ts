/**
 * `POST /prepare`: the next request of a harness that calls the model itself. Compacts if it must, appends the batch, answers the
 * exact messages to send. The batch and the step land in one transaction, on state that was read after the last await.
 */
import { fits } from "../compaction/budget.ts";
import { takeSnapshot } from "../compaction/ground.ts";
import type { Run } from "../compaction/invocation.ts";
import { conclude } from "../compaction/run.ts";
import { adopt, dropThinking, holds } from "../compaction/transaction.ts";
import { Refusal } from "../failure.ts";
import { onPath } from "../projections/tree.ts";
import { type Attempt, attempts, type PrepareRequest } from "./attempt.ts";
import type { Core } from "./core.ts";
import { samePrefix, storedEnvelope } from "./envelope.ts";
import { type Adopted, land, type Prepared } from "./landing.ts";
import { compact, isBroken, isOverThreshold, waitForBranch } from "./relief.ts";

/** @param remember is called inside the transaction that appends the batch. */
export async function prepare(
  core: Core,
  request: PrepareRequest,
  remember: (prepared: Prepared) => void,
): Promise<Prepared> {
  const { id } = core.branch(request.branch);
  const attempt = attempts(core, id, request);
  dropForeignThinking(core, attempt);
  await waitWhileHeld(core, attempt);
  await waitForSibling(core, attempt);
  const before = dropForeignThinking(core, attempt);
  const adopted = mustCompact(core, before) ? adoptFitting(before) : undefined;
  const now = adopted === undefined ? before : attempt();
  if (!mustCompact(core, now)) return land(core, now, request.maxOutput, remember, undefined, adopted);
  return compact(
    core,
    now.ground,
    () => attempt().entering,
    { trigger: "pressure" },
    (run) => finish(core, attempt, request.maxOutput, run, remember),
  );
}

/**
 * What the next request's model cannot read leaves the Surface first: thinking of another route, and thinking that is bound to another
 * system prompt or other tools. Also while a compaction holds the branch: its span then changed, and its summary does not land.
 */
function dropForeignThinking(core: Core, attempt: () => Attempt): Attempt {
  const now = attempt();
  const { branch, ground, envelope, entering } = now;
  const bound = ground.binding === "prefix" && envelope.hash !== branch.envelope;
  const rebound = bound && !samePrefix(envelope, storedEnvelope(core.log, branch.envelope));
  if (branch.route === "" || (branch.route === ground.route && !rebound)) return now;
  return dropThinking(ground, takeSnapshot(ground, entering)) ? attempt() : now;
}

/** A compaction that holds the branch is waited for only over the threshold, at most `maxWaitMs`. */
async function waitWhileHeld(core: Core, attempt: () => Attempt): Promise<void> {
  let now = attempt();
  const deadline = core.parts.now() + now.ground.policy.maxWaitMs;
  while (now.branch.claim !== "" && isOverThreshold(now.ground, now.branch, now.entering)) {
    const left = deadline - core.parts.now();
    if (left <= 0 || !(await waitForBranch(core, now.branch.id, left))) return;
    now = attempt();
  }
}

/** The first rung: another branch's checkpoint, if one fits. */
function adoptFitting({ ground, entering }: Attempt): Adopted | undefined {
  const snapshot = takeSnapshot(ground, entering);
  const checkpoint = adopt(ground, snapshot);
  return checkpoint === undefined ? undefined : { checkpoint, before: snapshot.measure.tokens };
}

/**
 * Requests that go on from the same node need the same compaction. It is made once: the branch that another one was opened from is waited
 * for, and its checkpoint adopted.
 */
async function waitForSibling(core: Core, attempt: () => Attempt): Promise<void> {
  const { branch, ground, entering } = attempt();
  if (!ground.policy.auto || !isOverThreshold(ground, branch, entering)) return;
  for (const id of core.running.keys()) {
    const other = id === branch.id ? undefined : core.log.branch(id);
    if (other === undefined || branch.head === 0 || !onPath(core.log, branch.head, other.tip)) continue;
    await waitForBranch(core, id, ground.policy.maxWaitMs);
    return;
  }
}

function mustCompact(core: Core, { branch, ground, entering }: Attempt): boolean {
  if (!ground.policy.auto || branch.claim !== "" || !isOverThreshold(ground, branch, entering)) return false;
  const snapshot = takeSnapshot(ground, entering);
  return !fits(snapshot.measure, snapshot.budget) || !isBroken(core, ground, entering);
}

/** The end of the invocation, in one synchronous stretch: the last rung, the batch, the step, the release. */
function finish(
  core: Core,
  attempt: () => Attempt,
  maxOutput: number | undefined,
  run: Run,
  remember: (prepared: Prepared) => void,
): Prepared {
  const { ground, invocation } = run;
  try {
    return land(core, dropForeignThinking(core, attempt), maxOutput, remember, run);
  } catch (error) {
    core.forget();
    if (holds(ground, invocation.compaction)) {
      conclude(run, { failed: error instanceof Refusal ? error.failure.code : "error" });
    }
    throw error;
  }
}

/** Starts, joins and waits for compactions: one per branch at a time. The engine itself is `src/compaction`. */
import { budgetOf, overThreshold } from "../compaction/budget.ts";
import { type Entering, type Ground, measureNow, viewOfBranch } from "../compaction/ground.ts";
import { basisOf, type Invocation, type Run, type Summarizer } from "../compaction/invocation.ts";
import { runCompaction } from "../compaction/run.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import { breakerOpen, paidOut } from "../projections/bounds.ts";
import { breakerKey, paidKey } from "../projections/fold.ts";
import { upstreamOf } from "../providers/routes.ts";
import type { Core } from "./core.ts";
import { storedEnvelope } from "./envelope.ts";

type Wanted = Omit<Invocation, "compaction" | "epoch" | "signal" | "codeOnly" | "resends"> & {
  resends?: number;
};

/**
 * Runs a compaction that nobody else of this object runs on the branch.
 * @param finish see `runCompaction`.
 */
export function compact<T>(
  core: Core,
  ground: Ground,
  entering: () => Entering,
  wanted: Wanted,
  finish: (run: Run) => T,
): Promise<T> {
  const abort = new AbortController();
  const compaction = core.parts.newId();
  const invocation: Invocation = {
    resends: 0,
    ...wanted,
    compaction,
    epoch: core.parts.epoch,
    signal: abort.signal,
    codeOnly: wanted.trigger !== "manual" && isCodeOnly(core, ground, entering),
  };
  const summarizer = summarizerOf(core, ground);
  const paying = summarizer.kind === "model" && !invocation.codeOnly && wanted.trigger !== "manual";
  const done = runCompaction(ground, entering, summarizer, invocation, finish);
  const running = { compaction, paying, abort, done };
  core.parts.landed();
  core.running.set(ground.branch, running);
  const clear = () => {
    if (core.running.get(ground.branch) === running) core.running.delete(ground.branch);
  };
  done.then(clear, clear);
  return done;
}

/** Whether only code may run: the breaker stopped automatic attempts, or the budget of paid summaries is used up. */
function isCodeOnly(core: Core, ground: Ground, entering: () => Entering): boolean {
  const steps = core.log.branches().reduce((sum, branch) => sum + branch.steps, 0);
  const pending = [...core.running.values()].filter((running) => running.paying).length;
  return paidOut(core.log.state(paidKey), steps, pending) || isBroken(core, ground, entering());
}

export function isBroken(core: Core, ground: Ground, entering: Entering): boolean {
  const branch = core.log.branch(ground.branch)!;
  const { tokens } = measureNow(ground, branch, viewOfBranch(core.log, branch), entering);
  const { threshold } = budgetOf(ground.policy, ground.capacity, entering.maxOutput);
  const state = core.log.state(breakerKey(branch.id));
  return breakerOpen(state, { branch, basis: basisOf(ground), tokens, threshold });
}

export function isOverThreshold(ground: Ground, branch: Branch, entering: Entering): boolean {
  const measure = measureNow(ground, branch, viewOfBranch(ground.log, branch), entering);
  return overThreshold(measure, budgetOf(ground.policy, ground.capacity, entering.maxOutput));
}

/** Waits until the branch's running compaction is over, at most `ms`. False when it still runs, or is not of this object. */
export async function waitForBranch(core: Core, branch: number, ms: number): Promise<boolean> {
  const running = core.running.get(branch);
  if (running === undefined) return false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const over = running.done.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([over, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Who writes summaries: the policy's route if it has a key here, else code. */
function summarizerOf(core: Core, ground: Ground): Summarizer {
  const wanted = ground.policy.summary.route;
  const own = ownRoute(core, ground);
  const name = wanted === "self" ? own : wanted;
  if (name === null || name === "extractive") return { kind: "extractive" };
  const { config, secrets, callModel, fetch, wait } = core.parts;
  const upstream = reachable(() => upstreamOf(name, config, secrets, ground.dialect.name));
  // A provider that takes only the client's own key is not called in nobody's name.
  if (upstream === undefined || upstream.forward === true) return { kind: "extractive" };
  const known = core.resolve(name);
  const branch = core.log.branch(ground.branch)!;
  const { parts, tokens } = storedEnvelope(core.log, branch.envelope);
  return {
    kind: "model",
    model: {
      route: name,
      upstream,
      sameRoute: name === own && upstream.dialect === ground.dialect.name,
      capacity: name === ground.route ? ground.capacity : known.capacity,
      ratio: known.ratio,
      envelope: { ...parts, tokens },
    },
    call: (body, options) => callModel(upstream, body, { ...options, fetch }),
    wait,
  };
}

/**
 * The session's own route. On a switch to a smaller window it is still the one of the last step: the span fits it, and
 * its cache is warm.
 */
function ownRoute(core: Core, ground: Ground): string | null {
  const { route } = core.log.branch(ground.branch)!;
  if (route === "" || route === ground.route) return ground.route;
  const { config, secrets } = core.parts;
  const before = core.ground(ground.branch, route).capacity.window;
  const now = ground.capacity.window;
  if (before === undefined || now === undefined || before <= now) return ground.route;
  const warm = reachable(() => upstreamOf(route, config, secrets, ground.dialect.name));
  return warm === undefined ? ground.route : route;
}

/** A secret that can not be used is the operator's to mend; meanwhile code writes the summaries, as without a key. */
function reachable<T>(find: () => T | undefined): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof Refusal && error.failure.code === "not-configured") return undefined;
    throw error;
  }
}

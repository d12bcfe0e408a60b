/**
 * What bounds automatic compaction: the breaker of a branch and the session's budget of paid summaries.
 * Folds over the log like the rest. Pure.
 */

import type { Branch } from "../log/event-log.ts";
import type { Meta } from "../log/events.ts";

/** Invocations without progress after which automatic attempts stop. */
const BREAKER_LIMIT = 3;
/** Growth of the pressure, as a share of the threshold, that closes the breaker again. */
const BREAKER_GROWTH = 0.1;
/** Automatic invocations that may call a model within one window of steps, per session. */
const PAID_LIMIT = 3;
const PAID_WINDOW = 20;

/** Invocations in a row that made no progress, and what held when the last of them ended. */
export interface Breaker {
  failures: number;
  generation: number;
  envelope: string;
  configured: number;
  tokens: number;
}

export function foldBreaker(
  state: unknown,
  event: { meta: Meta<"compaction/end">; branch: Branch; configured: number },
): Breaker | undefined {
  const before = state as Breaker | undefined;
  const { meta, branch, configured } = event;
  if (meta.progress)
    return before === undefined || before.failures === 0 ? undefined : { ...before, failures: 0 };
  const same = before !== undefined && sameGround(before, branch, configured);
  return {
    failures: (same ? before.failures : 0) + 1,
    generation: branch.gen,
    envelope: branch.envelope,
    configured,
    tokens: meta.tokensAfter,
  };
}

/** Whether automatic attempts are stopped: nothing that could help them has changed since the last ones failed. */
export function breakerOpen(
  state: unknown,
  now: { branch: Branch; configured: number; tokens: number; threshold: number | undefined },
): boolean {
  const breaker = state as Breaker | undefined;
  if (breaker === undefined || breaker.failures < BREAKER_LIMIT) return false;
  const grown = now.tokens - breaker.tokens >= BREAKER_GROWTH * (now.threshold ?? Number.POSITIVE_INFINITY);
  return !grown && sameGround(breaker, now.branch, now.configured);
}

function sameGround(breaker: Breaker, branch: Branch, configured: number): boolean {
  return (
    breaker.generation === branch.gen &&
    breaker.envelope === branch.envelope &&
    breaker.configured === configured
  );
}

/** One invocation that paid for a model summary, at a step count of the session. */
export interface Paid {
  compaction: string;
  steps: number;
}

/** Undefined when the invocation is counted already. */
export function foldPaid(state: unknown, paid: Paid): Paid[] | undefined {
  const before = (state as Paid[] | undefined) ?? [];
  if (before.some((earlier) => earlier.compaction === paid.compaction)) return undefined;
  return [...before, paid].slice(-PAID_LIMIT);
}

/** Whether another automatic model summary would go over the session's budget. */
export function paidOut(state: unknown, steps: number): boolean {
  const made = (state as Paid[] | undefined) ?? [];
  return made.length >= PAID_LIMIT && steps - made[made.length - PAID_LIMIT]!.steps < PAID_WINDOW;
}

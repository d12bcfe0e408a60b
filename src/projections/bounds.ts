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
  basis: string;
  tokens: number;
}

export function foldBreaker(
  state: unknown,
  event: { meta: Meta<"compaction/end">; branch: Branch },
): Breaker | undefined {
  const before = state as Breaker | undefined;
  const { meta, branch } = event;
  const basis = meta.basis ?? "";
  if (meta.progress)
    return before === undefined || before.failures === 0 ? undefined : { ...before, failures: 0 };
  const same = before !== undefined && sameGround(before, branch, basis);
  return {
    failures: (same ? before.failures : 0) + 1,
    generation: branch.gen,
    envelope: branch.envelope,
    basis,
    tokens: meta.tokensAfter,
  };
}

/** Whether automatic attempts are stopped: nothing that could help them has changed since the last ones failed. */
export function breakerOpen(
  state: unknown,
  now: { branch: Branch; basis: string; tokens: number; threshold: number | undefined },
): boolean {
  const breaker = state as Breaker | undefined;
  if (breaker === undefined || breaker.failures < BREAKER_LIMIT) return false;
  const grown = now.tokens - breaker.tokens >= BREAKER_GROWTH * (now.threshold ?? Number.POSITIVE_INFINITY);
  return !grown && sameGround(breaker, now.branch, now.basis);
}

function sameGround(breaker: Breaker, branch: Branch, basis: string): boolean {
  return breaker.generation === branch.gen && breaker.envelope === branch.envelope && breaker.basis === basis;
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

/** Whether another automatic model summary would go over the session's budget. `pending`: invocations that may be paying now. */
export function paidOut(state: unknown, steps: number, pending = 0): boolean {
  const made = ((state as Paid[] | undefined) ?? []).filter((paid) => steps - paid.steps < PAID_WINDOW);
  return made.length + pending >= PAID_LIMIT;
}

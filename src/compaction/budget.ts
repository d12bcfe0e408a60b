/** The numbers that decide: what a route can hold, from when on to compact, and how much to keep. Pure arithmetic. */
import type { Capacity } from "../providers/provider.ts";
import type { Policy } from "./policy.ts";

/** Output that is kept free when nobody says how much, in tokens. */
const DEFAULT_RESERVE = 4_096;
/** Output that must stay free even where nothing else helps, in tokens. */
const LEAST_RESERVE = 1_024;

/** All in provider tokens. An unknown window leaves `ceiling` out; then `threshold` is `maxContextTokens` or absent. */
export interface Budget {
  window: number | undefined;
  /** What a request may hold at the most: the input limit, or the window less the reserved output. */
  ceiling: number | undefined;
  /** Reached at `>=`. */
  threshold: number | undefined;
  /** What a compaction aims at: the threshold less the runway. */
  enough: number | undefined;
  reserved: number;
  /** What a request may hold before it is refused outright: the ceiling with only the least reserve for the reply. */
  hard: number | undefined;
  maxRequestBytes: number | undefined;
  maxImages: number | undefined;
}

/** @param maxOutput the request's own output cap, where it has one. */
export function budgetOf(policy: Policy, capacity: Capacity, maxOutput: number | undefined): Budget {
  const { window, inputLimit, maxRequestBytes, maxImages } = capacity;
  const asked = maxOutput ?? capacity.maxOutput ?? DEFAULT_RESERVE;
  const reserved = window === undefined ? asked : Math.min(asked, Math.floor(window / 4));
  const room = window === undefined ? inputLimit : Math.min(inputLimit ?? window, window - reserved);
  const ceiling = room === undefined ? undefined : Math.max(1, room);
  const share = ceiling === undefined ? undefined : Math.max(1, Math.floor(policy.thresholdRatio * ceiling));
  const threshold = lesser(share, policy.maxContextTokens);
  const enough =
    threshold === undefined ? undefined : Math.max(1, Math.floor(threshold * (1 - policy.runwayRatio)));
  const least = window === undefined ? undefined : window - Math.min(reserved, LEAST_RESERVE);
  const hard = ceiling === undefined ? undefined : Math.max(ceiling, lesser(inputLimit, least) ?? ceiling);
  return { window, ceiling, threshold, enough, reserved, hard, maxRequestBytes, maxImages };
}

function lesser(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/** Share of a byte or image gauge at which it triggers like the threshold does. */
export const GAUGE_SHARE = 0.9;

export interface Load {
  tokens: number;
  bytes: number;
  images: number;
}

/** Whether a request of this load must be compacted before it is sent. */
export function overThreshold(load: Load, budget: Budget): boolean {
  return (
    (budget.threshold !== undefined && load.tokens >= budget.threshold) ||
    overGauges(load, budget, GAUGE_SHARE)
  );
}

/** Whether a request of this load can be sent at all, as far as the route is known. */
export function fits(load: Load, budget: Budget): boolean {
  return (budget.ceiling === undefined || load.tokens <= budget.ceiling) && !exceedsGauges(load, budget);
}

/** Whether a request that no rung can make smaller may still be sent: a shorter reply is better than none. */
export function isSendable(load: Load, budget: Budget): boolean {
  return (budget.hard === undefined || load.tokens <= budget.hard) && !exceedsGauges(load, budget);
}

/** Whether a request of this load leaves the runway that one compaction is meant to buy. */
export function isEnough(load: Load, budget: Budget): boolean {
  return (
    (budget.enough === undefined || load.tokens <= budget.enough) && !overGauges(load, budget, GAUGE_SHARE)
  );
}

function overGauges(load: Load, budget: Budget, share: number): boolean {
  return (
    (budget.maxRequestBytes !== undefined && load.bytes >= share * budget.maxRequestBytes) ||
    (budget.maxImages !== undefined && load.images >= share * budget.maxImages)
  );
}

function exceedsGauges(load: Load, budget: Budget): boolean {
  return (
    (budget.maxRequestBytes !== undefined && load.bytes > budget.maxRequestBytes) ||
    (budget.maxImages !== undefined && load.images > budget.maxImages)
  );
}

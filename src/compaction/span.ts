/**
 * The cut: which head-anchored span of the Surface a checkpoint may take the place of. Pairing is the law, the turn the
 * preference. Pure; linear in the items.
 */
import type { Span } from "../log/events.ts";
import { isLegalCut, legalCutBefore, newestUnit } from "../projections/pairing.ts";
import type { SurfaceItem } from "../projections/surface.ts";

export interface CutRequest {
  items: readonly SurfaceItem[];
  /** The span ends at this item at the latest; by default anywhere. */
  accepted?: number;
  /** Price of the tail that should stay verbatim. */
  retain: number;
  boundary: "turn" | "pair";
  /** Whether a tail of this price, with everything else that stays, still leaves the runway: the condition for a turn cut. */
  affordable: (tail: number) => boolean;
}

/** How many items from the head the span takes; 0 for nothing worth a call. */
export function cutSpan({
  items,
  accepted = items.length,
  retain,
  boundary,
  affordable,
}: CutRequest): number {
  const pair = legalCutBefore(items, Math.min(fillTail(items, retain), newestUnit(items), accepted));
  const turn = boundary === "turn" ? turnCut(items, pair, retain, affordable) : undefined;
  if (turn !== undefined && isWorth(items, turn)) return turn;
  return isWorth(items, pair) ? pair : 0;
}

/** The span that keeps only the newest unit; with `whole`, the entering batch is that unit and everything goes. */
export function cutNewest(items: readonly SurfaceItem[], whole: boolean, accepted = items.length): number {
  const newest = whole && isLegalCut(items, items.length) ? items.length : newestUnit(items);
  const cut = newest <= accepted ? newest : legalCutBefore(items, accepted);
  return isWorth(items, cut) ? cut : 0;
}

/** Walks back from the tail until the budget is filled. */
function fillTail(items: readonly SurfaceItem[], retain: number): number {
  let at = items.length;
  for (let sum = 0; at > 0 && sum < retain; ) {
    at--;
    sum += items[at]!.weight.tokens;
  }
  return at;
}

/** The newest start of a turn at or in front of the pair cut whose tail stays within twice the budget. */
function turnCut(
  items: readonly SurfaceItem[],
  pair: number,
  retain: number,
  affordable: (tail: number) => boolean,
): number | undefined {
  let tail = priceOf(items, pair);
  for (let at = pair; at > 0; at--) {
    if (at < pair) tail += items[at]!.weight.tokens;
    if (tail > 2 * retain) return undefined;
    if (items[at]?.turn && isLegalCut(items, at)) return affordable(tail) ? at : undefined;
  }
  return undefined;
}

/** A lone checkpoint or a single unit is not worth a call. */
export function isWorth(items: readonly SurfaceItem[], cut: number): boolean {
  let units = 0;
  for (let at = 1; at <= cut; at++) if (isLegalCut(items, at)) units++;
  return units >= 2;
}

export function priceOf(items: readonly SurfaceItem[], from: number, to = items.length): number {
  let sum = 0;
  for (let at = from; at < to; at++) sum += items[at]!.weight.tokens;
  return sum;
}

/** The span as the log records it: first and last seq, count and price. */
export function spanOf(items: readonly SurfaceItem[], cut: number): Span {
  const span = items.slice(0, cut);
  return {
    from: span[0]?.seq ?? 0,
    to: span[span.length - 1]?.seq ?? 0,
    count: span.length,
    tokens: priceOf(items, 0, cut),
  };
}

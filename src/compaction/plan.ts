/** Decides, without doing: which prune forms, which span, and how large its checkpoint may be. Pure but for reading bodies. */
import type { Span } from "../log/events.ts";
import { isEnough, overThreshold } from "./budget.ts";
import { checkpointCap } from "./checkpoint.ts";
import { exemptCalls, protectedFrom, pruneForms } from "./forms.ts";
import { type Ground, priceAt, type Snapshot } from "./ground.ts";
import type { NewForm } from "./replacement.ts";
import { cutNewest, cutSpan, isWorth, priceOf, spanOf } from "./span.ts";

/** The first round of automatic compaction must free this share of the threshold, or it is not worth its cache flush. */
export const PROGRESS_SHARE = 0.1;

export interface SpanPlan {
  /** Items from the head that the checkpoint takes the place of. */
  cut: number;
  span: Span;
  /** Price of what stays verbatim behind it. */
  tail: number;
  /** What the framed checkpoint may cost. */
  cap: number;
}

/** `retain`: the budgeted tail, scaled by `share`; `quarter`: at most a quarter of the ceiling; `newest`: one unit. */
export type Keep = { kind: "retain"; share: number } | { kind: "quarter" } | { kind: "newest" };

/** Whether a pressure invocation has anything to do. */
export function isPressed(snapshot: Snapshot): boolean {
  return overThreshold(snapshot.measure, snapshot.budget);
}

/** The prune rung: what lies in front of the newest `protect` call groups, exempt tools left alone. */
export function planPrune(ground: Ground, snapshot: Snapshot, protect: number, exempt: boolean): NewForm[] {
  const { items } = snapshot;
  const calls = exemptCalls(ground, items, exempt ? ground.policy.prune.exemptTools : []);
  return pruneForms(ground, items.slice(0, protectedFrom(items, protect)), ground.policy.prune, calls);
}

export function planSpan(ground: Ground, snapshot: Snapshot, keep: Keep): SpanPlan | undefined {
  const { items, accepted } = snapshot;
  const retain = retainPrice(ground, snapshot, keep);
  const cut =
    keep.kind === "newest"
      ? cutNewest(items, snapshot.batchIsUnit, accepted)
      : cutSpan({
          items,
          accepted,
          retain,
          boundary: ground.policy.boundary,
          affordable: (tail) =>
            fixedPrice(snapshot) + tail + capFor(ground, snapshot, tail) <=
            (enoughPrice(snapshot) ?? Number.POSITIVE_INFINITY),
        });
  return cut === 0 ? undefined : sized(ground, snapshot, cut);
}

/** The plan for a span of exactly `cut` items; undefined where that is not worth a call. */
export function planOfCut(ground: Ground, snapshot: Snapshot, cut: number): SpanPlan | undefined {
  return isWorth(snapshot.items, cut) ? sized(ground, snapshot, cut) : undefined;
}

function sized(ground: Ground, snapshot: Snapshot, cut: number): SpanPlan {
  const tail = priceOf(snapshot.items, cut);
  return { cut, span: spanOf(snapshot.items, cut), tail, cap: capFor(ground, snapshot, tail) };
}

/** Whether replacing the span could free enough to be worth it at all, whatever the summary turns out to be. */
export function couldProgress(snapshot: Snapshot, plan: SpanPlan): boolean {
  return freesEnough(snapshot, plan.span.tokens);
}

/** Whether a change of the Surface's price frees a tenth of the threshold. */
export function freesEnough(snapshot: Snapshot, freed: number): boolean {
  const { threshold } = snapshot.budget;
  return threshold === undefined || freed * snapshot.measure.ratio >= PROGRESS_SHARE * threshold;
}

export function isRelieved(snapshot: Snapshot): boolean {
  return isEnough(snapshot.measure, snapshot.budget);
}

function retainPrice(ground: Ground, snapshot: Snapshot, keep: Keep): number {
  const { policy } = ground;
  const { budget, measure } = snapshot;
  const ceiling = budget.ceiling ?? budget.threshold ?? measure.tokens;
  const asked = (policy.retainTokens ?? (policy.retainRatio ?? 0) * ceiling) / measure.ratio;
  const threshold = budget.threshold === undefined ? undefined : priceAt(snapshot, budget.threshold);
  const half = threshold === undefined ? asked : Math.max(0, threshold - measure.envelope) / 2;
  const normal = Math.min(asked, half);
  if (keep.kind === "quarter") return Math.min(normal, ceiling / measure.ratio / 4);
  return keep.kind === "retain" ? normal * keep.share : 0;
}

/** Envelope and entering batch: what no compaction can touch. */
function fixedPrice({ measure }: Snapshot): number {
  return measure.envelope + measure.incoming;
}

function enoughPrice(snapshot: Snapshot): number | undefined {
  const level = snapshot.budget.enough ?? snapshot.budget.ceiling;
  return level === undefined ? undefined : priceAt(snapshot, level);
}

function capFor(ground: Ground, snapshot: Snapshot, tail: number): number {
  const { ceiling } = snapshot.budget;
  return checkpointCap({
    maxTokens: ground.policy.summary.maxTokens,
    target: enoughPrice(snapshot),
    ceiling: ceiling === undefined ? undefined : priceAt(snapshot, ceiling),
    envelope: snapshot.measure.envelope,
    tail,
    batch: snapshot.measure.incoming,
  });
}

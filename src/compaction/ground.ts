/**
 * What a compaction stands on: the branch as the log shows it now, the next request, and the numbers that decide.
 * `takeSnapshot` reads it anew; nothing of it may be trusted across an `await`. Pure but for reading the log.
 */
import type { Dialect } from "../dialects/dialect.ts";
import { Defect } from "../failure.ts";
import type { Branch, EventLog, View } from "../log/event-log.ts";
import { noWeight, plus, type Weight, weightOf } from "../log/events.ts";
import type { Meter } from "../meter/price.ts";
import { noSamples, type RatioState, ratioOf } from "../meter/ratio.ts";
import { ratioKey } from "../projections/fold.ts";
import { openCalls } from "../projections/open-calls.ts";
import { isLegalCut } from "../projections/pairing.ts";
import { anchorOf, type Measure, measure } from "../projections/pressure.ts";
import { type SurfaceItem, surfaceWeight } from "../projections/surface.ts";
import type { Weighed } from "../projections/weigh.ts";
import type { Capacity, ThinkingBinding } from "../providers/provider.ts";
import { type Budget, budgetOf } from "./budget.ts";
import type { Policy } from "./policy.ts";

/** One message of the entering batch, with what is open behind it. `origin` marks a result that Plimsoll wrote itself. */
export interface BatchItem extends Weighed {
  open: readonly string[];
  origin?: "plimsoll";
  /** Runtime context: the key of its text. */
  context?: string;
}

/** The next request beside the Surface: its envelope, its own messages, its output cap. */
export interface Entering {
  envelope: { tokens: number; bytes: number };
  batch: readonly BatchItem[];
  maxOutput: number | undefined;
}

export interface Ground {
  log: EventLog;
  branch: number;
  dialect: Dialect;
  meter: Meter;
  policy: Policy;
  capacity: Capacity;
  /** Route of the next request; null while the session has none. */
  route: string | null;
  prior: number;
  binding: ThinkingBinding;
  /** The Surface may show thinking that is bound to another history: a summary call goes without any. */
  mixedThinking?: boolean;
  now: () => number;
  /** The Surface of a branch; the session keeps it between steps. */
  surface: (branch: Branch, view: View | undefined) => readonly SurfaceItem[];
}

/** What a refusal tells: the provider's own tokens per o200k token in the refused request, and what a request may hold. */
export interface Observed {
  ratio?: number;
  ceiling?: number;
  /** The ceiling is a guess: nothing that is known explains the refusal. */
  guessed?: boolean;
}

export interface Snapshot {
  branch: Branch;
  view: View | undefined;
  items: readonly SurfaceItem[];
  measure: Measure;
  budget: Budget;
  entering: Entering;
  /** Items that the provider has accepted, the checkpoint included: what entered behind them is in no span. */
  accepted: number;
  /** The entering batch begins at a legal cut: it is a unit of its own. */
  batchIsUnit: boolean;
  batchStartsTurn: boolean;
}

export function branchAt(ground: Pick<Ground, "log" | "branch">): Branch {
  const branch = ground.log.branch(ground.branch);
  if (branch === undefined) throw new Defect(`no branch ${ground.branch}`);
  return branch;
}

export function viewOfBranch(log: EventLog, branch: Branch): View | undefined {
  return branch.view === 0 ? undefined : log.view(branch.view);
}

export function batchWeight(batch: readonly BatchItem[]): Weight {
  return batch.reduce((sum, item) => plus(sum, weightOf(item.facts)), noWeight);
}

/** The pressure of the next request, in O(1). */
export function measureNow(
  ground: Ground,
  branch: Branch,
  view: View | undefined,
  entering: Entering,
): Measure {
  const { log, route, prior } = ground;
  const state = route === null ? undefined : (log.state(ratioKey(route)) as RatioState | undefined);
  const loads = {
    envelope: entering.envelope,
    surface: surfaceWeight(log, branch.tip, view),
    incoming: batchWeight(entering.batch),
  };
  return measure(loads, ratioOf(state ?? noSamples, prior), anchorOf(log, branch.anchor, route));
}

export function takeSnapshot(ground: Ground, entering: Entering, observed: Observed = {}): Snapshot {
  const branch = branchAt(ground);
  const view = viewOfBranch(ground.log, branch);
  const items = ground.surface(branch, view);
  return {
    branch,
    view,
    items,
    measure: observedMeasure(measureNow(ground, branch, view, entering), observed.ratio),
    budget: lowered(budgetOf(ground.policy, ground.capacity, entering.maxOutput), observed.ceiling),
    entering,
    accepted: acceptedItems(items, branch),
    batchIsUnit: entering.batch.length > 0 && !goesOn(entering) && isLegalCut(items, items.length),
    batchStartsTurn: entering.batch.some((item) => item.turn),
  };
}

function acceptedItems(items: readonly SurfaceItem[], { head, tip }: Branch): number {
  if (head === tip) return items.length;
  let at = items.length;
  // A checkpoint made while the step was in progress is newer than the head, and stands first.
  while (at > 0 && items[at - 1]!.kind !== "checkpoint" && items[at - 1]!.seq > head) at--;
  return at;
}

/** Whether the batch begins with more of the reply that the Surface ends with. */
function goesOn({ batch }: Entering): boolean {
  return batch[0] !== undefined && openCalls(batch[0].open).joined;
}

function observedMeasure(measure: Measure, ratio: number | undefined): Measure {
  if (ratio === undefined) return measure;
  const price = measure.envelope + measure.surface + measure.incoming;
  return { ...measure, ratio, tokens: Math.ceil(price * ratio), source: "usage" };
}

function lowered(budget: Budget, ceiling: number | undefined): Budget {
  if (ceiling === undefined) return budget;
  const under = (level: number | undefined) => Math.min(level ?? ceiling, ceiling);
  return {
    ...budget,
    ceiling: under(budget.ceiling),
    threshold: under(budget.threshold),
    enough: under(budget.enough),
  };
}

/** Price (o200k, whole request) at which the pressure would be `tokens`. */
export function priceAt({ measure }: Snapshot, tokens: number): number {
  return measure.envelope + measure.surface + measure.incoming + (tokens - measure.tokens) / measure.ratio;
}

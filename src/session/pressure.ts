/** `pressure` as the routes answer it: usage, estimate, shadow price and budget, apart from each other. */
import { type Budget, budgetOf } from "../compaction/budget.ts";
import { type Entering, type Ground, measureNow, viewOfBranch } from "../compaction/ground.ts";
import type { Contributor } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import { metaOf } from "../log/events.ts";
import type { Measure } from "../projections/pressure.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import type { Core } from "./core.ts";
import { envelopeWeight } from "./envelope.ts";
import type { Json } from "./render.ts";

/** The next request with an empty batch. */
export function idle(core: Core, branch: Branch): Entering {
  return { envelope: envelopeWeight(core.log, branch.envelope), batch: [], maxOutput: undefined };
}

export function pressureJson(measure: Measure): Json {
  const { tokens, source, envelope, surface, incoming, bytes, images } = measure;
  return { tokens, source, envelope, surface, incoming, bytes, images };
}

/** The pressure of the branch's next request, in O(1). */
export function currentPressure(core: Core, branch: Branch, route?: string | null): Measure {
  const ground = core.ground(branch.id, route);
  return measureNow(ground, branch, viewOfBranch(core.log, branch), idle(core, branch));
}

/** `GET /pressure`. */
export function pressureReport(core: Core, branch: Branch): Json {
  const ground = core.ground(branch.id);
  const view = viewOfBranch(core.log, branch);
  const entering = idle(core, branch);
  const measure = measureNow(ground, branch, view, entering);
  const budget = budgetOf(ground.policy, ground.capacity, undefined);
  return {
    usage: lastUsage(core, branch),
    pressure: pressureJson(measure),
    shadow: {
      generation: branch.gen,
      ...shadowPrice(core, branch),
    },
    budget: budgetJson(budget, ground.capacitySource),
    contributors: contributors(measure, ground.surface(branch, view)),
  };
}

function budgetJson(budget: Budget, source: string): Json {
  return {
    window: budget.window ?? null,
    ceiling: budget.ceiling ?? null,
    threshold: budget.threshold ?? null,
    source,
  };
}

/** Usage of the newest request on the branch's path: a fact about the past, never an estimate. */
export function lastUsage(core: Core, branch: Branch): Json | null {
  const row = branch.anchor === 0 ? undefined : core.log.event(branch.anchor);
  if (row === undefined) return null;
  return { ...metaOf(row, "usage/reported").usage, seq: row.seq };
}

/** What the view in force leaves out and what it puts in its place, in prices. */
function shadowPrice(core: Core, branch: Branch): { shadowedTokens: number; insertedTokens: number } {
  const view = viewOfBranch(core.log, branch);
  if (view === undefined) return { shadowedTokens: 0, insertedTokens: 0 };
  const checkpoint = view.checkpoint === 0 ? 0 : (core.log.event(view.checkpoint)?.price ?? 0);
  const formed = view.forms.reduce((sum, [, form]) => sum + (core.log.event(form)?.price ?? 0), 0);
  const insertedTokens = checkpoint + formed;
  return { shadowedTokens: insertedTokens - view.delta.tokens, insertedTokens };
}

const SHOWN = 10;

/** The heaviest parts of a request, heaviest first. */
export function contributors(measure: Measure, items: readonly SurfaceItem[]): Contributor[] {
  const all: Contributor[] = items.map((item) => ({
    what: item.kind,
    seq: item.seq,
    tokens: item.weight.tokens,
  }));
  if (measure.envelope > 0) all.push({ what: "envelope", tokens: measure.envelope });
  if (measure.incoming > 0) all.push({ what: "incoming", tokens: measure.incoming });
  return all.sort((a, b) => b.tokens - a.tokens).slice(0, SHOWN);
}

/** The answered output cap: what was asked, as far as the window has room. */
export function outputCap(ground: Ground, asked: number | undefined, tokens: number): number | null {
  const wanted = asked ?? ground.capacity.maxOutput;
  const { window } = ground.capacity;
  if (window === undefined) return wanted ?? null;
  return Math.max(1, Math.min(wanted ?? Number.POSITIVE_INFINITY, window - tokens));
}

/**
 * Commits once. The claim is the `compaction/start` in the log; what replaces the Surface lands in one transaction, after the state
 * was read anew. Synchronous from end to end: no `await` stands between a check and the write that relies on it.
 */
import { Refusal } from "../failure.ts";
import type { View } from "../log/event-log.ts";
import { type Attempt, type Meta, metaOf, type NewEvent, type Span, type Trigger } from "../log/events.ts";
import { type SurfaceItem, surfaceOf } from "../projections/surface.ts";
import { contentOn, undoable, type ViewContent, viewOf } from "../projections/views.ts";
import { appendEvents } from "../projections/write.ts";
import { findAdoption } from "./adopt.ts";
import { withoutThinking } from "./forms.ts";
import { branchAt, type Ground, type Snapshot } from "./ground.ts";
import { type NewCheckpoint, type NewForm, type ReplacementInput, replacementEvents } from "./replacement.ts";
import { revalidate, type SpanExpectation } from "./revalidate.ts";
import { isLoopOpen, staleThinking } from "./thinking.ts";

export interface ClaimRequest {
  compaction: string;
  trigger: Trigger;
  epoch: string;
  deadline: number;
  span: Span | null;
  tokens: number;
  command?: string;
  step?: number;
}

/** Takes the branch. @throws Refusal `busy` when another compaction holds it. */
export function claim(ground: Ground, request: ClaimRequest): void {
  const branch = branchAt(ground);
  if (branch.claim !== "") throw new Refusal("busy", "Another compaction runs on this branch.");
  append(ground, "compaction/start", { ...request, generation: branch.gen });
}

export function holds(ground: Ground, compaction: string): boolean {
  return ground.log.branch(ground.branch)?.claim === compaction;
}

export function recordAttempt(ground: Ground, attempt: Attempt): void {
  append(ground, "compaction/attempt", attempt);
}

/** Puts new forms in force. */
export function commitForms(
  ground: Ground,
  snapshot: Snapshot,
  compaction: string,
  forms: readonly NewForm[],
): void {
  commit(ground, snapshot, compaction, "prune", forms);
}

/** Puts a checkpoint in force if the span it was made from still stands. Answers why not, or undefined. */
export function commitCheckpoint(
  ground: Ground,
  snapshot: Snapshot,
  compaction: string,
  expected: SpanExpectation,
  checkpoint: NewCheckpoint,
  forms: readonly NewForm[],
): string | undefined {
  const changed = revalidate(branchAt(ground), snapshot, compaction, expected, checkpoint.facts.price);
  if (changed !== undefined) return changed;
  commit(ground, snapshot, compaction, "checkpoint", forms, { checkpoint });
  return undefined;
}

export type Ending = Omit<Meta<"compaction/end">, "compaction">;

export function release(ground: Ground, compaction: string, ending: Ending): void {
  append(ground, "compaction/end", { compaction, ...ending });
}

/** Takes the branch's newest compaction back: a new view equal to the one before it, less thinking that was made since. */
export function undo(ground: Ground, snapshot: Snapshot): { compaction: string; generation: number } {
  const { log } = ground;
  const { branch, view } = snapshot;
  if (branch.claim !== "") throw new Refusal("busy", "A compaction runs on this branch.");
  const found = undoable(log, branch);
  if (found === undefined)
    throw new Refusal("nothing-to-undo", "No compaction of this branch is left to undo.");
  const generation = branch.gen + 1;
  const content = contentOn(log, found.before, branch.tip);
  const stale = staleAfterUndo(ground, snapshot, found.first, content);
  const { events } = replacementEvents({
    log,
    seq: log.end() + 1,
    at: ground.now(),
    branch: branch.id,
    generation,
    compaction: found.compaction,
    kind: "undo",
    view,
    base: content,
    items: snapshot.items,
    forms: stale.flatMap((item) => withoutThinking(ground, item)),
  });
  appendEvents(log, events);
  return { compaction: found.compaction, generation };
}

/**
 * Of what an undo shows again: thinking made before the model changed, and thinking made since the compaction, which is bound to what
 * was shown then. Where the binding is `none`, the newest reply of an open tool loop keeps its own, as in `staleThinking`.
 */
function staleAfterUndo(
  ground: Ground,
  { branch }: Snapshot,
  first: View,
  content: ViewContent,
): SurfaceItem[] {
  const { log } = ground;
  const views = log.views(branch.id);
  const switched = views.find((view) => view.kind === "route" && view.seq > first.seq)?.seq ?? 0;
  const place = { seq: 0, branch: branch.id, gen: 0, base: 0, kind: "undo", compaction: "" } as const;
  const items = surfaceOf(log, branch.tip, viewOf(log, place, content));
  const stale = new Set(staleThinking(items, 0, ground.binding, isLoopOpen(items, false)));
  return items.filter(
    (item) =>
      item.thinking &&
      (item.seq < switched ||
        isForeign(log, item, branch.route) ||
        (item.seq > first.seq && stale.has(item))),
  );
}

/** Thinking of a reply that another route made: no model but that one can read it. */
function isForeign(log: Ground["log"], item: SurfaceItem, route: string): boolean {
  const step = log.event(item.seq)?.step ?? 0;
  const row = step === 0 ? undefined : log.event(step);
  return row !== undefined && route !== "" && (metaOf(row, "step/start").route ?? "") !== route;
}

/** A route switch: what only the old model can read leaves the Surface. */
export function dropThinking(ground: Ground, snapshot: Snapshot): boolean {
  const forms = snapshot.items
    .filter((item) => item.thinking)
    .flatMap((item) => withoutThinking(ground, item));
  if (forms.length === 0) return false;
  commit(ground, snapshot, "", "route", forms);
  return true;
}

/** Puts another branch's checkpoint in force, if one fits. */
export function adopt(ground: Ground, snapshot: Snapshot): number | undefined {
  const found = findAdoption(ground, snapshot);
  if (found === undefined) return undefined;
  commit(ground, snapshot, "", "adopt", found.forms, { base: found.content });
  return found.content.checkpoint;
}

function commit(
  ground: Ground,
  snapshot: Snapshot,
  compaction: string,
  kind: Meta<"surface/replace">["kind"],
  forms: readonly NewForm[],
  from: Pick<ReplacementInput, "checkpoint" | "base"> = {},
): void {
  const { log, branch } = ground;
  const { events } = replacementEvents({
    log,
    seq: log.end() + 1,
    at: ground.now(),
    branch,
    generation: snapshot.branch.gen + 1,
    compaction,
    kind,
    view: snapshot.view,
    items: snapshot.items,
    forms,
    ...from,
  });
  appendEvents(log, events);
}

function append<T extends NewEvent["type"]>(ground: Ground, type: T, meta: Meta<T>): void {
  appendEvents(ground.log, [{ type, at: ground.now(), branch: ground.branch, meta } as NewEvent]);
}

/**
 * Adopting: another branch of the session has a checkpoint for a part of this branch's own path. Using it calls no model, so it is the
 * first rung at the threshold; and only there, so that nobody's Surface changes because a side call needed a summary. Pure.
 */
import type { Branch, View } from "../log/event-log.ts";
import { openIds } from "../projections/open-calls.ts";
import { isLegalCut } from "../projections/pairing.ts";
import { depthOf, nodeAt, onPath } from "../projections/tree.ts";
import { contentOn, type ViewContent } from "../projections/views.ts";
import { staleForms } from "./forms.ts";
import type { Ground, Snapshot } from "./ground.ts";
import { freesEnough } from "./plan.ts";
import type { NewForm } from "./replacement.ts";

export interface Adoption {
  content: ViewContent;
  /** Thinking that was made behind the place that changes. */
  forms: NewForm[];
}

/** The newest checkpoint of another branch that covers more of the path than the own one and frees enough. */
export function findAdoption(ground: Ground, snapshot: Snapshot): Adoption | undefined {
  const { log } = ground;
  const { branch } = snapshot;
  for (const { seq, branch: maker } of log.checkpoints().reverse()) {
    if (maker === branch.id) continue;
    const views = log.views(maker);
    const made = views.find((other) => other.checkpoint === seq);
    // What was taken back there is no summary to trust here.
    if (views.some((view) => view.kind === "undo" && view.compaction === made?.compaction)) continue;
    const adoption = made && fitting(ground, snapshot, made);
    if (adoption !== undefined) return adoption;
  }
  return undefined;
}

function covers(log: Ground["log"], branch: Branch, own: View | undefined, made: View): boolean {
  return made.uptoDepth > (own?.uptoDepth ?? 0) && onPath(log, made.upto, branch.head);
}

function fitting(ground: Ground, snapshot: Snapshot, made: View): Adoption | undefined {
  const { log } = ground;
  const { branch, view, items } = snapshot;
  if (!covers(log, branch, view, made) || openIds(nodeAt(log, made.upto).node.open).length > 0)
    return undefined;
  const changed = items.findIndex((item) => item.seq === made.upto) + 1;
  if (changed === 0 || !isLegalCut(items, changed)) return undefined;
  const shadowed = items.slice(0, changed).reduce((sum, item) => sum + item.weight.tokens, 0);
  const checkpoint = log.event(made.checkpoint)?.price ?? 0;
  if (!freesEnough(snapshot, shadowed - checkpoint)) return undefined;
  const beyond = contentOn(log, view, branch.tip).forms.filter(
    ([node]) => depthOf(log, node) > made.uptoDepth,
  );
  return {
    content: { upto: made.upto, checkpoint: made.checkpoint, forms: beyond },
    forms: staleForms(ground, snapshot, changed, []),
  };
}

/**
 * Where the Surface of a branch begins without a checkpoint: what a client left out of its own list at the front is not shown, nor is what
 * the provider compacted by itself.
 */
import { bareReplacement } from "../compaction/replacement.ts";
import type { View } from "../log/event-log.ts";
import { depthOf } from "../projections/tree.ts";
import { contentOn } from "../projections/views.ts";
import { appendEvents } from "../projections/write.ts";
import type { Core } from "./core.ts";

/** @param upto the last node that is not shown; 0: all of it is shown again, but for what a provider's own compaction stands for. */
export function showFrom(core: Core, id: number, upto: number): void {
  const { log } = core;
  const branch = log.branch(id)!;
  const view = branch.view === 0 ? undefined : log.view(branch.view);
  const bare = view?.checkpoint === 0;
  if (upto === 0) {
    if (!bare || view.upto === 0 || restarts(core, id, view)) return;
    // A checkpoint stands for more than was left out.
  } else if (depthOf(log, upto) <= (view?.uptoDepth ?? 0) && !bare) return;
  if (bare && view.upto === upto) return;
  const forms = contentOn(log, view, branch.tip).forms.filter(
    ([node]) => depthOf(log, node) > depthOf(log, upto),
  );
  const base = { upto, checkpoint: 0, forms };
  appendEvents(log, bareReplacement(log, core.parts.now(), branch, { kind: "trimmed", base, forms: [] }));
}

/** Whether the view shows nothing of what stands before a compaction of the provider. */
function restarts(core: Core, id: number, view: View): boolean {
  const branch = core.log.branch(id)!;
  const first = core.surface(branch, view)[0];
  return (
    first !== undefined && core.dialect(branch).read(core.log.body(first.body), "message").restarts === true
  );
}

/** Shadow mode: what would have been done to a request, for the log. Changes nothing. */
import { overThreshold } from "../../compaction/budget.ts";
import { type Entering, takeSnapshot } from "../../compaction/ground.ts";
import { planPrune, planSpan } from "../../compaction/plan.ts";
import type { Meta } from "../../log/events.ts";
import { appendEvents } from "../../projections/write.ts";
import type { Core } from "../core.ts";
import { capOf, type Prepared } from "../landing.ts";
import { idle } from "../pressure.ts";

/** Logs it with the step that was just started. */
export function logShadow(core: Core, id: number, route: string, prepared: Prepared): void {
  const entering = { ...idle(core, core.log.branch(id)!), maxOutput: capOf(prepared) };
  const meta = shadowOf(core, id, route, entering);
  if (meta === undefined) return;
  appendEvents(core.log, [
    { type: "request/shadow", at: core.parts.now(), branch: id, step: prepared.step, meta },
  ]);
}

/** Undefined below the threshold. */
function shadowOf(
  core: Core,
  branch: number,
  route: string,
  entering: Entering,
): Meta<"request/shadow"> | undefined {
  const ground = core.ground(branch, route);
  const snapshot = takeSnapshot(ground, entering);
  const { measure, budget } = snapshot;
  if (!overThreshold(measure, budget)) return undefined;
  const forms = planPrune(ground, snapshot, ground.policy.prune.protectGroups, true);
  const shown = new Map(snapshot.items.map((item) => [item.seq, item.weight.tokens]));
  const freed = forms.reduce((sum, { node, facts }) => sum + (shown.get(node) ?? 0) - facts.price, 0);
  const afterPrune = Math.ceil(measure.tokens - measure.ratio * freed);
  const enough = budget.enough === undefined || afterPrune < budget.enough;
  return {
    route,
    tokens: measure.tokens,
    threshold: budget.threshold ?? null,
    prunes: forms.map(({ node }) => node),
    afterPrune,
    span: enough ? null : (planSpan(ground, snapshot, { kind: "retain", share: 1 })?.span ?? null),
  };
}

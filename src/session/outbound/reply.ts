/** The end of a step that Plimsoll itself sent: its reply in one transaction, or the return to what was accepted before. */
import { branchAt } from "../../compaction/ground.ts";
import { bareReplacement } from "../../compaction/replacement.ts";
import { Defect } from "../../failure.ts";
import type { Branch, EventLog } from "../../log/event-log.ts";
import { type Meta, metaOf, type NewEvent } from "../../log/events.ts";
import { contentOf, contentOn } from "../../projections/views.ts";
import { appendEvents } from "../../projections/write.ts";
import type { Usage } from "../../providers/provider.ts";
import type { Core } from "../core.ts";
import { ingest, messageEvents, type NodeKeys, type Raw } from "../ingest.ts";
import { liftEvents } from "../lessons.ts";
import { showFrom } from "../shown-from.ts";
import { isPlausible, looseUsage, type SentStep, usageEvent } from "../usage-events.ts";

export interface LandedReply {
  /** Native messages of each choice; one choice is the line, of several none is yet. */
  choices: readonly { raws: readonly Raw[]; keys: readonly NodeKeys[] }[];
  usage: Usage | undefined;
  told: NonNullable<Meta<"step/end">["reply"]>;
  /** Events that land with it. */
  also?: readonly NewEvent[];
}

/** The step in progress on a branch. @throws Defect when there is none. */
export function runningStep(log: EventLog, branch: Branch): SentStep {
  const row = log.event(branch.step);
  if (row === undefined) throw new Defect("no step is in progress");
  return { seq: branch.step, sent: branch.sent, meta: metaOf(row, "step/start") };
}

/** @throws Refusal when the reply's messages are none of the dialect; nothing is written then. */
export function landReply(core: Core, id: number, reply: LandedReply): void {
  const branch = core.log.branch(id)!;
  const step = runningStep(core.log, branch);
  const ground = core.ground(id, step.meta.route);
  const { log } = core;
  const at = core.parts.now();
  const rules = { strict: true, sends: false };
  const taken = reply.choices.map(({ raws, keys }) => ({
    keys,
    items: ingest(ground, branch, raws, rules).items,
  }));
  const [only, ...others] = taken;
  const alone = only !== undefined && others.length === 0;
  const events: NewEvent[] = [];
  if (reply.usage !== undefined) {
    // A provider that compacted by itself reports what it read of the request then, not the request.
    const compacted = only?.items.some(({ message }) => message.restarts === true);
    const anchors = alone && !compacted && isPlausible(ground, branch, reply.usage, step);
    const place = { seq: log.end() + 1, before: [], reply: only?.items ?? [] };
    events.push(
      anchors
        ? usageEvent(ground, branch, reply.usage, step, place)
        : looseUsage(ground, branch, reply.usage, at),
    );
  }
  for (const { items, keys } of taken) {
    const nodes = messageEvents(items, { branch: id, at, step: step.seq, keys });
    for (const node of nodes) {
      events.push(
        alone ? node : { ...node, meta: { ...node.meta, sibling: branch.tip } as Meta<"message/user"> },
      );
    }
  }
  events.push({
    type: "step/end",
    at,
    branch: id,
    step: step.seq,
    meta: { step: step.seq, reply: reply.told },
  });
  events.push(...liftEvents(ground, reply.usage), ...(reply.also ?? []));
  log.transaction(() => {
    const nodes = appendEvents(log, events).filter((row) => row.node !== null);
    const restart = alone ? only.items.findLastIndex(({ message }) => message.restarts === true) : -1;
    const upto = restart < 0 ? 0 : nodes[restart]!.node!.parent;
    if (upto !== 0) showFrom(core, id, upto);
  });
}

type Ending =
  | { type: "step/failed"; meta: Omit<Meta<"step/failed">, "step" | "resend"> }
  | { type: "step/aborted"; meta: Omit<Meta<"step/aborted">, "step"> }
  | { type: "step/cancelled"; meta: Record<never, never> };

/** Nothing came of the step: what entered with it leaves the branch, and forms of it leave the view. */
export function giveUp(core: Core, id: number, ending: Ending, usage?: Usage): void {
  const branch = core.log.branch(id);
  if (branch === undefined || branch.step === 0) return;
  const { log } = core;
  const at = core.parts.now();
  const { step } = branch;
  const resend = ending.type === "step/failed" ? { resend: false } : {};
  const event = {
    type: ending.type,
    at,
    branch: id,
    step,
    meta: { ...ending.meta, ...resend, step },
  } as NewEvent;
  log.transaction(() => {
    if (usage !== undefined) appendEvents(log, [looseUsage(core.ground(id), branch, usage, at)]);
    appendEvents(log, [event]);
    appendEvents(log, restriction(core, id, at));
  });
}

/** Forms of nodes that are not on the branch any more weigh on nothing. */
function restriction(core: Core, id: number, at: number): NewEvent[] {
  const { log } = core;
  const branch = branchAt({ log, branch: id });
  const view = branch.view === 0 ? undefined : log.view(branch.view);
  const base = contentOn(log, view, branch.tip);
  if (base.forms.length === contentOf(view).forms.length) return [];
  return bareReplacement(log, at, branch, { kind: "route", base, forms: [] });
}

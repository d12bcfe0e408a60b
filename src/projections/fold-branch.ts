/** Folds of events about branches themselves: opened, advanced to nodes that are there already, and what waits on them. */
import { Defect } from "../failure.ts";
import type { Meta } from "../log/events.ts";
import { branchOf, type Context, put } from "./fold-context.ts";
import { nodeAt, onPath } from "./tree.ts";
import { contentOn, inheritedStep, inheritedView, viewOf } from "./views.ts";

export const inboxKey = (branch: number) => `inbox:${branch}`;

export function openBranch(context: Context, meta: Meta<"branch/opened">): void {
  const { log, seq } = context;
  if (log.branchNamed(meta.name) !== undefined) throw new Defect("branch name taken");
  const parent = meta.parent === 0 ? undefined : branchOf(log, meta.parent);
  if (!onPath(log, meta.from, parent?.tip ?? 0))
    throw new Defect("branch/opened at a node of another branch");
  const inherited = parent && inheritedView(log, parent, meta.from);
  if ((inherited?.seq ?? 0) !== meta.view || (inherited?.gen ?? 0) !== meta.generation) {
    throw new Defect("branch/opened names another view than it inherits");
  }
  if (inherited !== undefined) {
    const place = { seq, branch: seq, gen: inherited.gen, base: 0, kind: "inherit", compaction: "" } as const;
    context.changes.view = viewOf(log, place, contentOn(log, inherited, meta.from));
  }
  context.changes.branch = {
    id: seq,
    name: meta.name,
    from: meta.from,
    head: meta.from,
    tip: meta.from,
    dialect: meta.dialect ?? parent?.dialect ?? "",
    view: inherited === undefined ? 0 : seq,
    gen: meta.generation,
    ...inheritedStep(log, meta.from, inherited, parent),
    anchor: meta.from === 0 ? 0 : nodeAt(log, meta.from).node.anchor,
    steps: 0,
    step: 0,
    stepDeadline: 0,
    sent: 0,
    resends: 0,
    request: null,
    claim: "",
  };
}

export function advance(context: Context, { head, tip }: Meta<"branch/advanced">): void {
  const { log } = context;
  const branch = context.branch();
  if (branch.step !== 0) throw new Defect("branch/advanced while a step is in progress");
  if (!onPath(log, branch.head, head) || !onPath(log, head, tip) || tip === 0)
    throw new Defect("branch/advanced to nodes of another line");
  put(context, { head, tip });
}

export function putInbox(context: Context, change: (seqs: readonly number[]) => number[]): void {
  const key = inboxKey(context.branch().id);
  const before = (context.log.state(key) as number[] | undefined) ?? [];
  context.changes.states.push({ key, value: change(before) });
}

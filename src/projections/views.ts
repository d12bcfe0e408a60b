/** Views: what a replacement, a fork or an undo makes of the one before. Pure. */
import { Defect } from "../failure.ts";
import type { Branch, LogReader, View } from "../log/event-log.ts";
import { metaOf, minus, noWeight, plus, type Weight, weightOf } from "../log/events.ts";
import { depthOf, findNode, nodeAt, onPath } from "./tree.ts";

/** What a view shows, without its place in the chain of views. */
export interface ViewContent {
  upto: number;
  checkpoint: number;
  /** [node, form] pairs beyond `upto`. */
  forms: readonly (readonly [number, number])[];
}

export const emptyContent: ViewContent = { upto: 0, checkpoint: 0, forms: [] };

export function contentOf(view: View | undefined): ViewContent {
  if (view === undefined) return emptyContent;
  return {
    upto: view.upto,
    checkpoint: view.checkpoint,
    forms: view.forms.map(([node, form]) => [node, form]),
  };
}

/** The priced forms and the whole weight of a content: what it adds to the path's own (mostly negative). */
export function weigh(
  log: Pick<LogReader, "event">,
  content: ViewContent,
): { delta: Weight; forms: View["forms"] } {
  let delta = noWeight;
  if (content.upto !== 0) {
    const shown = content.checkpoint === 0 ? noWeight : weightAt(log, content.checkpoint);
    delta = minus(shown, nodeAt(log, content.upto).node.cum);
  }
  const forms = content.forms.map(([node, form]) => {
    const difference = minus(weightAt(log, form), weightAt(log, node));
    delta = plus(delta, difference);
    return [node, form, difference.tokens, difference.bytes, difference.images] as const;
  });
  return { delta, forms };
}

function weightAt(log: Pick<LogReader, "event">, seq: number): Weight {
  const row = log.event(seq);
  if (row === undefined) throw new Defect(`no event ${seq} to weigh`);
  return weightOf(row);
}

/** A view row from its content. The forms must lie beyond `upto`. */
export function viewOf(
  log: LogReader,
  place: Pick<View, "seq" | "branch" | "gen" | "base" | "kind" | "compaction">,
  content: ViewContent,
): View {
  const { delta, forms } = weigh(log, content);
  return {
    ...place,
    upto: content.upto,
    uptoDepth: depthOf(log, content.upto),
    checkpoint: content.checkpoint,
    delta,
    forms,
  };
}

/**
 * What a branch opened at node `from` inherits: the parent's newest view whose checkpoint lies on its path, less the forms
 * beyond the fork. Undefined: nothing, generation 0.
 */
export function inheritedView(log: LogReader, parent: Branch, from: number): View | undefined {
  const depth = depthOf(log, from);
  const fitting = (view: View) => view.uptoDepth <= depth && onPath(log, view.upto, from);
  // A fork that inherited a newer view than fits has none of its own: then what its own parent showed before it was opened.
  let branch: Branch | undefined = parent;
  for (let before = Number.POSITIVE_INFINITY; branch !== undefined; ) {
    const found = log.views(branch.id).find((view) => view.seq < before && fitting(view));
    if (found !== undefined) return found;
    const opened = log.event(branch.id);
    before = branch.id;
    const above: number = opened === undefined ? 0 : metaOf(opened, "branch/opened").parent;
    branch = above === 0 ? undefined : log.branch(above);
  }
  return undefined;
}

/** A fork goes on with the route and the envelope that the newest reply on its Surface was made with: its thinking is bound to them. */
export function inheritedStep(
  log: LogReader,
  from: number,
  view: View | undefined,
  parent: Branch | undefined,
): Pick<Branch, "route" | "envelope"> {
  const above = view?.uptoDepth ?? 0;
  for (let row = findNode(log, from); row !== undefined && row.node.depth > above; ) {
    const step = row.step === 0 ? undefined : log.event(row.step);
    if (step !== undefined) {
      const { route, envelope } = metaOf(step, "step/start");
      return { route: route ?? "", envelope };
    }
    row = findNode(log, row.node.parent);
  }
  return { route: parent?.route ?? "", envelope: parent?.envelope ?? "" };
}

/**
 * @param before the view in force: forms that it holds already are not looked at again.
 * @throws Defect when `content` names a checkpoint or forms that cannot stand on the path of `head`.
 */
export function checkContent(
  log: LogReader,
  head: number,
  { upto, checkpoint, forms }: ViewContent,
  before: View | undefined,
  kind: View["kind"],
): void {
  const summary = checkpoint === 0 ? undefined : log.event(checkpoint)?.type;
  // Without a checkpoint only what a client left out itself is not shown.
  const trimmed = kind === "trimmed" || kind === "undo" || before?.checkpoint === 0;
  const bare = checkpoint === 0 && upto !== 0 && !trimmed;
  if (bare || (checkpoint !== 0 && (upto === 0 || summary !== "compaction/summary")))
    throw new Defect("replacement without its checkpoint");
  if (!onPath(log, upto, head)) throw new Defect("replacement of another branch's nodes");
  const known = new Map(before?.forms.map(([node, form]) => [node, form]));
  const depth = depthOf(log, upto);
  for (const [node, form] of forms) {
    if (known.get(node) === form && before?.upto === upto) continue;
    const made = log.event(form);
    if (made?.type !== "compaction/prune" || metaOf(made, "compaction/prune").node !== node)
      throw new Defect("replacement with a form that is none of its node");
    if (depthOf(log, node) <= depth) throw new Defect("replacement with a form behind its checkpoint");
  }
}

/** The part of a view's content that lies on the path of `head`. */
export function contentOn(log: LogReader, view: View | undefined, head: number): ViewContent {
  const content = contentOf(view);
  return { ...content, forms: content.forms.filter(([node]) => onPath(log, node, head)) };
}

/**
 * The branch's own newest compaction that is not yet undone, and the view before it.
 * Undefined when there is none: what a fork inherited cannot be undone on it.
 */
export function undoable(
  log: LogReader,
  branch: Branch,
): { compaction: string; before: View | undefined; first: View } | undefined {
  const views = log.views(branch.id);
  const undone = new Set(views.filter((view) => view.kind === "undo").map((view) => view.compaction));
  const newest = views.find((view) => isCompaction(view) && !undone.has(view.compaction));
  if (newest === undefined) return undefined;
  const made = views.filter((view) => isCompaction(view) && view.compaction === newest.compaction);
  const first = made[made.length - 1]!;
  return {
    compaction: newest.compaction,
    before: first.base === 0 ? undefined : log.view(first.base),
    first,
  };
}

function isCompaction(view: View): boolean {
  return view.kind === "prune" || view.kind === "checkpoint";
}

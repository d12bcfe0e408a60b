/** Builds the events of a replacement: forms, checkpoint, and the one `surface/replace` that puts them in force. Pure. */

import type { Branch, LogReader, View } from "../log/event-log.ts";
import {
  type BodyFacts,
  type EventRow,
  type Meta,
  minus,
  type NewEvent,
  noWeight,
  plus,
  type Weight,
  weightOf,
} from "../log/events.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import { contentOf, type ViewContent, weigh } from "../projections/views.ts";
import { PRUNE_VERSION } from "./prune.ts";

/** A new form of a node: the exact bytes that stand in the Surface from now on. */
export interface NewForm {
  node: number;
  kind: Meta<"compaction/prune">["kind"];
  bytes: Uint8Array;
  facts: BodyFacts;
}

export interface NewCheckpoint {
  meta: Meta<"compaction/summary">;
  bytes: Uint8Array;
  facts: BodyFacts;
  /** Last node behind it. */
  upto: number;
}

export interface ReplacementInput {
  log: Pick<LogReader, "event">;
  /** Seq that the first of the events will get. */
  seq: number;
  at: number;
  branch: number;
  generation: number;
  compaction: string;
  kind: Meta<"surface/replace">["kind"] | "undo";
  view: View | undefined;
  /** What the new view starts from; by default what the old one shows. */
  base?: ViewContent;
  items: readonly SurfaceItem[];
  forms: readonly NewForm[];
  checkpoint?: NewCheckpoint;
}

/** The events, and the weight by which the Surface changes. */
export function replacementEvents(input: ReplacementInput): { events: NewEvent[]; change: Weight } {
  const { at, branch, compaction } = input;
  const events: NewEvent[] = [];
  const rows = new Map<number, Pick<EventRow, "price" | "bytes" | "images">>();
  let seq = input.seq;
  if (input.checkpoint !== undefined) {
    const { meta, bytes, facts } = input.checkpoint;
    events.push({ type: "compaction/summary", at, branch, meta, body: bytes, facts });
    rows.set(seq++, facts);
  }
  const checkpoint = input.checkpoint === undefined ? undefined : { ...input.checkpoint, seq: input.seq };
  const made: [number, number][] = [];
  for (const { node, kind, bytes, facts } of input.forms) {
    const meta = { compaction, node, kind, version: PRUNE_VERSION };
    events.push({ type: "compaction/prune", at, branch, meta, body: bytes, facts });
    rows.set(seq, facts);
    made.push([node, seq++]);
  }
  const content = nextContent(input, made, checkpoint);
  const lookup = { event: (of: number) => (rows.get(of) as EventRow | undefined) ?? input.log.event(of) };
  const { delta } = weigh(lookup, content);
  const change = minus(delta, input.view?.delta ?? noWeight);
  const inserted = [...rows.values()].reduce((sum, row) => plus(sum, weightOf(row)), noWeight);
  const meta = {
    compaction,
    generation: input.generation,
    upto: content.upto,
    checkpoint: content.checkpoint,
    forms: content.forms.map(([node, form]): [number, number] => [node, form]),
    shadowed: minus(inserted, change),
    inserted,
    delta,
  };
  events.push(
    input.kind === "undo"
      ? { type: "compaction/undone", at, branch, meta }
      : { type: "surface/replace", at, branch, meta: { ...meta, kind: input.kind } },
  );
  return { events, change };
}

/**
 * A replacement that no compaction makes: on what the branch shows now, without a claim.
 * @param behind events that are appended in front of it.
 */
export function bareReplacement(
  log: LogReader,
  at: number,
  branch: Branch,
  change: { kind: ReplacementInput["kind"]; base?: ViewContent; forms: readonly NewForm[] },
  behind = 0,
): NewEvent[] {
  return replacementEvents({
    log,
    seq: log.end() + 1 + behind,
    at,
    branch: branch.id,
    generation: branch.gen + 1,
    compaction: "",
    view: branch.view === 0 ? undefined : log.view(branch.view),
    items: [],
    ...change,
  }).events;
}

/** New forms over the old ones, those behind the checkpoint dropped. */
function nextContent(
  input: ReplacementInput,
  made: readonly (readonly [number, number])[],
  checkpoint: { upto: number; seq: number } | undefined,
): ViewContent {
  const before = input.base ?? contentOf(input.view);
  const forms = new Map(before.forms);
  for (const [node, form] of made) forms.set(node, form);
  if (checkpoint === undefined) return { ...before, forms: sorted(forms) };
  const cut = input.items.findIndex((item) => item.seq === checkpoint.upto);
  for (const item of input.items.slice(0, cut + 1)) forms.delete(item.seq);
  return { upto: checkpoint.upto, checkpoint: checkpoint.seq, forms: sorted(forms) };
}

function sorted(forms: ReadonlyMap<number, number>): [number, number][] {
  return [...forms].sort(([a], [b]) => a - b);
}

/**
 * Messages that are replaced in the very transaction that appends them: the last rung of a batch, and thinking that was made
 * in front of another Surface than the one it arrives at. Their rows are not in the log yet, but what they weigh is known. Pure.
 */
import type { BatchItem, Ground } from "../compaction/ground.ts";
import { batchSurfaceItem } from "../compaction/last-rung.ts";
import {
  bareReplacement,
  type NewForm,
  type ReplacementInput,
  replacementEvents,
} from "../compaction/replacement.ts";
import type { Branch } from "../log/event-log.ts";
import type { EventRow, NewEvent } from "../log/events.ts";
import { weighForm } from "../projections/weigh.ts";

/** Messages on their way in, with the seqs that they will get. */
export interface Arriving {
  item: BatchItem;
  seq: number;
}

/** `replacementEvents` over a log that does not hold the arriving messages yet; `items` are those already there. */
export function arrivingReplacement(
  ground: Ground,
  arriving: readonly Arriving[],
  input: Omit<ReplacementInput, "log">,
): ReturnType<typeof replacementEvents> {
  const coming = arriving.map(({ item, seq }) => batchSurfaceItem(item, seq));
  const rows = new Map(
    coming.map(({ seq, weight }) => [seq, { price: weight.tokens, ...weight } as unknown as EventRow]),
  );
  const log = { event: (seq: number) => rows.get(seq) ?? ground.log.event(seq) };
  return replacementEvents({ ...input, log, items: [...input.items, ...coming] });
}

/** The replacement that arriving messages owe whose thinking is bound to another prefix; they are in the log already. */
export function unboundReplacement(
  ground: Ground,
  branch: Branch,
  arriving: readonly Arriving[],
  behind = 0,
): NewEvent[] {
  const forms = branch.gen === 0 ? [] : unboundForms(ground, arriving);
  if (forms.length === 0) return [];
  return bareReplacement(ground.log, ground.now(), branch, { kind: "route", forms }, behind);
}

/**
 * Forms without thinking for those arriving messages whose thinking is bound to another prefix than the one they will stand behind
 * (providers.md 0.1). Models without that binding do not look.
 */
export function unboundForms(ground: Ground, arriving: readonly Arriving[]): NewForm[] {
  if (ground.binding !== "prefix") return [];
  return arriving.flatMap(({ item, seq }) => {
    const bytes = item.facts.thinking ? ground.dialect.withoutThinking(item.bytes) : undefined;
    if (bytes === undefined) return [];
    const facts = weighForm(ground.dialect, ground.meter, bytes);
    return [{ node: seq, kind: "thinking" as const, bytes, facts }];
  });
}

/**
 * The last rung of code, for a request that does not fit the ceiling after the cut: protected groups, exempt tools and the entering
 * batch are pruned too, largest first, head and tail halving per round; then long arguments of calls. Pure but for reading bodies.
 */
import { type Weight, weightOf } from "../log/events.ts";
import { openCalls } from "../projections/open-calls.ts";
import { type Measure, shifted } from "../projections/pressure.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import { fits } from "./budget.ts";
import { clipped, pruned, type Shortable, shortables } from "./forms.ts";
import type { BatchItem, Ground, Snapshot } from "./ground.ts";
import { type Limits, lastRungLimits } from "./prune.ts";
import type { NewForm } from "./replacement.ts";
import { isLoopOpen } from "./thinking.ts";

/** Forms of nodes and of batch messages (by the seqs they will get), and the measure they lead to. */
export interface LastRung {
  forms: NewForm[];
  measure: Measure;
}

/** @param batchSeqs the seqs that the messages of the batch have or will get. */
export function lastRung(ground: Ground, snapshot: Snapshot, batchSeqs: readonly number[]): LastRung {
  const all = [...shortables(ground, snapshot.items), ...batchShortables(snapshot.entering.batch, batchSeqs)];
  const rounds = lastRungLimits(ground.policy.prune);
  const state = new Rung(ground, snapshot, all);
  for (const limits of rounds) if (state.round(limits, "prune")) return state.result();
  for (const limits of rounds) if (state.round(limits, "clip")) return state.result();
  return state.result();
}

class Rung {
  private readonly ground: Ground;
  private readonly snapshot: Snapshot;
  private readonly all: readonly Shortable[];
  private readonly forms = new Map<number, NewForm>();
  private readonly keepsThinking: number;
  private measure: Measure;

  constructor(ground: Ground, snapshot: Snapshot, all: readonly Shortable[]) {
    this.ground = ground;
    this.snapshot = snapshot;
    this.all = all;
    this.measure = snapshot.measure;
    const { items, batchStartsTurn } = snapshot;
    const keeps = ground.binding === "none" && isLoopOpen(items, batchStartsTurn);
    this.keepsThinking = keeps ? (items.findLast((item) => item.kind === "assistant")?.seq ?? 0) : 0;
  }

  /** One round, largest first. True when the request fits. */
  round(limits: Limits, how: "prune" | "clip"): boolean {
    const order = this.all
      .map(({ item, original }) => ({ item: this.shown(item), original }))
      .sort((a, b) => b.item.weight.tokens - a.item.weight.tokens);
    for (const { item, original } of order) {
      if (this.done()) return true;
      const form =
        how === "prune"
          ? pruned(this.ground, item, original, limits)
          : clipped(this.ground, item, original, limits, item.seq === this.keepsThinking);
      if (form !== undefined) this.take(item, form);
    }
    return this.done();
  }

  result(): LastRung {
    return { forms: [...this.forms.values()], measure: this.measure };
  }

  private done(): boolean {
    return fits(this.measure, this.snapshot.budget);
  }

  private shown(item: SurfaceItem): SurfaceItem {
    const form = this.forms.get(item.seq);
    return form === undefined ? item : { ...item, weight: weightOf(form.facts) };
  }

  private take(item: SurfaceItem, form: NewForm): void {
    this.forms.set(item.seq, form);
    const after = weightOf(form.facts);
    const change: Weight = {
      tokens: after.tokens - item.weight.tokens,
      bytes: after.bytes - item.weight.bytes,
      images: after.images - item.weight.images,
    };
    this.measure = shifted(this.measure, change);
  }
}

/** Only results of the batch: what a user typed stays as it is. */
function batchShortables(batch: readonly BatchItem[], batchSeqs: readonly number[]): Shortable[] {
  return batch.flatMap((entry, index) => {
    if (entry.message.role !== "tool" && entry.message.role !== "assistant") return [];
    const item = batchSurfaceItem(entry, batchSeqs[index]!);
    return [{ item, original: () => entry.bytes }];
  });
}

export function batchSurfaceItem(entry: BatchItem, seq: number): SurfaceItem {
  return {
    seq,
    kind: entry.message.role,
    body: seq,
    weight: weightOf(entry.facts),
    ...openCalls(entry.open),
    turn: entry.turn,
    mend: entry.facts.mend,
    thinking: entry.facts.thinking,
  };
}

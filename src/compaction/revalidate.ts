/** May this checkpoint still take the place of that span? Asked on the state read after the last await. Pure. */
import type { Branch } from "../log/event-log.ts";
import { isLegalCut } from "../projections/pairing.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import type { Snapshot } from "./ground.ts";

/** What the summary was made from: the items of the span, each in the form that was read. */
export interface SpanExpectation {
  items: readonly Pick<SurfaceItem, "seq" | "body">[];
  tokens: number;
}

/** Why not, or undefined. A newer generation alone does not void a summary; appends behind the span never do. */
export function revalidate(
  branch: Branch,
  now: Pick<Snapshot, "items">,
  compaction: string,
  expected: SpanExpectation,
  price: number,
): string | undefined {
  if (branch.claim !== compaction) return "claim-lost";
  const { items } = now;
  const count = expected.items.length;
  for (const [index, { seq, body }] of expected.items.entries()) {
    const item = items[index];
    if (item === undefined || item.seq !== seq || item.body !== body) return "span-changed";
  }
  if (!isLegalCut(items, count)) return "unbalanced";
  const tokens = items.slice(0, count).reduce((sum, item) => sum + item.weight.tokens, 0);
  if (tokens !== expected.tokens) return "price-changed";
  if (price >= tokens) return "not-smaller";
  return undefined;
}

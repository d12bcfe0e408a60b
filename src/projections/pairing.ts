/**
 * Legal cuts of a Surface: N + 1 places around N items, legal where no call is open and no reply is torn. A reply of OpenAI
 * Responses is several items in a row, of which reasoning must never lose the items behind it. Pure.
 */
import type { SurfaceItem } from "./surface.ts";

type Balanced = Pick<SurfaceItem, "open"> & Partial<Pick<SurfaceItem, "joined">>;

/** Whether the Surface may be cut in front of item `index` (its length: behind the last). */
export function isLegalCut(items: readonly Balanced[], index: number): boolean {
  return index === 0 || (items[index - 1]?.open === 0 && items[index]?.joined !== true);
}

export function legalCuts(items: readonly Balanced[]): boolean[] {
  return Array.from({ length: items.length + 1 }, (_, index) => isLegalCut(items, index));
}

/** The nearest legal cut at or in front of `index`. */
export function legalCutBefore(items: readonly Balanced[], index: number): number {
  let at = Math.min(index, items.length);
  while (!isLegalCut(items, at)) at--;
  return at;
}

/** Where the newest unit begins: the last legal cut that leaves something behind it. */
export function newestUnit(items: readonly Balanced[]): number {
  return items.length === 0 ? 0 : legalCutBefore(items, items.length - 1);
}

/** Indices at which call groups (an assistant with calls and all their results) begin, oldest first. */
export function callGroups(items: readonly Balanced[]): number[] {
  const starts: number[] = [];
  let start = 0;
  for (const [index, item] of items.entries()) {
    if (isLegalCut(items, index)) start = index;
    if (item.open > 0 && starts.at(-1) !== start) starts.push(start);
  }
  return starts;
}

/**
 * Stale thinking. Signed thinking is bound to everything in front of it (providers.md 0.1): once a place in the Surface is
 * replaced, thinking made behind it is stale and leaves the Surface. Pure.
 */
import type { SurfaceItem } from "../projections/surface.ts";
import type { ThinkingBinding } from "../providers/provider.ts";

/**
 * Items whose thinking must go when the items at and before `changed` are replaced or edited. Where the binding is `none`, the newest
 * assistant message of an open tool loop keeps its thinking: those models refuse a loop whose last assistant message lacks it.
 */
export function staleThinking(
  items: readonly SurfaceItem[],
  changed: number,
  binding: ThinkingBinding,
  loopOpen: boolean,
): SurfaceItem[] {
  const kept = binding === "none" && loopOpen ? items.findLastIndex((item) => item.kind === "assistant") : -1;
  return items.filter((item, index) => index >= changed && index !== kept && item.thinking);
}

/** Whether the model is in the middle of a tool loop: the newest assistant message has calls and no typed message follows it. */
export function isLoopOpen(items: readonly SurfaceItem[], batchStartsTurn: boolean): boolean {
  const newest = items.findLastIndex((item) => item.kind === "assistant");
  if (newest < 0 || batchStartsTurn || items[newest]!.open === 0) return false;
  return !items.slice(newest + 1).some((item) => item.turn);
}

/** Makes the short forms of what stands in a Surface, for the prune rung and for stale thinking. Reads bodies; pure otherwise. */
import { callGroups } from "../projections/pairing.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import { weighForm } from "../projections/weigh.ts";
import type { Ground, Snapshot } from "./ground.ts";
import { clipArguments, type Limits, pruneMedia, pruneResults } from "./prune.ts";
import type { NewForm } from "./replacement.ts";
import { isLoopOpen, staleThinking } from "./thinking.ts";

type Reader = Pick<Ground, "log" | "dialect" | "meter">;

/** One thing that can be shortened: an item of the Surface, or a message of the entering batch on its way to be one. */
export interface Shortable {
  item: SurfaceItem;
  /** The original bytes: a form is always made from these. */
  original: () => Uint8Array;
}

export function shortables(ground: Reader, items: readonly SurfaceItem[]): Shortable[] {
  return items.map((item) => ({ item, original: () => ground.log.body(item.seq) }));
}

/** The prune rung over items[from..to): results over the limit, and media of results and of user messages. */
export function pruneForms(
  ground: Ground,
  items: readonly SurfaceItem[],
  limits: Limits,
  exempt: ReadonlySet<string>,
): NewForm[] {
  return shortables(ground, items).flatMap(({ item, original }) => {
    if (item.body !== item.seq) return [];
    const form = pruned(ground, item, original, limits, (call) => !exempt.has(call));
    return form === undefined ? [] : [form];
  });
}

/** The pruned form of one item, if that is cheaper than what stands there now. */
export function pruned(
  ground: Reader,
  item: SurfaceItem,
  original: () => Uint8Array,
  limits: Limits,
  only?: (call: string) => boolean,
): NewForm | undefined {
  const { dialect } = ground;
  const long = item.kind === "tool" && item.weight.bytes > limits.over;
  if (!long && (item.weight.images === 0 || (item.kind !== "tool" && item.kind !== "user"))) return undefined;
  const bytes = original();
  const shorter = item.kind === "tool" ? pruneResults(dialect, bytes, limits, item.seq, only) : undefined;
  const noted = item.weight.images > 0 ? pruneMedia(dialect, shorter ?? bytes, item.seq) : undefined;
  return cheaper(ground, item, noted ?? shorter, item.kind === "user" ? "media" : "prune");
}

/** The clipped form of an item with calls. Thinking that is to go leaves with it. */
export function clipped(
  ground: Reader,
  item: SurfaceItem,
  original: () => Uint8Array,
  limits: Limits,
  keepThinking: boolean,
): NewForm | undefined {
  if (item.kind !== "assistant" || item.weight.bytes <= limits.over) return undefined;
  const bytes = original();
  // Thinking that has left the Surface already does not come back with the clipped form.
  const keeps = keepThinking && item.thinking;
  const base = keeps ? bytes : (ground.dialect.withoutThinking(bytes) ?? bytes);
  return cheaper(ground, item, clipArguments(ground.dialect, base, limits, item.seq), "clip");
}

function cheaper(
  ground: Reader,
  item: SurfaceItem,
  bytes: Uint8Array | undefined,
  kind: NewForm["kind"],
): NewForm | undefined {
  if (bytes === undefined) return undefined;
  const facts = weighForm(ground.dialect, ground.meter, bytes);
  if (facts.price >= item.weight.tokens) return undefined;
  return { node: item.seq, kind, bytes, facts };
}

/** The item without its thinking; none when it holds none. */
export function withoutThinking(ground: Reader, item: SurfaceItem): NewForm[] {
  const bytes = ground.dialect.withoutThinking(ground.log.body(item.body));
  if (bytes === undefined) return [];
  return [{ node: item.seq, kind: "thinking", bytes, facts: weighForm(ground.dialect, ground.meter, bytes) }];
}

/** The forms that a replacement at `changed` owes: stale thinking behind it, but for items that get a form anyway. */
export function staleForms(
  ground: Ground,
  snapshot: Snapshot,
  changed: number,
  made: readonly NewForm[],
): NewForm[] {
  const formed = new Set(made.map((form) => form.node));
  const loopOpen = isLoopOpen(snapshot.items, snapshot.batchStartsTurn);
  return staleThinking(snapshot.items, changed, ground.binding, loopOpen)
    .filter((item) => !formed.has(item.seq))
    .flatMap((item) => withoutThinking(ground, item));
}

/** Forms with the thinking that goes stale behind the first of them. @param items where it is looked for; the Surface's by default. */
export function withStale(
  ground: Ground,
  snapshot: Snapshot,
  forms: readonly NewForm[],
  items: readonly SurfaceItem[] = snapshot.items,
): NewForm[] {
  const first = items.findIndex((item) => forms.some((form) => form.node === item.seq));
  return [...forms, ...staleForms(ground, snapshot, first < 0 ? items.length : first, forms)];
}

/** Index at which the newest `groups` call groups begin: what lies behind is left alone under pressure. */
export function protectedFrom(items: readonly SurfaceItem[], groups: number): number {
  if (groups === 0) return items.length;
  const starts = callGroups(items);
  return starts[Math.max(0, starts.length - groups)] ?? items.length;
}

/** Ids of the calls of exempt tools in these items. */
export function exemptCalls(
  ground: Reader,
  items: readonly SurfaceItem[],
  tools: readonly string[],
): Set<string> {
  const ids = new Set<string>();
  if (tools.length === 0) return ids;
  for (const item of items) {
    if (item.kind !== "assistant" || item.open === 0) continue;
    for (const part of ground.dialect.read(ground.log.body(item.seq), "node").parts) {
      if (part.type === "call" && tools.includes(part.name)) ids.add(part.id);
    }
  }
  return ids;
}

/**
 * What a provider reported about a step, as an event of the log: an anchor of the pressure where it can be the report of the request
 * that was sent, and a lesson about the route's ratio where it compares like with like.
 */
import type { BatchItem, Ground } from "../compaction/ground.ts";
import type { Branch, EventLog } from "../log/event-log.ts";
import { type Meta, type NewEvent, plus, type Weight, weightOf } from "../log/events.ts";
import { PER_MEDIA } from "../meter/price.ts";
import { anchorOf } from "../projections/pressure.ts";
import { surfaceWeight } from "../projections/surface.ts";
import type { Usage } from "../providers/provider.ts";
import { envelopeWeight } from "./envelope.ts";

/** A step whose request went out: its `step/start`, and the view that its newest request showed. */
export interface SentStep {
  seq: number;
  sent: number;
  meta: Meta<"step/start">;
}

/** What went out with the step. */
function sentWeight(log: EventLog, branch: Branch, step: SentStep): { surface: Weight; envelope: number } {
  const view = step.sent === 0 ? undefined : log.view(step.sent);
  return {
    surface: surfaceWeight(log, branch.tip, view),
    envelope: envelopeWeight(log, step.meta.envelope).tokens,
  };
}

function inputOf(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

/** Reasoning that is not part of the reply's messages is not sent again, and so weighs on no later request. */
function unsent(usage: Usage, reply: readonly BatchItem[]): number {
  const thinks = reply.some((item) => item.message.parts.some((part) => part.type === "thinking"));
  return thinks ? 0 : (usage.reasoning ?? 0);
}

/**
 * Whether a report can be that of the request that was sent: providers that report nothing, harnesses that add up or leave the cache
 * out, and servers that truncate in silence report far off. Such usage is kept, and never an anchor.
 */
export function isPlausible(ground: Ground, branch: Branch, usage: Usage, step: SentStep): boolean {
  const { surface, envelope } = sentWeight(ground.log, branch, step);
  // Media are priced at 1,600 each and may count far less.
  const texts = ground.prior * (surface.tokens - PER_MEDIA * surface.images + envelope);
  const input = inputOf(usage);
  const { window } = ground.capacity;
  return input > 0 && input >= 0.5 * texts && (window === undefined || input <= window);
}

/** Usage that is not tied to a step of this branch is kept, and never an anchor. */
export function looseUsage(ground: Ground, branch: Branch, usage: Usage, at: number): NewEvent {
  return {
    type: "usage/reported",
    at,
    branch: branch.id,
    meta: { usage, route: ground.route, anchor: null },
  };
}

/**
 * The usage of a step, to be logged in front of its reply.
 * @param seq that the event will get; @param before what is appended between the sent Surface and the reply.
 */
export function usageEvent(
  ground: Ground,
  branch: Branch,
  usage: Usage,
  step: SentStep,
  place: { seq: number; before: readonly BatchItem[]; reply: readonly BatchItem[] },
): NewEvent {
  const { log } = ground;
  const { route } = step.meta;
  const { surface, envelope } = sentWeight(log, branch, step);
  const upTo = [...place.before, ...place.reply].reduce<Weight>(
    (sum, item) => plus(sum, weightOf(item.facts)),
    surface,
  );
  const total = inputOf(usage) + usage.output - unsent(usage, [...place.before, ...place.reply]);
  const anchor = { node: place.seq + place.reply.length, total, surface: upTo.tokens, envelope };
  const sample = sampleOf(log, branch, route, anchor);
  const meta = { usage, route, anchor, ...(sample === undefined ? {} : { sample }) };
  return { type: "usage/reported", at: ground.now(), branch: branch.id, step: step.seq, meta };
}

/** What this usage teaches about the route: the appended part since the last anchor, if nothing else changed between. */
function sampleOf(
  log: EventLog,
  branch: Branch,
  route: string | null,
  now: { total: number; surface: number; envelope: number },
): { reported: number; counted: number } | undefined {
  const before = anchorOf(log, branch.anchor, route);
  if (before === undefined || before.envelope !== now.envelope) return undefined;
  const row = log.event(branch.anchor);
  const view = log.view(branch.view);
  if (row === undefined || (view !== undefined && view.seq > row.seq)) return undefined;
  const sample = { reported: now.total - before.total, counted: now.surface - before.surface };
  return sample.reported > 0 && sample.counted > 0 ? sample : undefined;
}

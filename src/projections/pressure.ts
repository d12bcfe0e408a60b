/**
 * Pressure: the estimated tokens of the next request, O(1) in the Surface. Usage (what a provider reported) anchors it;
 * without an anchor it is the route's ratio times the prices. The two are never mixed in a label. Pure.
 */

import type { LogReader } from "../log/event-log.ts";
import { type Meta, metaOf, type Weight } from "../log/events.ts";

export interface Measure {
  /** Provider tokens of the next request, rounded up. */
  tokens: number;
  source: "usage" | "estimate";
  /** Exact prices (o200k) that the estimate is made of. */
  envelope: number;
  surface: number;
  incoming: number;
  /** Provider tokens per o200k token on this route. */
  ratio: number;
  bytes: number;
  images: number;
}

export interface Loads {
  /** Price and bytes of the envelope of the next request. */
  envelope: { tokens: number; bytes: number };
  surface: Weight;
  incoming: Weight;
}

export type Anchor = NonNullable<Meta<"usage/reported">["anchor"]>;

/** The anchor in force on a route: one that another route reported says nothing about this one. */
export function anchorOf(
  log: Pick<LogReader, "event">,
  seq: number,
  route: string | null,
): Anchor | undefined {
  if (seq === 0) return undefined;
  const row = log.event(seq);
  if (row === undefined) return undefined;
  const meta = metaOf(row, "usage/reported");
  return meta.route === route ? (meta.anchor ?? undefined) : undefined;
}

export function measure(loads: Loads, ratio: number, anchor: Anchor | undefined): Measure {
  const { envelope, surface, incoming } = loads;
  const estimate =
    anchor === undefined
      ? ratio * (envelope.tokens + surface.tokens + incoming.tokens)
      : anchor.total +
        ratio * (surface.tokens - anchor.surface + (envelope.tokens - anchor.envelope) + incoming.tokens);
  return {
    tokens: Math.max(0, Math.ceil(estimate - 1e-6)),
    source: anchor === undefined ? "estimate" : "usage",
    envelope: envelope.tokens,
    surface: surface.tokens,
    incoming: incoming.tokens,
    ratio,
    bytes: envelope.bytes + surface.bytes + incoming.bytes,
    images: surface.images + incoming.images,
  };
}

/** The measure after the Surface or the batch changed by a price: what a plan predicts. */
export function shifted(now: Measure, change: Weight): Measure {
  return {
    ...now,
    tokens: Math.max(0, Math.ceil(now.tokens + now.ratio * change.tokens - 1e-6)),
    surface: now.surface + change.tokens,
    bytes: now.bytes + change.bytes,
    images: now.images + change.images,
  };
}

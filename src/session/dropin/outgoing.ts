/** The body that goes to the provider: the client's own, with the Surface in place of its list. */

import { isLoopOpen } from "../../compaction/thinking.ts";
import { clampOutput, thinksManually } from "../../dialects/request/clamp.ts";
import { allMessages, cacheMarks } from "../../dialects/request/marks.ts";
import { type MarkPlan, planMarks } from "../../dialects/request/plan-marks.ts";
import { upstreamBody } from "../../dialects/request/upstream.ts";
import type { Branch } from "../../log/event-log.ts";
import type { SurfaceItem } from "../../projections/surface.ts";
import type { Core } from "../core.ts";
import { renderItems } from "../render.ts";
import type { Arrival } from "./arrival.ts";

/** @param maxOutput what the window has room for; written where the client asks for more. */
export function stepBody(
  core: Core,
  arrival: Arrival,
  branch: Branch,
  maxOutput: number | undefined,
): Uint8Array {
  const { request, upstream, dialect, route } = arrival;
  const { mode, cache } = core.ground(branch.id, route).policy;
  if (mode === "shadow") return upstreamBody(request, { model: upstream.model, messages: undefined });
  const view = branch.view === 0 ? undefined : core.log.view(branch.view);
  const items = core.surfaceAt(branch.tip, view);
  const messages = renderItems(core.log, core.dialect(branch), items);
  const clamp = maxOutput === undefined ? {} : clampOutput(request, maxOutput);
  const automatic = cache === "auto";
  return upstreamBody(request, {
    model: upstream.model,
    messages,
    includeUsage: true,
    dropsBoundThinking: core.dropping.has(branch.id) && branch.gen > 0,
    withoutPrevious: request.previousResponse !== undefined,
    withoutThinking: view !== undefined && lacksThinking(arrival, items),
    ...("write" in clamp && clamp.write !== undefined && { maxOutput: clamp.write }),
    // Only where it is known to be taken: a compatible server may refuse a member that it does not know.
    ...(automatic &&
      upstream.provider === "openai" && { promptCacheKey: `${arrival.session}:${branch.name}`.slice(-64) }),
    ...(dialect === "anthropic" && { cacheMarks: marksOf(arrival, items, messages.length, automatic) }),
  });
}

const dropBlockBeta = "thinking-binding-controls-2026-08-01";

/** The client's headers; with the beta that lets the provider drop bound thinking where the body asks for that. */
export function headersOf(core: Core, arrival: Arrival, branch: Branch): Headers {
  const headers = new Headers(arrival.headers);
  const asks = core.dropping.has(branch.id) && branch.gen > 0;
  const betas = headers.get("anthropic-beta") ?? "";
  if (asks && !betas.includes(dropBlockBeta)) headers.append("anthropic-beta", dropBlockBeta);
  return headers;
}

/**
 * Manual thinking wants an open tool loop's newest reply to begin with thinking. Where that was bound to a past that was
 * replaced, it is gone, and the loop goes on without thinking until its turn ends (providers.md 0.1).
 */
function lacksThinking({ request, dialect }: Arrival, items: readonly SurfaceItem[]): boolean {
  if (dialect !== "anthropic" || !thinksManually(request) || !isLoopOpen(items, false)) return false;
  return items.findLast((item) => item.kind === "assistant")?.thinking === false;
}

function marksOf(
  { request }: Arrival,
  items: readonly SurfaceItem[],
  count: number,
  automatic: boolean,
): MarkPlan {
  const client = cacheMarks(request);
  const listed = allMessages(request).length;
  const first = items[0]?.kind === "checkpoint" ? 1 : 0;
  // The newest messages of the client's list are the newest of the Surface: places are counted from the end.
  const place = (message: number) => {
    const at = count - (listed - message);
    return at >= first && at < count ? at : undefined;
  };
  if (!automatic)
    return planMarks({ client: { ...client, open: { tools: false, system: false } }, place, steps: [] });
  return planMarks({
    client,
    place,
    ...(first === 1 && { checkpoint: 0 }),
    steps: [previousEnd(items, count), count - 1].filter((at) => at >= first),
  });
}

/** Where the request of the step before ended: in front of the newest reply. */
function previousEnd(items: readonly SurfaceItem[], count: number): number {
  const reply = items.findLastIndex((item) => item.kind === "assistant");
  // Rendering may join or leave out items; what stands behind the newest reply is counted from the end.
  return reply < 0 ? -1 : count - (items.length - reply) - 1;
}

/** `count_tokens`: what the request would weigh as it would be sent. Matches as a step does, and writes nothing. */
import { type BatchItem, batchWeight, measureNow } from "../../compaction/ground.ts";
import type { DialectName } from "../../dialects/dialect.ts";
import { readRequest } from "../../dialects/request/read.ts";
import type { Branch, EventLog, View } from "../../log/event-log.ts";
import { noWeight, plus } from "../../log/events.ts";
import { noSamples, type RatioState, ratioOf } from "../../meter/ratio.ts";
import { ratioKey } from "../../projections/fold.ts";
import { depthOf, nodeAt } from "../../projections/tree.ts";
import { contentOn, viewOf } from "../../projections/views.ts";
import { weighMessage } from "../../projections/weigh.ts";
import { routeOfModel } from "../../providers/model-name.ts";
import { resolveRoute } from "../../providers/routes.ts";
import { readBytes } from "../body.ts";
import type { Core } from "../core.ts";
import { nextEnvelope } from "../envelope.ts";
import { vendorOf, wholeEnvelope } from "./arrival.ts";
import { isAccepted, matched } from "./match.ts";

/** The answer of Anthropic's endpoint; `plimsoll-count: full` counts the list as it was sent. */
export async function countTokens(core: Core, dialect: DialectName, from: Request): Promise<Response> {
  const body = await readBytes(from);
  const full = from.headers.get("plimsoll-count") === "full";
  const request = readRequest(dialect, body);
  const route = routeOfModel(request.model, vendorOf(dialect), core.parts.config);
  const { log, meter } = core.parts;
  const envelope = nextEnvelope(log, meter, "", wholeEnvelope(request.envelope));
  const { match, raws } = matched(core, { dialect, request }, undefined);
  const spoken = core.dialect({ dialect });
  // A count is asked for lists that are not whole yet: their order is not looked at.
  const batch = raws.map(
    ({ bytes, at }): BatchItem => ({ ...weighMessage(spoken, meter, bytes, at), open: [] }),
  );
  const branch = match.node === 0 ? undefined : log.branch(nodeAt(log, match.node).branch);
  if (!full && branch !== undefined && isAccepted(log, match.node)) {
    // As if the line ended at the match: what the branch has beyond it is not sent.
    const at = { ...branch, head: match.node, tip: match.node };
    const entering = { envelope, batch, maxOutput: undefined };
    const measure = measureNow(
      core.ground(branch.id, route),
      at,
      viewUpTo(log, branch, match.node),
      entering,
    );
    return answer(measure.tokens, measure.source);
  }
  const path = match.node === 0 ? noWeight : nodeAt(log, match.node).node.cum;
  const price = plus(path, batchWeight(batch)).tokens + envelope.tokens;
  const learned = (log.state(ratioKey(route)) as RatioState | undefined) ?? noSamples;
  return answer(
    Math.ceil(ratioOf(learned, resolveRoute(route, core.parts.config).ratio) * price),
    "estimate",
  );
}

/** What the branch's view shows up to a node of its path; nothing of it where its checkpoint stands for more. */
function viewUpTo(log: EventLog, branch: Branch, node: number): View | undefined {
  const view = branch.view === 0 ? undefined : log.view(branch.view);
  if (view === undefined || view.uptoDepth > depthOf(log, node)) return undefined;
  return viewOf(log, view, contentOn(log, view, node));
}

function answer(tokens: number, source: string): Response {
  const headers = { "content-type": "application/json", "plimsoll-pressure": `${tokens};${source}` };
  return new Response(JSON.stringify({ input_tokens: Math.ceil(tokens) }), { headers });
}

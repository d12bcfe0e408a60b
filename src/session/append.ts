/** `POST /events`: appends messages, usage and the end of a prepared step. Never starts and never waits for a compaction. */
import { z } from "zod";
import { branchAt, type Ground } from "../compaction/ground.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import { type Meta, type NewEvent, plus, type Weight, weightOf } from "../log/events.ts";
import { decode, kindOf, pick } from "../log/scanner.ts";
import { anchorOf } from "../projections/pressure.ts";
import { surfaceWeight } from "../projections/surface.ts";
import { appendEvents } from "../projections/write.ts";
import type { Usage } from "../providers/provider.ts";
import { usageOf } from "../providers/usage.ts";
import { checkValue } from "./body.ts";
import type { Core } from "./core.ts";
import { storedEnvelope } from "./envelope.ts";
import { type Ingested, ingest, messageEvents, type Raw } from "./ingest.ts";
import { currentPressure, pressureJson } from "./pressure.ts";
import type { Json } from "./render.ts";
import { checkHead, stepOf } from "./steps.ts";

export interface AppendRequest {
  branch: string | null;
  items: readonly Raw[];
  prepareId?: string | undefined;
  expect?: number | undefined;
  strict: boolean;
}

type Item =
  | { kind: "message"; raw: Raw }
  | { kind: "usage"; usage: Usage; at: string }
  | { kind: "aborted"; at: string };

/** The step that the items belong to, if they name one. */
type Step = { seq: number; meta: Meta<"step/start"> } | undefined;

const itemType = z.enum(["message", "usage", "aborted"]);

/** @param remember is called inside the transaction. */
export function append(core: Core, request: AppendRequest, remember: (answer: Json) => void): Json {
  const branch = core.branch(request.branch);
  checkHead(branch, request.expect);
  const ground = core.ground(branch.id);
  const items = request.items.map((raw) => itemOf(ground, raw));
  const step =
    request.prepareId === undefined
      ? undefined
      : stepOf(core.log, branch, request.prepareId, core.parts.now());
  if (step === undefined && items.some((item) => item.kind === "aborted")) {
    throw new Refusal("no-step", "Only a prepared step can be aborted: name it by prepareId.", {
      at: "prepareId",
    });
  }
  const raws = items.flatMap((item) => (item.kind === "message" ? [item.raw] : []));
  const ingested = ingest(ground, branch, raws, { strict: request.strict, sends: false });
  const plan = planEvents(core, ground, branch, items, ingested, step);
  return core.log.transaction(() => {
    const first = core.log.end() + 1;
    appendEvents(core.log, plan.events);
    const after = branchAt(ground);
    const answer: Json = {
      seqs: plan.places.map((index) => first + index),
      head: after.head,
      generation: after.gen,
      pressure: pressureJson(currentPressure(core, after, step?.meta.route ?? null)),
      repaired: ingested.closed.map(({ call, index }) => ({ call, seq: first + plan.nodes[index]! })),
    };
    remember(answer);
    return answer;
  });
}

function itemOf(ground: Ground, { bytes, at }: Raw): Item {
  if (kindOf(bytes, 0) !== "object") throw new Refusal("bad-request", "An item must be an object.", { at });
  const spans = pick(bytes, 0, ["type", "message", "usage"]);
  const value = (key: "type" | "usage") => spans[key] && decode(bytes, spans[key].start, spans[key].end);
  const type = checkValue(value("type"), itemType, `${at}.type`);
  if (type === "aborted") return { kind: "aborted", at };
  if (type === "usage") {
    const usage = usageOf(ground.dialect.name, value("usage"));
    if (usage === undefined)
      throw new Refusal("bad-request", "Not a usage of this dialect.", { at: `${at}.usage` });
    return { kind: "usage", usage, at };
  }
  if (spans.message === undefined)
    throw new Refusal("bad-request", "A message is missing.", { at: `${at}.message` });
  const message = bytes.subarray(spans.message.start, spans.message.end);
  return { kind: "message", raw: { bytes: message, at: `${at}.message` } };
}

interface Plan {
  events: NewEvent[];
  /** Index in `events` of what each item became, in order. */
  places: number[];
  /** Index in `events` of each ingested node. */
  nodes: number[];
}

/** A reply's usage is logged in front of it, so that the reply's node already knows its anchor. */
function planEvents(
  core: Core,
  ground: Ground,
  branch: Branch,
  items: readonly Item[],
  ingested: Ingested,
  step: Step,
): Plan {
  const at = core.parts.now();
  const nodes = messageEvents(ingested.items, branch.id, at, step?.seq);
  const reply =
    step === undefined ? -1 : ingested.items.findIndex((item) => item.message.role === "assistant");
  const usage = items.find((item) => item.kind === "usage");
  const plan: Plan = { events: [], places: [], nodes: [] };
  const anchored = usage !== undefined && step !== undefined && reply >= 0;
  for (const [index, node] of nodes.entries()) {
    if (anchored && index === reply) {
      plan.events.push(usageEvent(core, branch, usage.usage, step, ingested, reply, plan.events.length));
    }
    plan.nodes.push(plan.events.length);
    plan.events.push(node);
    if (index === reply)
      plan.events.push({
        type: "step/end",
        at,
        branch: branch.id,
        step: step!.seq,
        meta: { step: step!.seq },
      });
  }
  let message = 0;
  for (const item of items) plan.places.push(placeOf(item));
  return plan;

  function placeOf(item: Item): number {
    if (item.kind === "message") return plan.nodes[ingested.places[message++]!]!;
    if (item.kind === "usage" && anchored && item === usage) return plan.nodes[reply]! - 1;
    const meta = { step: step?.seq ?? 0, reason: "client" } as const;
    plan.events.push(
      item.kind === "usage"
        ? looseUsage(ground, branch, item.usage, at)
        : { type: "step/aborted", at, branch: branch.id, step: meta.step, meta },
    );
    return plan.events.length - 1;
  }
}

/** Usage that is not tied to a step of this branch is kept, and never an anchor. */
function looseUsage(ground: Ground, branch: Branch, usage: Usage, at: number): NewEvent {
  return {
    type: "usage/reported",
    at,
    branch: branch.id,
    meta: { usage, route: ground.route, anchor: null },
  };
}

function usageEvent(
  core: Core,
  branch: Branch,
  usage: Usage,
  step: NonNullable<Step>,
  ingested: Ingested,
  reply: number,
  index: number,
): NewEvent {
  const { log } = core;
  const { route } = step.meta;
  const upTo = ingested.items
    .slice(0, reply + 1)
    .reduce<Weight>(
      (sum, item) => plus(sum, weightOf(item.facts)),
      surfaceWeight(log, branch.head, log.view(branch.view)),
    );
  const total = usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
  const envelope = storedEnvelope(log, step.meta.envelope).tokens;
  const anchor = { node: log.end() + 1 + index + 1, total, surface: upTo.tokens, envelope };
  const sample = sampleOf(log, branch, route, anchor);
  const meta = { usage, route, anchor, ...(sample === undefined ? {} : { sample }) };
  return { type: "usage/reported", at: core.parts.now(), branch: branch.id, step: step.seq, meta };
}

/** What this usage teaches about the route: the appended part since the last anchor, if nothing else changed between. */
function sampleOf(
  log: Core["log"],
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

/** `POST /events`: appends messages, usage and the end of a prepared step. Never starts and never waits for a compaction. */
import { z } from "zod";
import { branchAt, type Ground } from "../compaction/ground.ts";
import { replacementEvents } from "../compaction/replacement.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import { type Meta, type NewEvent, plus, type Weight, weightOf } from "../log/events.ts";
import { decode, kindOf, pick } from "../log/scanner.ts";
import { PER_MEDIA } from "../meter/price.ts";
import { anchorOf } from "../projections/pressure.ts";
import { surfaceWeight } from "../projections/surface.ts";
import { appendEvents } from "../projections/write.ts";
import type { Usage } from "../providers/provider.ts";
import { usageOf } from "../providers/usage.ts";
import { unboundForms } from "./arriving.ts";
import { checkKeys, checkValue } from "./body.ts";
import type { Core } from "./core.ts";
import { envelopeWeight } from "./envelope.ts";
import { type Ingested, ingest, messageEvents, type Raw } from "./ingest.ts";
import { currentPressure, pressureJson } from "./pressure.ts";
import type { Json } from "./render.ts";
import { checkHead, stepOf, supersede } from "./steps.ts";

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
type Step = { seq: number; sent: number; meta: Meta<"step/start"> } | undefined;

const itemType = z.enum(["message", "usage", "aborted"]);
const itemKeys = ["type", "message", "usage"] as const;

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
  checkEndings(items);
  const raws = items.flatMap((item) => (item.kind === "message" ? [item.raw] : []));
  const ingested = ingest(ground, branch, raws, { strict: request.strict, sends: false });
  const plan = planEvents(core, ground, branch, items, ingested, step);
  return core.log.transaction(() => {
    const first = core.log.end() + 1;
    appendEvents(core.log, plan.events);
    appendEvents(core.log, consequences(core, ground, ingested, step, first + (plan.nodes[0] ?? 0)));
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

/** A step ends once: it is aborted, or its reply is here. */
function checkEndings(items: readonly Item[]): void {
  const endings = items.filter((item) => item.kind === "aborted");
  const alone = endings.length === 1 && items.every((item) => item.kind !== "message");
  if (endings.length === 0 || alone) return;
  const detail = "A step is aborted once, and not together with messages.";
  throw new Refusal("bad-request", detail, { at: endings.at(-1)!.at });
}

/**
 * What the new messages entail, on the state with them: a step whose head has moved on is over; thinking that was made in front of another
 * Surface than the one it now stands behind leaves it.
 */
function consequences(core: Core, ground: Ground, ingested: Ingested, step: Step, first: number): NewEvent[] {
  if (ingested.items.length === 0) return [];
  const at = core.parts.now();
  const branch = branchAt(ground);
  const events = supersede(branch, at);
  const madeHere = step !== undefined && step.sent === branch.view;
  if (branch.gen === 0 || madeHere) return events;
  const view = core.log.view(branch.view);
  const rows = core.log.read(first - 1, {
    limit: 2 * ingested.items.length + 4,
    maxBytes: Number.MAX_SAFE_INTEGER,
  });
  const nodes = rows.filter((row) => row.node !== null);
  const arriving = ingested.items.map((item, index) => ({ item, seq: nodes[index]!.seq }));
  const forms = unboundForms(ground, arriving);
  if (forms.length === 0) return events;
  const replacement = replacementEvents({
    log: core.log,
    seq: core.log.end() + 1 + events.length,
    at,
    branch: branch.id,
    generation: branch.gen + 1,
    compaction: "",
    kind: "route",
    view,
    items: [],
    forms,
  });
  return [...events, ...replacement.events];
}

function itemOf(ground: Ground, { bytes, at }: Raw): Item {
  if (kindOf(bytes, 0) !== "object") throw new Refusal("bad-request", "An item must be an object.", { at });
  const spans = pick(bytes, 0, itemKeys);
  const value = (key: "type" | "usage") => spans[key] && decode(bytes, spans[key].start, spans[key].end);
  const type = checkValue(value("type"), itemType, `${at}.type`);
  checkKeys(bytes, itemKeys, at);
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
  // A provider may report as it streams: its last word counts.
  const usage = items.findLast((item) => item.kind === "usage");
  const plan: Plan = { events: [], places: [], nodes: [] };
  const anchored =
    usage !== undefined &&
    step !== undefined &&
    reply >= 0 &&
    isPlausible(core, ground, branch, usage.usage, step);
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

function inputOf(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

/** Reasoning that is not part of the reply's message is not sent again, and so weighs on no later request. */
function unsent(usage: Usage, ingested: Ingested, reply: number): number {
  const thinks = ingested.items[reply]?.message.parts.some((part) => part.type === "thinking") ?? false;
  return thinks ? 0 : (usage.reasoning ?? 0);
}

/**
 * Whether a report can be that of the request that was sent: providers that report nothing, harnesses that add up or leave the cache
 * out, and servers that truncate in silence report far off. Such usage is kept, and never an anchor.
 */
function isPlausible(
  core: Core,
  ground: Ground,
  branch: Branch,
  usage: Usage,
  step: NonNullable<Step>,
): boolean {
  const sent = surfaceWeight(core.log, branch.head, step.sent === 0 ? undefined : core.log.view(step.sent));
  const envelope = envelopeWeight(core.log, step.meta.envelope).tokens;
  // Media are priced at 1,600 each and may count far less.
  const texts = ground.prior * (sent.tokens - PER_MEDIA * sent.images + envelope);
  const input = inputOf(usage);
  const { window } = ground.capacity;
  return input > 0 && input >= 0.5 * texts && (window === undefined || input <= window);
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
      surfaceWeight(log, branch.head, step.sent === 0 ? undefined : log.view(step.sent)),
    );
  const total = inputOf(usage) + usage.output - unsent(usage, ingested, reply);
  const envelope = envelopeWeight(log, step.meta.envelope).tokens;
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

/** `POST /events`: appends messages, usage and the end of a prepared step. Never starts and never waits for a compaction. */
import { z } from "zod";
import { branchAt, type Ground } from "../compaction/ground.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { NewEvent } from "../log/events.ts";
import { decode, kindOf, pick } from "../log/scanner.ts";
import { openCalls } from "../projections/open-calls.ts";
import { appendEvents } from "../projections/write.ts";
import type { Usage } from "../providers/provider.ts";
import { usageOf } from "../providers/usage.ts";
import { unboundReplacement } from "./arriving.ts";
import { checkKeys, checkValue } from "./body.ts";
import type { Core } from "./core.ts";
import { type Ingested, ingest, messageEvents, type Raw } from "./ingest.ts";
import { currentPressure, pressureJson } from "./pressure.ts";
import type { Json } from "./render.ts";
import { checkFree, checkHead, checkSettled, stepOf, supersede } from "./steps.ts";
import { isPlausible, looseUsage, type SentStep, usageEvent } from "./usage-events.ts";

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
type Step = SentStep | undefined;

const itemType = z.enum(["message", "usage", "aborted"]);
const itemKeys = ["type", "message", "usage"] as const;

/** @param remember is called inside the transaction. */
export function append(core: Core, request: AppendRequest, remember: (answer: Json) => void): Json {
  const branch = core.branch(request.branch);
  checkHead(branch, request.expect);
  checkFree(core.held, branch);
  checkSettled(branch);
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
    const seqs = plan.nodes.map((index) => first + index);
    appendEvents(core.log, consequences(core, ground, ingested, step, seqs));
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
function consequences(
  core: Core,
  ground: Ground,
  ingested: Ingested,
  step: Step,
  seqs: readonly number[],
): NewEvent[] {
  if (ingested.items.length === 0) return [];
  const at = core.parts.now();
  const branch = branchAt(ground);
  const events = supersede(branch, at);
  const madeHere = step !== undefined && step.sent === branch.view;
  if (madeHere) return events;
  const arriving = ingested.items.map((item, index) => ({ item, seq: seqs[index]! }));
  return [...events, ...unboundReplacement(ground, branch, arriving, events.length)];
}

/** Index of the last item of the first reply; -1 where there is none. A reply of Responses is several items in a row. */
function endOfReply(items: Ingested["items"]): number {
  let at = items.findIndex((item) => item.message.role === "assistant");
  while (at >= 0 && items[at + 1] !== undefined && openCalls(items[at + 1]!.open).joined) at++;
  return at;
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
  const nodes = messageEvents(ingested.items, { branch: branch.id, at, step: step?.seq });
  const reply = step === undefined ? -1 : endOfReply(ingested.items);
  // A provider may report as it streams: its last word counts.
  const usage = items.findLast((item) => item.kind === "usage");
  const plan: Plan = { events: [], places: [], nodes: [] };
  const anchored =
    usage !== undefined && step !== undefined && reply >= 0 && isPlausible(ground, branch, usage.usage, step);
  for (const [index, node] of nodes.entries()) {
    if (anchored && index === reply) {
      plan.events.push(
        usageEvent(ground, branch, usage.usage, step, {
          seq: core.log.end() + 1 + plan.events.length,
          before: ingested.items.slice(0, reply),
          reply: ingested.items.slice(reply, reply + 1),
        }),
      );
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

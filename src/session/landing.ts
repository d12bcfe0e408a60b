/** The landing of a prepared request: the last rung if it must be, the batch, the step and the answer, in one transaction. */
import { type Budget, fits, isSendable } from "../compaction/budget.ts";
import { withStale } from "../compaction/forms.ts";
import {
  batchWeight,
  type Ground,
  measureNow,
  type Snapshot,
  takeSnapshot,
  viewOfBranch,
} from "../compaction/ground.ts";
import { type Ended, endingOf, type Run, snapshotOf } from "../compaction/invocation.ts";
import { batchSurfaceItem, lastRung } from "../compaction/last-rung.ts";
import type { ReplacementInput } from "../compaction/replacement.ts";
import { holds } from "../compaction/transaction.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { NewEvent } from "../log/events.ts";
import type { Measure } from "../projections/pressure.ts";
import { surfaceWeight } from "../projections/surface.ts";
import { appendEvents } from "../projections/write.ts";
import { type Arriving, arrivingReplacement, unboundForms } from "./arriving.ts";
import type { Attempt } from "./attempt.ts";
import type { Core } from "./core.ts";
import type { Envelope } from "./envelope.ts";
import { messageEvents } from "./ingest.ts";
import { contributors, outputCap, pressureJson } from "./pressure.ts";
import type { Json } from "./render.ts";
import { DISPATCH_MS, prepareId, STEP_MS, supersede } from "./steps.ts";

/** What is remembered of an answer: the bytes are rendered again from it. */
export interface Prepared {
  json: Json;
  branch: number;
  step: number;
  head: number;
  view: number;
  envelope: string;
}

/** The output cap that was answered; undefined where there is none. */
export function capOf({ json: { maxOutput } }: Prepared): number | undefined {
  return typeof maxOutput === "number" ? maxOutput : undefined;
}

/** The checkpoint of another branch that was put in force first, and the pressure before that. */
export interface Adopted {
  checkpoint: number;
  before: number;
}

/** Appends batch, forms, the end of the invocation and the step, all or nothing. */
export function land(
  core: Core,
  now: Attempt,
  maxOutput: number | undefined,
  remember: (prepared: Prepared) => void,
  run?: Run,
  adopted?: Adopted,
): Prepared {
  const { log } = core;
  const { branch, ground, envelope, ingested } = now;
  const at = core.parts.now();
  const held = run !== undefined && holds(ground, run.invocation.compaction);
  const snapshot = held ? snapshotOf(run) : takeSnapshot(ground, now.entering);
  const { dispatch } = now;
  const reused = dispatch?.reused ?? [];
  const before = [
    ...supersede(branch, at),
    ...headerEvents(branch, envelope, at),
    ...reuseEvents(branch, reused, at),
  ];
  const batchSeq = log.end() + 1 + before.length;
  const fresh = ingested.items.slice(reused.length);
  const batch = messageEvents(fresh, {
    branch: branch.id,
    at,
    ...(dispatch && { keys: dispatch.keys.slice(reused.length), entering: true }),
  });
  const seqs = [...reused, ...fresh.map((_, index) => batchSeq + index)];
  const rung = fitted(ground, snapshot, run, held, { at, seqs, next: batchSeq + fresh.length });
  const after: NewEvent[] = [...rung.events];
  const { measure, generation } = rung;
  const ended = held ? endingOf(run, { after: measure, generation }) : undefined;
  if (ended !== undefined) {
    const meta = { compaction: run!.invocation.compaction, ...ended };
    after.push({ type: "compaction/end", at, branch: branch.id, meta });
  }
  const started = stepEvent(ground, branch, envelope, rung, maxOutput ?? null, at);
  if (dispatch !== undefined) {
    const request = dispatch.request(seqs.at(-1) ?? branch.tip);
    const deadline = at + DISPATCH_MS;
    Object.assign(started.meta, { epoch: core.parts.epoch, deadline }, request && { request });
  }
  after.push(started);
  return log.transaction(() => {
    if (envelope.hash !== branch.envelope && envelope.hash !== "") {
      log.putEnvelope({ hash: envelope.hash, price: envelope.tokens, body: envelope.body });
    }
    appendEvents(log, [...before, ...batch, ...after]);
    const prepared = describe(core, now, maxOutput, { seqs, run, ended, adopted });
    remember(prepared);
    return prepared;
  });
}

interface Fitted {
  events: NewEvent[];
  measure: Measure;
  view: number;
  generation: number;
}

/** The request as it goes out, with the last rung where it does not fit. @throws Refusal `irreducible`, `cancelled`. */
function fitted(
  ground: Ground,
  snapshot: Snapshot,
  run: Run | undefined,
  held: boolean,
  place: { at: number; seqs: readonly number[]; next: number },
): Fitted {
  const { branch, measure, budget } = snapshot;
  const arriving = snapshot.entering.batch.map((item, index) => ({ item, seq: place.seqs[index]! }));
  if (!ground.policy.auto || fits(measure, budget)) {
    const unbound = branch.gen === 0 ? [] : unboundForms(ground, arriving);
    if (unbound.length === 0) return { events: [], measure, view: branch.view, generation: branch.gen };
    const made = { forms: unbound, compaction: "", kind: "route" as const };
    return replaced(ground, snapshot, arriving, { ...place, ...made, measure });
  }
  if (run !== undefined && !held)
    throw new Refusal("cancelled", "The compaction that the request needs was stopped.");
  const asIs = { events: [], measure, view: branch.view, generation: branch.gen };
  if (run === undefined) {
    if (mayGo(measure, budget)) return asIs;
    throw unfit(snapshot);
  }
  const rung = lastRung(ground, snapshot, place.seqs);
  if (!fits(rung.measure, budget) && !mayGo(rung.measure, budget)) throw irreducible(snapshot);
  if (rung.forms.length === 0) return asIs;
  run.rungs.push("last");
  const items = [...snapshot.items, ...arriving.map(({ item, seq }) => batchSurfaceItem(item, seq))];
  const formed = new Set(rung.forms.map((form) => form.node));
  const unbound = unboundForms(ground, arriving).filter((form) => !formed.has(form.node));
  const forms = [...withStale(ground, snapshot, rung.forms, items), ...unbound];
  const made = { forms, compaction: run.invocation.compaction, kind: "prune" as const };
  return replaced(ground, snapshot, arriving, { ...place, ...made, measure: rung.measure });
}

/**
 * Whether a request over the ceiling is sent all the same, when nothing makes it smaller: it fits with less room for the reply, or only what
 * a provider reported says that it does not fit, against the count. Then the provider is the judge, and recovery is still there.
 */
function mayGo(measure: Measure, budget: Budget): boolean {
  if (isSendable(measure, budget)) return true;
  const counted = Math.ceil(measure.ratio * (measure.envelope + measure.surface + measure.incoming));
  return measure.source === "usage" && fits({ ...measure, tokens: counted }, budget);
}

/** A request that does not fit and for which nothing could be tried: for good, or because another compaction holds the branch. */
function unfit(snapshot: Snapshot): Refusal {
  if (snapshot.branch.claim === "") return irreducible(snapshot);
  return new Refusal(
    "busy",
    "Another compaction holds the branch, and the request does not fit without one.",
  );
}

function replaced(
  ground: Ground,
  { branch, view, items }: Snapshot,
  arriving: readonly Arriving[],
  made: Pick<ReplacementInput, "forms" | "compaction" | "kind"> & {
    at: number;
    next: number;
    measure: Measure;
  },
): Fitted {
  const { measure, next: seq, at, forms, compaction, kind } = made;
  const rest = { at, forms, compaction, kind };
  const generation = branch.gen + 1;
  const place = { seq, branch: branch.id, generation, view, items };
  const { events } = arrivingReplacement(ground, arriving, { ...rest, ...place });
  return { events, measure, view: seq + events.length - 1, generation };
}

export function irreducible(snapshot: Snapshot): Refusal {
  const { measure, items, budget } = snapshot;
  return new Refusal("irreducible", "The request cannot be made to fit.", {
    more: {
      tokens: measure.tokens,
      ceiling: budget.ceiling ?? null,
      bytes: measure.bytes,
      maxRequestBytes: budget.maxRequestBytes ?? null,
      images: measure.images,
      maxImages: budget.maxImages ?? null,
      contributors: contributors(measure, items),
    },
  });
}

function headerEvents(branch: Branch, envelope: Envelope, at: number): NewEvent[] {
  if (envelope.hash === branch.envelope) return [];
  const meta = { envelope: envelope.hash, price: envelope.tokens, bytes: envelope.bytes };
  return [{ type: "request/header", at, branch: branch.id, meta }];
}

/** Messages that were sent before and refused then enter as the nodes that they are. */
function reuseEvents(branch: Branch, reused: readonly number[], at: number): NewEvent[] {
  const tip = reused.at(-1);
  if (tip === undefined) return [];
  return [{ type: "branch/advanced", at, branch: branch.id, meta: { head: branch.head, tip } }];
}

function stepEvent(
  ground: Ground,
  branch: Branch,
  envelope: Envelope,
  { view, generation }: Fitted,
  maxOutput: number | null,
  at: number,
): NewEvent<"step/start"> {
  const { route } = ground;
  const meta = { route, envelope: envelope.hash, view, generation, maxOutput, deadline: at + STEP_MS };
  return { type: "step/start", at, branch: branch.id, meta };
}

/** The answer's JSON, from the state just written. */
function describe(
  core: Core,
  now: Attempt,
  maxOutput: number | undefined,
  {
    seqs,
    run,
    ended,
    adopted,
  }: {
    seqs: readonly number[];
    run: Run | undefined;
    ended: Ended | undefined;
    adopted: Adopted | undefined;
  },
): Prepared {
  const { ground, ingested, envelope, entering } = now;
  const branch = core.log.branch(now.branch.id)!;
  const view = viewOfBranch(core.log, branch);
  const measure = measureNow(ground, branch, view, { ...entering, batch: [] });
  const shownLess =
    view?.forms.reduce((sum, [node, , tokens]) => (seqs.includes(node) ? sum + tokens : sum), 0) ?? 0;
  const incoming = batchWeight(ingested.items).tokens + shownLess;
  const surface = surfaceWeight(core.log, branch.tip, view).tokens - incoming;
  const json: Json = {
    prepareId: prepareId(core.log.end()),
    seqs: ingested.places.map((index) => seqs[index]!),
    head: branch.tip,
    generation: branch.gen,
    maxOutput: outputCap(ground, maxOutput, measure.tokens),
    pressure: pressureJson({ ...measure, incoming, surface }),
    compaction:
      run === undefined ? adoptedJson(adopted, measure, branch.gen) : compactionJson(run, ended, branch.gen),
    repaired: ingested.closed.map(({ call, index }) => ({ call, seq: seqs[index]! })),
  };
  return {
    json,
    branch: branch.id,
    step: branch.step,
    head: branch.tip,
    view: branch.view,
    envelope: envelope.hash,
  };
}

/** A checkpoint of another branch was enough. */
function adoptedJson(adopted: Adopted | undefined, after: Measure, generation: number): Json | null {
  if (adopted === undefined) return null;
  const { checkpoint, before } = adopted;
  const made = { id: `adopt-${checkpoint}`, trigger: "pressure", rungs: ["adopt"], outcome: "done" };
  return { ...made, generation, tokensBefore: before, tokensAfter: after.tokens };
}

function compactionJson(run: Run, ended: Ended | undefined, generation: number): Json {
  const { compaction: id, trigger } = run.invocation;
  return {
    id,
    trigger,
    rungs: run.rungs,
    outcome: ended?.outcome === "done" ? "done" : "failed",
    generation,
    tokensBefore: run.before.measure.tokens,
    tokensAfter: ended?.tokensAfter ?? run.before.measure.tokens,
  };
}

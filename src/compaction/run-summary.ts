/**
 * One checkpoint for one span: calls a model as often as the budgets allow, checks what it wrote, commits once; code writes the checkpoint where
 * no model may or can. Awaits only the model; what it commits was validated after the await.
 */
import { type Attempt, type Meta, metaOf } from "../log/events.ts";
import { METER_VERSION, PER_MESSAGE } from "../meter/price.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import { weighForm } from "../projections/weigh.ts";
import { type FrameLabel, frameCheckpoint, frameRoom, RENDER_VERSION } from "./checkpoint.ts";
import { extractiveCheckpoint } from "./extractive.ts";
import { type Facts, firstRequest, foldFacts, newestRequest } from "./facts.ts";
import { staleForms } from "./forms.ts";
import type { Snapshot } from "./ground.ts";
import { mayLand, type Run, type Summarizer, snapshotOf } from "./invocation.ts";
import { planOfCut, type SpanPlan } from "./plan.ts";
import { buildCall, planCall, type SummaryBody, type SummaryModel } from "./summary-call.ts";
import { evidenceOf } from "./summary-evidence.ts";
import { checkReply } from "./summary-reply.ts";
import { commitCheckpoint, holds, recordAttempt } from "./transaction.ts";

/** A single attempt gets no longer than this, and never longer than what is left of `maxWaitMs`. */
const ATTEMPT_MS = 90_000;

const PAUSE_MS = 500;

/** Tokens of text below which no model is asked: it could say nothing in them that code does not. */
const LEAST_TEXT = 32;

/** A span on its way to a checkpoint: what was read of it before the first await. */
export interface Draft {
  plan: SpanPlan;
  items: readonly SurfaceItem[];
  facts: Facts;
  label: (by: string) => FrameLabel;
}

/** True when a checkpoint was committed. */
export async function summarizeSpan(run: Run, snapshot: Snapshot, plan: SpanPlan): Promise<boolean> {
  const { summarizer, invocation } = run;
  if (summarizer.kind === "model" && !invocation.codeOnly) {
    if (await summarizeByModel(run, snapshot, plan, summarizer)) return true;
    if (!holds(run.ground, invocation.compaction)) return false;
    // A person who asked for a summary is told that there is none; the conversation stays as it is.
    if (invocation.trigger === "manual") return false;
  }
  return summarizeByCode(run, draftOf(run, snapshot, plan));
}

function draftOf(run: Run, snapshot: Snapshot, plan: SpanPlan): Draft {
  const { ground } = run;
  const items = snapshot.items.slice(0, plan.cut);
  const head = items[0]?.kind === "checkpoint" ? ground.log.event(items[0].seq) : undefined;
  const previous = head && (metaOf(head, "compaction/summary").facts as Facts);
  // Runtime context is no word of the user's; a request whose checkpoint shadows it carries it again.
  const isContext = (seq: number) => ground.log.event(seq)?.type === "context/runtime";
  const nodes = items.filter((item) => item.kind !== "checkpoint" && !isContext(item.seq));
  const span = nodes.map(({ seq }) => ({ seq, message: ground.dialect.read(ground.log.body(seq), "node") }));
  const facts = foldFacts(previous, span);
  const { from, to } = plan.span;
  return { plan, items, facts, label: (by) => ({ by, from, to, messages: plan.span.count }) };
}

type Model = Extract<Summarizer, { kind: "model" }>;

/** What the last attempt taught. */
interface Lesson {
  correction?: string;
  /** The summarizer itself overflowed: less than this many tokens go in next time. */
  window?: number;
}

async function summarizeByModel(
  run: Run,
  snapshot: Snapshot,
  plan: SpanPlan,
  summarizer: Model,
): Promise<boolean> {
  const { ground } = run;
  let lesson: Lesson | undefined = {};
  while (lesson !== undefined && run.paid < ground.policy.maxPaidCalls && run.deadline > ground.now()) {
    if (!holds(ground, run.invocation.compaction)) return false;
    const next = prepareCall(run, snapshot, plan, summarizer.model, lesson);
    if (next === undefined) {
      run.failure = "no-room";
      return false;
    }
    const outcome = await attempt(run, next, summarizer);
    if (outcome === "landed") return true;
    if (typeof outcome === "object" && "again" in outcome && outcome.again === "same")
      await pause(run, summarizer);
    lesson = outcome === "over" ? undefined : learn(lesson, outcome, next);
  }
  return false;
}

interface NextCall {
  draft: Draft;
  frame: number;
  request: SummaryBody;
}

/** The next call, over the whole span or over its oldest legal prefix that the summarizer can take. */
function prepareCall(
  run: Run,
  snapshot: Snapshot,
  plan: SpanPlan,
  model: SummaryModel,
  lesson: Lesson,
): NextCall | undefined {
  const { ground } = run;
  let draft = draftOf(run, snapshot, plan);
  let frame = framePrice(run, draft, model.route);
  let shape =
    plan.cap - frame < LEAST_TEXT
      ? undefined
      : planCall(ground, model, draft.items, plan.cap - frame, lesson.window);
  if (shape === undefined) return undefined;
  if (shape.nodes < draft.items.length) {
    const shorter = planOfCut(ground, snapshot, shape.nodes);
    // What could not land even if it cost nothing is not paid for.
    if (shorter === undefined || !mayLand(run, snapshot, shorter.span.tokens)) return undefined;
    draft = draftOf(run, snapshot, shorter);
    frame = framePrice(run, draft, model.route);
    const room = Math.floor(shorter.cap - frame);
    if (room < LEAST_TEXT) return undefined;
    shape = { ...shape, maxTokens: Math.min(shape.maxTokens, room) };
  }
  const request = buildCall(ground, model, draft.items, shape, lesson.correction);
  return { draft, frame, request };
}

type Outcome = "landed" | "over" | { again: "same" | "overflow" } | { correction: string };

async function attempt(run: Run, { draft, frame, request }: NextCall, summarizer: Model): Promise<Outcome> {
  const { ground, invocation } = run;
  run.paid++;
  const timeoutMs = Math.max(1, Math.min(ATTEMPT_MS, run.deadline - ground.now()));
  const result = await summarizer.call(request.body, { signal: invocation.signal, timeoutMs });
  const call = { compaction: invocation.compaction, span: draft.plan.span, route: summarizer.model.route };
  const evidence = evidenceOf(call, request, result);
  const held = holds(ground, invocation.compaction);
  if (!result.ok) {
    failed(run, evidence, result.reason);
    if (!held) return "over";
    if (result.reason === "overflow") return { again: "overflow" };
    return result.retryable ? { again: "same" } : "over";
  }
  if (!held) {
    failed(run, evidence, "late");
    return "over";
  }
  const { cap, span } = draft.plan;
  const limits = { cap, spanPrice: span.tokens, framePrice: frame, count: counter(run) };
  const checked = checkReply(result.reply, limits);
  if (checked.ok) return land(run, draft, summarizer.model.route, checked.text, evidence) ? "landed" : "over";
  failed(run, { ...evidence, outcome: "refused" }, checked.refused);
  // A filter will not be talked round.
  return checked.refused === "filtered" ? "over" : { correction: checked.correction };
}

/** One corrective retry with the reason; a summarizer that overflowed gets seven tenths of what it got. */
function learn(lesson: Lesson, outcome: Exclude<Outcome, string>, { draft }: NextCall): Lesson | undefined {
  if ("correction" in outcome) {
    return lesson.correction === undefined ? { ...lesson, correction: outcome.correction } : undefined;
  }
  if (outcome.again === "same") return lesson;
  return { ...lesson, window: Math.floor(0.7 * (lesson.window ?? draft.plan.span.tokens)) };
}

/** Before the same call again: a provider that refuses for load needs a moment. Never beyond the deadline. */
function pause(run: Run, summarizer: Model): Promise<void> {
  const { ground, invocation, deadline, paid } = run;
  const ms = Math.max(0, Math.min(PAUSE_MS * 2 ** (paid - 1), deadline - ground.now()));
  return summarizer.wait(ms, invocation.signal);
}

function failed(run: Run, evidence: Attempt, reason: string): void {
  run.failure = reason;
  recordAttempt(run.ground, {
    ...evidence,
    outcome: evidence.outcome === "ok" ? "failed" : evidence.outcome,
    reason,
  });
}

/** What the frame costs around a text, with what a message costs besides. */
function framePrice(run: Run, draft: Draft, by: string): number {
  const parts = { ...requests(draft), label: draft.label(by), cap: textCap(draft), count: counter(run) };
  return draft.plan.cap - frameRoom(parts);
}

function counter(run: Run): (text: string) => number {
  return (text) => run.ground.meter.text(text).tokens;
}

function requests({ facts }: Draft) {
  const first = firstRequest(facts);
  const newest = newestRequest(facts);
  return {
    ...(first === undefined ? {} : { firstRequest: first }),
    ...(newest === undefined ? {} : { newestRequest: newest }),
  };
}

/** What the framed text may cost: the cap is the price of the whole message. */
function textCap({ plan }: Draft): number {
  return Math.max(0, plan.cap - PER_MESSAGE);
}

function summarizeByCode(run: Run, draft: Draft): boolean {
  const label = draft.label("extractive");
  const { facts } = draft;
  const framed = extractiveCheckpoint({ facts, cap: textCap(draft), count: counter(run), label });
  const evidence: Attempt = {
    compaction: run.invocation.compaction,
    purpose: "compaction",
    route: "extractive",
    shape: "extractive",
    span: draft.plan.span,
    outcome: "ok",
    ms: 0,
  };
  return commit(run, draft, { by: "extractive", text: framed.text, framed: framed.text, evidence });
}

function land(run: Run, draft: Draft, by: string, text: string, evidence: Attempt): boolean {
  const parts = { ...requests(draft), label: draft.label(by), cap: textCap(draft), count: counter(run) };
  const framed = frameCheckpoint({ ...parts, text });
  return commit(run, draft, { by, text, framed: framed.text, evidence });
}

/** Reads the Surface anew, checks, and commits; records why not. */
function commit(
  run: Run,
  draft: Draft,
  written: { by: string; text: string; framed: string; evidence: Attempt },
): boolean {
  const { ground, invocation } = run;
  const { plan, items, facts } = draft;
  const reject = (reason: string): boolean => {
    failed(run, { ...written.evidence, outcome: "refused" }, reason);
    return false;
  };
  const now = lookAgain(run, () => reject("superseded"));
  const bytes = ground.dialect.userText(written.framed);
  const weight = weighForm(ground.dialect, ground.meter, bytes);
  if (!mayLand(run, now, plan.span.tokens - weight.price)) return reject("not-worth");
  const meta: Meta<"compaction/summary"> = {
    compaction: invocation.compaction,
    text: written.text,
    by: written.by,
    span: plan.span,
    facts,
    evidence: written.evidence,
    attempts: run.paid,
    version: RENDER_VERSION,
    meter: METER_VERSION,
  };
  const expected = { items, tokens: plan.span.tokens };
  const checkpoint = { meta, bytes, facts: weight, upto: plan.span.to };
  const forms = staleForms(ground, now, plan.cut, []);
  const seq = ground.log.end() + 1;
  const changed = commitCheckpoint(ground, now, invocation.compaction, expected, checkpoint, forms);
  if (changed !== undefined) return reject(changed);
  run.checkpoints.push(seq);
  run.shadowed = {
    items: run.shadowed.items + plan.span.count,
    tokens: run.shadowed.tokens + plan.span.tokens,
  };
  run.rungs.push(written.by === "extractive" ? "extractive" : "summary");
  delete run.failure;
  return true;
}

/** The state after the await. A request that can no longer be prepared ends the invocation; its reply was paid for all the same. */
function lookAgain(run: Run, lost: () => void): Snapshot {
  try {
    return snapshotOf(run);
  } catch (error) {
    lost();
    throw error;
  }
}

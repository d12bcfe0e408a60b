/**
 * One checkpoint for one span: calls a model as often as the budgets allow, checks what it wrote, commits once; code writes the checkpoint where
 * no model may or can. Awaits only the model; what it commits was validated after the await.
 */
import { createHash } from "node:crypto";
import type { Attempt, Meta } from "../log/events.ts";
import { METER_VERSION } from "../meter/price.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import { weighForm } from "../projections/weigh.ts";
import type { CallResult, Capacity, Upstream } from "../providers/provider.ts";
import { type FrameLabel, frameCheckpoint, frameRoom, RENDER_VERSION } from "./checkpoint.ts";
import { extractiveCheckpoint } from "./extractive.ts";
import { type Facts, foldFacts } from "./facts.ts";
import { staleForms } from "./forms.ts";
import type { Snapshot } from "./ground.ts";
import type { SpanPlan } from "./plan.ts";
import { mayLand, type Run, snapshotOf } from "./run.ts";
import type { RawEnvelope } from "./summary-request.ts";
import { checkReply } from "./summary-reply.ts";
import { nextRequest, type SummaryBody } from "./summary-shape.ts";
import { commitCheckpoint, holds, recordAttempt } from "./transaction.ts";

/** Who writes summaries. `call` sends a body to the upstream and never throws. */
export type Summarizer =
  | { kind: "extractive" }
  | {
      kind: "model";
      route: string;
      upstream: Upstream;
      /** The session's own route and dialect: the conversation shape reuses the provider's cache. */
      sameRoute: boolean;
      capacity: Capacity;
      envelope: RawEnvelope;
      call: (body: Uint8Array, options: { signal: AbortSignal; timeoutMs: number }) => Promise<CallResult>;
    };

/** A single attempt gets no longer than this, and never longer than what is left of `maxWaitMs`. */
const ATTEMPT_MS = 90_000;

/** A span on its way to a checkpoint: what was read of it before the first await. */
export interface Draft {
  plan: SpanPlan;
  items: readonly SurfaceItem[];
  facts: Facts;
  label: (by: string) => FrameLabel;
}

/** True when a checkpoint was committed. */
export async function summarizeSpan(run: Run, snapshot: Snapshot, plan: SpanPlan): Promise<boolean> {
  const draft = draftOf(run, snapshot, plan);
  const { summarizer, invocation } = run;
  if (summarizer.kind === "model" && !invocation.codeOnly) {
    if (await summarizeByModel(run, draft, summarizer)) return true;
    if (!holds(run.ground, invocation.compaction)) return false;
    // A person who asked for a summary is told that there is none; the conversation stays as it is.
    if (invocation.trigger === "manual") return false;
  }
  return summarizeByCode(run, draft);
}

function draftOf(run: Run, snapshot: Snapshot, plan: SpanPlan): Draft {
  const { ground } = run;
  const items = snapshot.items.slice(0, plan.cut);
  const head = items[0];
  const previous =
    head?.kind === "checkpoint"
      ? ((ground.log.event(head.seq)?.meta as Meta<"compaction/summary">).facts as Facts)
      : undefined;
  const nodes = items.filter((item) => item.kind !== "checkpoint");
  const span = nodes.map(({ seq }) => ({ seq, message: ground.dialect.read(ground.log.body(seq), "node") }));
  const facts = foldFacts(previous, span);
  const { from, to } = plan.span;
  return { plan, items, facts, label: (by) => ({ by, from, to, messages: plan.span.count }) };
}

type Model = Extract<Summarizer, { kind: "model" }>;

async function summarizeByModel(run: Run, draft: Draft, model: Model): Promise<boolean> {
  const { ground, invocation } = run;
  let last: { refusal?: string; correction?: string; overflow?: boolean } = {};
  while (run.paid < ground.policy.maxPaidCalls) {
    const left = run.deadline - ground.now();
    if (left <= 0) break;
    const frame = framePrice(run, draft, model.route);
    const request = nextRequest(run, draft, model, { ...last, room: draft.plan.cap - frame });
    if (request === undefined) break;
    run.paid++;
    const options = { signal: invocation.signal, timeoutMs: Math.min(ATTEMPT_MS, left) };
    const result = await model.call(request.body, options);
    const evidence = evidenceOf(run, draft, model, request, result);
    if (!result.ok) {
      failed(run, evidence, result.reason);
      if (!holds(ground, invocation.compaction)) return false;
      last = { overflow: result.reason === "overflow" };
      if (result.retryable || last.overflow) continue;
      break;
    }
    if (!holds(ground, invocation.compaction)) {
      failed(run, evidence, "late");
      return false;
    }
    const { cap, span } = draft.plan;
    const count = (text: string) => ground.meter.text(text).tokens;
    const checked = checkReply(result.reply, { cap, spanPrice: span.tokens, framePrice: frame, count });
    if (checked.ok) return land(run, draft, model.route, checked.text, evidence);
    failed(run, { ...evidence, outcome: "refused" }, checked.refused);
    // One corrective retry with the reason; a filter will not be talked round.
    if (last.correction !== undefined || checked.refused === "filtered") break;
    last = { refusal: checked.refused, correction: checked.correction };
  }
  return false;
}

function failed(run: Run, evidence: Attempt, reason: string): void {
  run.failure = reason;
  recordAttempt(run.ground, { ...evidence, outcome: evidence.outcome === "ok" ? "failed" : evidence.outcome, reason });
}

/** What the frame costs around a text, with what a message costs besides. */
function framePrice(run: Run, draft: Draft, by: string): number {
  const { plan } = draft;
  return plan.cap - frameRoom({ ...requests(draft), label: draft.label(by), cap: plan.cap, count: counter(run) });
}

function counter(run: Run): (text: string) => number {
  return (text) => run.ground.meter.text(text).tokens;
}

function requests({ facts }: Draft) {
  const first = facts.requests[0];
  const newest = facts.requests.at(-1);
  return first === undefined || newest === undefined ? {} : { firstRequest: first, newestRequest: newest };
}

function summarizeByCode(run: Run, draft: Draft): boolean {
  const label = draft.label("extractive");
  const framed = extractiveCheckpoint({ facts: draft.facts, cap: draft.plan.cap, count: counter(run), label });
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
  const parts = { ...requests(draft), label: draft.label(by), cap: draft.plan.cap, count: counter(run) };
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
  const now = snapshotOf(run);
  const bytes = ground.dialect.userText(written.framed);
  const weight = weighForm(ground.dialect, ground.meter, bytes);
  const reject = (reason: string): boolean => {
    failed(run, { ...written.evidence, outcome: "refused" }, reason);
    return false;
  };
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
  run.shadowed = { items: run.shadowed.items + plan.span.count, tokens: run.shadowed.tokens + plan.span.tokens };
  run.rungs.push(written.by === "extractive" ? "extractive" : "summary");
  delete run.failure;
  return true;
}

function evidenceOf(run: Run, draft: Draft, model: Model, request: SummaryBody, result: CallResult): Attempt {
  const evidence: Attempt = {
    compaction: run.invocation.compaction,
    purpose: "compaction",
    route: model.route,
    shape: request.shape,
    span: draft.plan.span,
    outcome: result.ok ? "ok" : "failed",
    ms: result.ms,
    digest: createHash("sha256").update(request.body).digest("hex"),
  };
  if (!result.ok) return result.status === undefined ? evidence : { ...evidence, status: result.status };
  const { requestId, model: answered, usage } = result.reply;
  return {
    ...evidence,
    ...(requestId === undefined ? {} : { requestId }),
    ...(answered === undefined ? {} : { model: answered }),
    ...(usage === undefined ? {} : { usage }),
  };
}

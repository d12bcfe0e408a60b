/** What the steps of a drop-in request do to the session: the effects that `turn/run-turn.ts` asks for. */
import { takeSnapshot } from "../../compaction/ground.ts";
import { dropThinking } from "../../compaction/transaction.ts";
import type { DialectName } from "../../dialects/dialect.ts";
import { Refusal } from "../../failure.ts";
import type { Branch } from "../../log/event-log.ts";
import type { NewEvent } from "../../log/events.ts";
import type { Measure } from "../../projections/pressure.ts";
import { appendEvents } from "../../projections/write.ts";
import type { ClientKey } from "../../providers/client-key.ts";
import { type Dispatched, dispatch } from "../../providers/dispatch.ts";
import { classifyRefusal, silentOverflow } from "../../providers/overflow.ts";
import type { Upstream } from "../../providers/provider.ts";
import type { Reply } from "../../providers/reply/reply.ts";
import { saidIn } from "../../providers/reply/said.ts";
import { retryAfterMs } from "../../providers/retry-after.ts";
import { usageOf } from "../../providers/usage.ts";
import type { Failed, RefusedCall, TurnWork } from "../../turn/run-turn.ts";
import type { Verdict } from "../../turn/step.ts";
import type { Core } from "../core.ts";
import type { NodeKeys } from "../ingest.ts";
import { capOf, type Prepared } from "../landing.ts";
import { recover } from "../overflow.ts";
import { currentPressure } from "../pressure.ts";
import { prepareId } from "../steps.ts";
import { brokenAnswer, brokenFrame, ownHeaders, passedAnswerHeaders } from "./answers.ts";
import { giveUp, landReply } from "./reply.ts";
import { Telling } from "./telling.ts";

/** Where a step goes, and what it takes along. */
export interface Outbound {
  dialect: DialectName;
  route: string;
  upstream: Upstream;
  /** Headers for the provider, without a key. */
  headers(branch: Branch): Headers;
  key: ClientKey | undefined;
  /** How many choices are asked for. */
  choices: number;
  /** Drops the chunk that only reports usage, which the client did not ask for. */
  hidesUsage: boolean;
  /** How often a transient failure is waited out: never for a client that retries by itself. */
  retries: number;
  /** The request with the Surface of the branch as it stands. */
  body(branch: Branch, maxOutput: number | undefined): Uint8Array;
  /** Keys of the reply's messages, on drop-in branches. */
  keysOf(branch: Branch, messages: readonly Uint8Array[]): readonly NodeKeys[];
  /** What lands with the reply. */
  also(): NewEvent[];
}

/** Before the first retry of a provider that does not say how long to wait; doubled each time. */
const PAUSE_MS = 500;

export function stepWork(core: Core, outbound: Outbound, prepared: Prepared): TurnWork {
  return new StepWork(core, outbound, prepared);
}

class StepWork implements TurnWork {
  readonly dialect: DialectName;
  readonly choices: number;
  readonly hidesUsage: boolean;
  readonly retries: number;
  private readonly core: Core;
  private readonly outbound: Outbound;
  private readonly branchId: number;
  private readonly step: number;
  private compaction: { id: string; trigger: string; outcome: string } | undefined;
  private maxOutput: number | undefined;
  /** Of the newest request that went out. */
  private pressure: Measure | undefined;
  private waited = 0;
  private readonly telling: Telling;

  constructor(core: Core, outbound: Outbound, prepared: Prepared) {
    this.core = core;
    this.outbound = outbound;
    this.dialect = outbound.dialect;
    this.choices = outbound.choices;
    this.hidesUsage = outbound.hidesUsage;
    this.retries = outbound.retries;
    this.branchId = prepared.branch;
    this.step = prepared.step;
    this.compaction = (prepared.json.compaction as typeof this.compaction | null) ?? undefined;
    this.maxOutput = capOf(prepared);
    this.telling = new Telling((text) => {
      const step = { stepId: prepareId(this.step), branch: this.branch.name };
      core.parts.onlookers?.tell({ type: "delta", ...step, text });
    });
  }

  private get branch(): Branch {
    return this.core.log.branch(this.branchId)!;
  }

  /** False once the step was ended by somebody else. */
  private get isRunning(): boolean {
    return this.core.log.branch(this.branchId)?.step === this.step;
  }

  send(signal: AbortSignal): Promise<Dispatched> {
    const { outbound, core } = this;
    const { upstream, key } = outbound;
    this.pressure = currentPressure(core, this.branch, outbound.route);
    const body = outbound.body(this.branch, this.maxOutput);
    const headers = outbound.headers(this.branch);
    core.parts.landed();
    return dispatch(upstream, body, { headers, key, signal, fetch: core.parts.fetch });
  }

  judge({ status, body }: RefusedCall): Verdict {
    const { core, outbound, branch } = this;
    const ground = core.ground(this.branchId, outbound.route);
    if (ground.policy.mode !== "active") return "other";
    const estimate = currentPressure(core, branch, outbound.route).tokens;
    const { window } = ground.capacity;
    const refusal = classifyRefusal({ status, body, dialect: this.dialect, estimate, window });
    if (refusal.kind === "overflow" || refusal.kind === "binding") return refusal.kind;
    // A request over the ceiling of a rate never passes, however long one waits.
    if (refusal.kind === "rate-limit")
      return (refusal.ceiling ?? estimate) < estimate ? "other" : "transient";
    return refusal.kind === "other" && refusal.what === "transient" ? "transient" : "other";
  }

  async retry({ status, body, headers }: Failed, signal: AbortSignal): Promise<boolean> {
    if (!this.isRunning) return false;
    const { core, branchId, step } = this;
    const now = core.parts.now();
    const ms = retryAfterMs(headers, now) ?? PAUSE_MS * 2 ** this.waited;
    if (ms > core.ground(branchId, this.outbound.route).policy.maxWaitMs) return false;
    this.waited++;
    const limited = classifyRefusal({ status, body, dialect: this.dialect }).kind === "rate-limit";
    const reason = body === "network" ? body : limited ? "rate-limit" : "http";
    const meta = { step, reason, ...(status !== undefined && { status }), resend: true };
    appendEvents(core.log, [{ type: "step/failed", at: now, branch: branchId, step, meta }]);
    core.parts.landed();
    await core.parts.wait(ms, signal);
    return this.isRunning;
  }

  async recover(refused: RefusedCall | { reply: Reply }): Promise<boolean> {
    if (!this.isRunning) return false;
    const said =
      "reply" in refused
        ? {
            usage: refused.reply.usage,
            ...(refused.reply.finish !== undefined && { finish: refused.reply.finish }),
          }
        : { body: refused.body, ...(refused.status !== undefined && { status: refused.status }) };
    try {
      const done = await recover(this.core, {
        branch: this.branch.name,
        prepareId: prepareId(this.step),
        ...said,
      });
      if (done.action === "none") return false;
      this.maxOutput = done.maxOutput ?? undefined;
      if (done.compaction !== null) {
        this.compaction = { id: done.compaction, trigger: "overflow", outcome: "done" };
      }
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  }

  unbind(): boolean {
    if (!this.isRunning) return false;
    const { core, branchId, step } = this;
    const ground = core.ground(branchId, this.outbound.route);
    const entering = { envelope: { tokens: 0, bytes: 0 }, batch: [], maxOutput: undefined };
    return core.log.transaction(() => {
      if (!dropThinking(ground, takeSnapshot(ground, entering))) return false;
      const meta = { step, reason: "binding", resend: true };
      appendEvents(core.log, [{ type: "step/failed", at: core.parts.now(), branch: branchId, step, meta }]);
      return true;
    });
  }

  show(frame: Uint8Array): void {
    if (this.core.parts.onlookers?.present()) this.telling.add(saidIn(this.dialect, frame));
  }

  overflowed(reply: Reply): boolean {
    const { window } = this.core.ground(this.branchId, this.outbound.route).capacity;
    const usage = usageOf(this.dialect, reply.usage);
    const silent = silentOverflow({ usage, finish: reply.finish, window });
    return silent !== undefined && !silent.answered;
  }

  store(reply: Reply): void {
    this.telling.flush();
    if (!this.isRunning) return;
    const { core, dialect } = this;
    const usage = usageOf(dialect, reply.usage);
    const choices = reply.choices.map(({ messages }) => ({
      raws: messages.map((bytes, index) => ({ bytes, at: `reply[${index}]` })),
      keys: this.outbound.keysOf(this.branch, messages),
    }));
    const { id, model, created, finish } = reply;
    const told = {
      ...(id !== undefined && { id }),
      ...(model !== undefined && { model }),
      ...(created !== undefined && { created }),
      ...(finish !== undefined && { finish }),
      ...(reply.usage !== undefined && { usage: reply.usage }),
    };
    try {
      landReply(core, this.branchId, { choices, usage, told, also: this.outbound.also() });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The client has it all the same; it may send it again, and is judged by the provider then.
      giveUp(core, this.branchId, { type: "step/failed", meta: { reason: "reply" } }, usage);
    }
  }

  fail(reason: string, status?: number): void {
    this.telling.flush();
    if (!this.isRunning) return;
    const meta = { reason, ...(status !== undefined && { status }) };
    giveUp(this.core, this.branchId, { type: "step/failed", meta });
  }

  abort(reason: "client" | "cancelled"): void {
    this.telling.flush();
    if (!this.isRunning) return;
    if (reason === "cancelled") giveUp(this.core, this.branchId, { type: "step/cancelled", meta: {} });
    else giveUp(this.core, this.branchId, { type: "step/aborted", meta: { reason: "client" } });
  }

  headers(from: Headers | undefined): Record<string, string> {
    const { core, branchId, step, compaction, pressure } = this;
    return { ...passedAnswerHeaders(from), ...ownHeaders(core, branchId, { step, compaction, pressure }) };
  }

  brokenAnswer(why: string) {
    const { status, body } = brokenAnswer(this.dialect, why);
    return { status, body, headers: { ...this.headers(undefined), "content-type": "application/json" } };
  }

  errorFrame(why: string): Uint8Array {
    return brokenFrame(this.dialect, why);
  }
}

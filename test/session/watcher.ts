/**
 * What must hold after every step of a random session, checked against the naive projections, and what was seen on
 * the way: Surfaces of the past, requests that went out, how often each thing happened.
 */
import { expect } from "vitest";
import { violations } from "../../src/dialects/legal.ts";
import type { EventRow, Meta } from "../../src/log/events.ts";
import { elements, pick } from "../../src/log/scanner.ts";
import { inboxKey } from "../../src/projections/fold-branch.ts";
import { surfaceWeight } from "../../src/projections/surface.ts";
import { audit } from "../../src/session/audit.ts";
import { currentPressure } from "../../src/session/pressure.ts";
import { surfaceAnswer } from "../../src/session/read.ts";
import type { Json } from "../../src/session/render.ts";
import { Naive } from "../support/naive.ts";
import { textOf } from "../support/naive-messages.ts";
import type { NaiveItem } from "../support/naive-types.ts";
import {
  endsInResults,
  faultsOf,
  isReply,
  leadingSignature,
  type Sent,
  thinkingFaults,
} from "../support/requests.ts";
import { codeOf, meter, type OpenCall, routes, type World } from "../support/world.ts";

interface Past {
  branch: string;
  at: number;
  text: string;
}

/** Past Surfaces that are asked for again after each step. */
const ASKED_AGAIN = 2;

export class Watcher {
  naive: Naive;
  readonly counts: Map<string, number>;
  private readonly world: World;
  private readonly past: Past[] = [];
  private readonly shown = new Map<number, { text: string; seen: number }>();
  private readonly judged = new Set<OpenCall>();
  private step = 0;

  constructor(world: World, counts: Map<string, number>) {
    this.world = world;
    this.counts = counts;
    this.naive = this.recomputed();
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  private recomputed(): Naive {
    return new Naive(this.world.log, this.world.core.dialect(), meter);
  }

  /** A refusal of a kind that may happen here goes on to the caller; anything else fails the test. */
  refused(what: string, error: unknown, allowed: readonly string[]): never {
    const code = codeOf(error);
    expect(allowed, `${what} refused: ${String(error)}`).toContain(code);
    this.count(`${what}: ${code}`);
    throw error;
  }

  /** A request as it goes to the model: legal as a whole, its thinking its own, no larger than the window. */
  sent(request: Sent & { branch: number }, head: number, answer: Json | undefined): void {
    this.count("requests");
    const naive = this.recomputed();
    const empty = request.messages.length === 0;
    expect(empty ? [] : faultsOf(request), `a request on ${request.route}`).toEqual([]);
    this.checkLoopThinking(request, head, naive);
    if (answer === undefined) return;
    const compaction = answer.compaction as { rungs: string[]; outcome: string } | null;
    for (const rung of compaction?.rungs ?? []) this.count(`rung ${rung}`);
    const { window, ratio } = routes[request.route]!;
    const settings = this.world.core.settings();
    if (settings.effective.auto !== true || window === undefined) return;
    const price = naive.branches.get(request.branch)!.envelope.price;
    const tokens = request.messages.reduce((sum, bytes) => sum + naive.price(bytes), price);
    expect(tokens * ratio, "tokens of a request against its window").toBeLessThanOrEqual(window);
  }

  /** Where thinking is not bound, the newest reply of an open tool loop must still begin with it. */
  private checkLoopThinking(request: Sent & { branch: number }, head: number, naive: Naive): void {
    if (routes[request.route]?.thinkingBinding !== "none" || !endsInResults(request)) return;
    const newest = naive.path(head).findLast((seq) => naive.nodes.get(seq)!.role === "assistant")!;
    // A reply without calls ends its loop, also one that goes out as nothing because it was thinking alone.
    if (naive.nodes.get(newest)!.open.length === 0) return;
    const signature = leadingSignature(this.world.log.body(newest));
    if (signature?.split("|")[0] !== request.route || this.isGone(request.branch, newest, naive)) return;
    const shown = request.messages.findLast(isReply);
    expect(shown && leadingSignature(shown), "thinking of an open tool loop").toBe(signature);
    this.count("open loops with thinking");
  }

  /**
   * Whether the node's thinking is gone for good: by a switch of the route, with which it does not come back; on another branch,
   * before a fork went back into the loop; or for a request that was to begin a turn and never landed, or left again with its step.
   */
  private isGone(branch: number, node: number, naive: Naive): boolean {
    const { log } = this.world;
    const form = naive.standing(branch).content.forms.get(node);
    if (form === undefined) return false;
    const { compaction } = log.event(form)!.meta as Meta<"compaction/prune">;
    return form < branch || compaction === "" || !this.hasLanded(compaction);
  }

  /** Whether the invocation ended with the request that it was made for. */
  private hasLanded(compaction: string): boolean {
    const { log } = this.world;
    const rows = log.read(0, { limit: 100_000, maxBytes: Number.MAX_SAFE_INTEGER });
    const own = (row: EventRow) => (row.meta as { compaction?: string }).compaction === compaction;
    const start = rows.find((row) => row.type === "compaction/start" && own(row));
    if ((start?.meta as Meta<"compaction/start"> | undefined)?.trigger !== "pressure") return true;
    const end = rows.findIndex((row) => row.type === "compaction/end" && own(row));
    const started = rows[end + 1];
    if (end < 0 || started?.type !== "step/start") return false;
    const entered = (started.meta as Meta<"step/start">).epoch !== undefined;
    return !entered || !rows.some((row) => row.step === started.seq && leaves(row));
  }

  async check(): Promise<void> {
    this.step++;
    const { log, core } = this.world;
    this.naive = this.recomputed();
    const result = await audit(log, { dialect: core.dialect(), meter }, () => Promise.resolve());
    expect(result).toMatchObject({ ok: true, drift: [], seq: log.end() });
    this.checkClaims();
    this.checkCalls();
    for (const branch of this.naive.branches.values()) await this.checkBranch(branch.id);
    for (let again = 0; again < ASKED_AGAIN && this.past.length > 0; again++) {
      await this.checkPast(this.past[(this.step * 7 + again * 13) % this.past.length]!);
    }
  }

  async checkAllPast(): Promise<void> {
    for (const past of this.past) await this.checkPast(past);
  }

  private async checkPast({ branch, at, text }: Past): Promise<void> {
    const answer = await surfaceAnswer(this.world.core, branch, at).text();
    expect(answer, `the Surface of ${branch} at ${at}`).toBe(text);
  }

  /** A claim is open only while something runs for it, in the instance that took it. */
  private checkClaims(): void {
    const { log, operations } = this.world;
    expect(
      log
        .claims()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(this.naive.claims().sort());
    for (const { branch, epoch } of log.claims()) {
      const runs = operations.some((operation) => operation.branch === branch && operation.epoch === epoch);
      expect(runs, `something runs for the claim on ${branch}`).toBe(true);
    }
    for (const { id } of log.branches()) {
      const { head, tip, step, envelope, route } = log.branch(id)!;
      const naive = this.naive.branches.get(id)!;
      expect({ head, tip, step, envelope, route }).toEqual({
        head: naive.head,
        tip: naive.tip,
        step: naive.step,
        envelope: naive.envelope.hash,
        route: naive.route,
      });
    }
  }

  /** A summary request is a request like any other: legal, and with no thinking that its prefix does not carry. */
  private checkCalls(): void {
    for (const call of this.world.calls) {
      if (this.judged.has(call)) continue;
      this.judged.add(call);
      this.count("summary calls");
      const { dialect, provider, model } = call.upstream;
      const spans = pick(call.body, 0, ["system", "tools", "messages", "input"]);
      const raw = (key: "system" | "tools") =>
        spans[key] === undefined ? "" : textOf(call.body.subarray(spans[key].start, spans[key].end));
      const list = spans.messages ?? spans.input;
      const messages = [...elements(call.body, list!.start)].map(({ start, end }) =>
        call.body.subarray(start, end),
      );
      const route = `${provider}/${model}`;
      const sent = { dialect, route, system: raw("system"), tools: raw("tools"), messages };
      expect(violations(dialect, messages), "a summary request").toEqual([]);
      expect(thinkingFaults(sent, false), "thinking of a summary request").toEqual([]);
    }
  }

  private async checkBranch(id: number): Promise<void> {
    const { log, core } = this.world;
    const branch = log.branch(id)!;
    const items = this.naive.items(id);
    const gen = this.naive.standing(id).gen;
    const text = answerOf(gen, this.naive.render(items));
    expect(await surfaceAnswer(core, branch.name, undefined).text(), `the Surface of ${branch.name}`).toBe(
      text,
    );
    expect(log.state(inboxKey(id)) ?? []).toEqual(this.naive.branches.get(id)!.inbox);
    expect(surfaceWeight(log, branch.tip, log.view(branch.view))).toEqual(this.naive.weight(items));
    const route = core.settings().route;
    const { tokens, source } = currentPressure(core, branch);
    expect({ tokens, source }).toEqual(this.naive.pressure(id, route, routes[route!]!.ratio));
    this.checkLegal(items);
    this.checkUntorn(id);
    this.checkUnchanged(id, text);
    // What was never accepted is not shown again.
    if (branch.tip === branch.head) this.past.push({ branch: branch.name, at: log.end(), text });
  }

  /** Legal up to the group that is open at the head. */
  private checkLegal(items: readonly NaiveItem[]): void {
    const end = items.findLastIndex(({ open }) => open === 0) + 1;
    if (end === 0) return;
    const rendered = this.naive.render(items.slice(0, end));
    expect(violations(this.world.dialect, rendered)).toEqual([]);
  }

  /** A reply of Responses is several items in a row: a checkpoint takes all of them or none. */
  private checkUntorn(id: number): void {
    const { head, content } = this.naive.standing(id);
    if (this.world.dialect !== "openai-responses" || content.upto === 0) return;
    const path = this.naive.path(head);
    const cut = path.indexOf(content.upto);
    const [last, next] = [path[cut], path[cut + 1]].map((seq) => this.naive.nodes.get(seq ?? 0)?.role);
    expect(last === "assistant" && next === "assistant", `a reply of ${id} is torn`).toBe(false);
    this.count("checkpoints around whole replies");
  }

  /** What a branch shows changes with an event on it and no other way. */
  private checkUnchanged(id: number, text: string): void {
    const { log } = this.world;
    const before = this.shown.get(id);
    this.shown.set(id, { text, seen: log.end() });
    if (before === undefined || before.text === text) return;
    const since = log.read(before.seen, { limit: 10_000, maxBytes: Number.MAX_SAFE_INTEGER });
    expect(
      since.some((row) => row.branch === id),
      `an event on ${id}`,
    ).toBe(true);
  }

  /** Of the log as it stands at the end: what was reached at all. */
  tally(): void {
    const rows = this.world.log.read(0, { limit: 100_000, maxBytes: Number.MAX_SAFE_INTEGER });
    for (const { type, meta } of rows) {
      if (type === "compaction/end") this.count(`ended ${(meta as Meta<"compaction/end">).outcome}`);
      if (type === "surface/replace") this.count(`replaced by ${(meta as Meta<"surface/replace">).kind}`);
      if (type === "compaction/attempt")
        this.count(`attempt ${(meta as Meta<"compaction/attempt">).reason ?? "ok"}`);
    }
  }
}

function answerOf(generation: number, messages: readonly Uint8Array[]): string {
  return `{"generation":${generation},"messages":[${messages.map(textOf).join(",")}]}`;
}

/** Whether the event ends a step without a reply: what entered with it is on no branch any more. */
function leaves({ type, meta }: EventRow): boolean {
  if (type === "step/failed") return !(meta as Meta<"step/failed">).resend;
  return type === "step/aborted" || type === "step/cancelled";
}

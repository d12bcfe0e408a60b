/** Plays random deeds on a world: what a harness, a person, a provider and the platform may do, in any order. */
import { expect } from "vitest";
import { dialectOf } from "../../src/dialects/registry.ts";
import { append } from "../../src/session/append.ts";
import { openBranch } from "../../src/session/branches.ts";
import { configure } from "../../src/session/configure.ts";
import { cancel, compactManually, undoNewest } from "../../src/session/manual.ts";
import { recover } from "../../src/session/overflow.ts";
import { prepare } from "../../src/session/prepare.ts";
import { renderSurface } from "../../src/session/render.ts";
import { inProgress } from "../../src/session/steps.ts";
import type { NaiveBranch } from "../support/naive-types.ts";
import { sign } from "../support/requests.ts";
import { routes, type World } from "../support/world.ts";
import { modelAnswer, overflowReport } from "./answers.ts";
import { requestOf } from "./asked.ts";
import { envelopeOf, settingsOf } from "./choices.ts";
import type { Deed, Request } from "./deeds.ts";
import { isSending, OVERTAKEN, reported, Sender } from "./sender.ts";
import { items, raws, Speaker } from "./speaker.ts";
import { standing } from "./standing.ts";
import type { Watcher } from "./watcher.ts";

const MOST_BRANCHES = 6;

export class Player {
  readonly world: World;
  readonly watcher: Watcher;
  private readonly speaker: Speaker;
  private readonly requests: Request[] = [];
  private readonly sender: Sender;

  constructor(world: World, watcher: Watcher) {
    this.world = world;
    this.watcher = watcher;
    this.speaker = new Speaker(world.dialect);
    this.sender = new Sender(world, watcher, this.speaker);
  }

  async play(deed: Deed): Promise<void> {
    if (isSending(deed.do)) await this.sender[deed.do](deed, this.pick(deed.a));
    else await this[deed.do](deed);
  }

  private get naive() {
    return this.watcher.naive;
  }

  /** A branch: mostly the newest, which is the one in use. */
  private pick(a: number) {
    const all = [...this.naive.branches.values()];
    return (a < 60 ? all.at(-1) : all[a % all.length])!;
  }

  // --- deeds

  /** A few whole steps in a row, as a harness at work makes them. */
  private async work(deed: Deed): Promise<void> {
    for (let step = 0; step < 4; step++) {
      const a = deed.a < 60 ? 1 + 4 * step : deed.a;
      const next = { ...deed, a, b: (deed.b + 17 * step) % 100, size: deed.size + step };
      await this.prepare(next);
      for (let n = 0; this.world.operations.length > 0 && n < 8; n++) {
        if (this.world.calls.length > 0) await this.settle({ ...next, a: n });
        else await this.world.pass(1_000);
      }
      await this.watcher.check();
      await this.reply({ ...next, bits: deed.bits | 4, b: deed.b + step });
      await this.watcher.check();
    }
  }

  private behind(head: number) {
    return standing(this.world.log, dialectOf(this.world.dialect), this.naive.nodes, head);
  }

  private async append(deed: Deed): Promise<void> {
    const branch = this.pick(deed.a);
    const messages = this.speaker.batch(this.behind(branch.head), deed, false);
    const strict = (deed.bits & 64) !== 0;
    const list = items(messages, deed);
    const outcome = this.world.do((core) =>
      append(core, { branch: branch.name, items: list, strict, expect: branch.head }, () => undefined),
    );
    if (this.world.core.held.has(branch.id)) expect(outcome).toMatchObject({ ok: false, code: "busy" });
    else if (!outcome.ok) expect([strict, outcome.code]).toEqual([true, "open-calls"]);
  }

  private async prepare(deed: Deed): Promise<void> {
    const branch = this.pick(deed.a);
    const names = Object.keys(routes);
    const route = deed.size % 9 === 0 ? names[deed.b % names.length] : undefined;
    const envelope = envelopeOf(deed, branch.envelope.hash === "");
    const messages = raws(this.speaker.batch(this.behind(branch.head), deed, true), deed);
    const strict = (deed.bits & 240) === 240;
    const maxOutput = deed.size % 7 === 0 ? 300 : undefined;
    const request = { branch: branch.name, envelope, messages, route, maxOutput, strict };
    await this.world.start("prepare", branch.id, async (core) => {
      try {
        const prepared = await prepare(core, request, () => undefined);
        const sent = requestOf(this.world, branch.id, prepared);
        this.requests.push(sent);
        this.watcher.sent(sent, prepared.head, prepared.json);
      } catch (error) {
        this.watcher.refused("prepare", error, [
          "irreducible",
          "busy",
          "cancelled",
          ...(strict ? ["open-calls"] : []),
          ...OVERTAKEN,
        ]);
      }
    });
  }

  /** A request: mostly the newest of all. */
  private request({ a, b }: Deed): Request | undefined {
    return a < 80 ? this.requests.at(-1) : this.requests[b % Math.max(1, this.requests.length)];
  }

  private isBusy({ id, claim, step, stepDeadline }: NaiveBranch): boolean {
    return claim !== "" || this.world.core.held.has(id) || (step !== 0 && stepDeadline > this.world.clock);
  }

  /** What a reply or an end of a prepared step is refused with. */
  private answered(request: Request): string {
    if (this.world.core.held.has(request.branch)) return "busy";
    return this.inProgress(request) ? "" : "stale-head";
  }

  private inProgress({ branch, prepareId }: Request): boolean {
    const { step, stepDeadline, head } = this.naive.branches.get(branch)!;
    return `p${step}` === prepareId && stepDeadline > this.world.clock && head < step;
  }

  /** Ends a prepared step: refused exactly when it is not in progress, or the branch is not free. */
  private end(request: Request, list: ReturnType<typeof items>): void {
    const { prepareId, branch, route } = request;
    const { name } = this.naive.branches.get(branch)!;
    const expected = this.answered(request);
    const outcome = this.world.do((core) =>
      append(core, { branch: name, items: list, prepareId, strict: false }, () => undefined),
    );
    expect(outcome.ok ? "" : outcome.code, `the end of a step on ${route}`).toBe(expected);
  }

  private async reply(deed: Deed): Promise<void> {
    const request = this.request(deed);
    if (request === undefined) return;
    const thinks = request.dialect === "anthropic" && (deed.bits & 12) !== 0;
    const messages = this.speaker.reply(deed, thinks ? sign(request) : undefined);
    const usage = { type: "usage", usage: reported(this.naive, this.speaker, request, messages, deed) };
    this.end(request, items(messages, deed, (deed.bits & 48) === 48 ? [] : [usage]));
  }

  private async abort(deed: Deed): Promise<void> {
    const request = this.request(deed);
    if (request !== undefined) this.end(request, items([], deed, [{ type: "aborted" }]));
  }

  private async fork(deed: Deed): Promise<void> {
    if (this.naive.branches.size >= MOST_BRANCHES) return;
    const branch = this.pick(deed.a);
    const path = this.naive.path(branch.head);
    // A rewind by a few nodes, or any node of the session.
    const all = [...this.naive.nodes.keys()];
    const from = (deed.bits & 1) === 0 ? path.at(-1 - (deed.b % 8)) : all[deed.b % Math.max(1, all.length)];
    const parent = path.includes(from ?? 0) && (deed.bits & 2) === 0 ? branch.name : null;
    const lies = [...this.naive.branches.values()].some(({ head }) =>
      this.naive.path(head).includes(from ?? 0),
    );
    const outcome = this.world.do((core) => openBranch(core, from ?? 0, undefined, parent));
    expect(outcome.ok ? "" : outcome.code).toBe(from === undefined || lies ? "" : "unknown-node");
  }

  private async manual(deed: Deed): Promise<void> {
    const branch = this.pick(deed.a);
    const busy = this.isBusy(branch);
    await this.world.start("manual", branch.id, async (core) => {
      try {
        const outcome = await compactManually(core, branch.name, this.speaker.name());
        expect(busy).toBe(false);
        if (outcome.summarySeq !== undefined) this.watcher.count("manual summaries");
      } catch (error) {
        this.watcher.refused("manual", error, busy ? ["busy"] : ["cancelled", "surface-changed", "summary"]);
      }
    });
  }

  private async undo(deed: Deed): Promise<void> {
    const branch = this.pick(deed.a);
    const busy = this.isBusy(branch);
    const newest = this.naive.undoable(branch.id);
    const outcome = this.world.do((core) => undoNewest(core, branch.name));
    if (!outcome.ok)
      expect([outcome.code, busy || newest === undefined]).toEqual([busy ? "busy" : "nothing-to-undo", true]);
    else {
      expect(outcome.value.compactionId).toBe(newest);
      this.watcher.count("undos");
    }
  }

  private async cancel(deed: Deed): Promise<void> {
    const branch = this.pick(deed.a);
    const outcome = this.world.do((core) => cancel(core, branch.name));
    const open = (branch.claim === "" ? 0 : 1) + (branch.step === 0 ? 0 : 1);
    expect(outcome.ok && (outcome.value.cancelled as unknown[]).length).toBe(open);
    await this.world.rest();
  }

  private async overflow(deed: Deed): Promise<void> {
    const request = this.request(deed);
    if (request === undefined) return;
    const { name } = this.naive.branches.get(request.branch)!;
    const expected = this.inProgress(request);
    const counted = request.messages.reduce((sum, bytes) => sum + this.naive.price(bytes), 0);
    const report = { branch: name, prepareId: request.prepareId, ...overflowReport(request, counted, deed) };
    await this.world.start("overflow", request.branch, async (core) => {
      try {
        const recovery = await recover(core, report);
        if (recovery.action === "none") return;
        const { head, view } = recovery;
        request.messages = renderSurface(
          this.world.log,
          core.dialect(),
          head,
          view === 0 ? undefined : this.world.log.view(view),
        );
        this.watcher.count("overflow retries");
        this.watcher.sent(request, head, undefined);
      } catch (error) {
        this.watcher.refused("overflow", error, expected ? ["irreducible"] : ["stale-head"]);
      }
    });
  }

  private async configure(deed: Deed): Promise<void> {
    const outcome = this.world.do((core) => configure(core, settingsOf(deed)));
    expect(outcome).toEqual({ ok: true, value: false });
  }

  private async restart(): Promise<void> {
    if (this.world.calls.length > 0) this.watcher.count("restarts inside a call");
    this.world.restart();
    for (const branch of this.world.log.branches()) expect(branch.claim).toBe("");
  }

  /** A compaction that is stopped, or whose object dies, while its model writes; the reply comes all the same. */
  private async brokenOff(deed: Deed): Promise<void> {
    if ((deed.bits & 1) === 0) await this.manual(deed);
    else await this.prepare(deed);
    await this.watcher.check();
    if ((deed.bits & 2) === 0) await this.restart();
    else await this.cancel(deed);
    await this.watcher.check();
    await this.settle({ ...deed, b: deed.b | 1 });
  }

  private async pass(deed: Deed): Promise<void> {
    await this.world.pass([1_000, 30_000, 80_000, 1_000_000][deed.b % 4]!);
    const open = this.world.log.branches().filter((branch) => inProgress(branch, this.world.clock));
    expect(this.world.log.branches().filter(({ step }) => step !== 0)).toEqual(open);
  }

  private async settle(deed: Deed): Promise<void> {
    const { calls } = this.world;
    const call = calls[deed.a % Math.max(1, calls.length)];
    if (call === undefined) return;
    const { epoch } = this.world.core.parts;
    if (call.epoch !== epoch) this.watcher.count("late replies after a restart");
    if (call.signal.aborted) this.watcher.count("late replies after a cancel");
    await this.world.settle(call, modelAnswer(deed, call.signal.aborted, this.speaker.name()));
  }

  /** What must be refused, and leave no trace. */
  private async illegal(deed: Deed): Promise<void> {
    const branch = this.pick(deed.a);
    const { log } = this.world;
    const end = log.end();
    const orphan = this.speaker.talk.results(["call_0"], "lost", { joined: true, media: false, says: false });
    const say = (list: ReturnType<typeof items>, prepareId?: string) =>
      this.world.do((core) =>
        append(core, { branch: branch.name, items: list, prepareId, strict: false }, () => undefined),
      );
    const tries = [
      () => say(items(orphan, deed)),
      () => say(items([this.speaker.talk.user("x")], deed), "p999999"),
      () => say(items([{ role: "nobody", content: "x" }], deed)),
      () => say(items([], deed, [{ type: "aborted" }])),
      () => this.world.do((core) => openBranch(core, end + 5, undefined, null)),
      () => this.world.do((core) => openBranch(core, branch.head, branch.name, null)),
    ];
    const outcome = tries[deed.b % tries.length]!();
    expect([outcome.ok, log.end()]).toEqual([false, end]);
  }
}

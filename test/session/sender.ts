/** Steps that the object itself sends, in a random session: what is claimed, told and accepted with a reply, and with a failure not. */
import { expect } from "vitest";
import { usageOf } from "../../src/providers/usage.ts";
import type { Core } from "../../src/session/core.ts";
import { claimable, claimed, enqueue, waitingRaws } from "../../src/session/inbox.ts";
import { ingest } from "../../src/session/ingest.ts";
import { giveUp, landReply } from "../../src/session/outbound/reply.ts";
import { prepare } from "../../src/session/prepare.ts";
import { inProgress } from "../../src/session/steps.ts";
import { closeLeftovers } from "../../src/session/upkeep.ts";
import type { Naive } from "../support/naive.ts";
import type { NaiveBranch } from "../support/naive-types.ts";
import { sign } from "../support/requests.ts";
import { bytesOf } from "../support/talk.ts";
import { routes, type World } from "../support/world.ts";
import { requestOf } from "./asked.ts";
import { envelopeOf } from "./choices.ts";
import type { Deed, Request } from "./deeds.ts";
import { raws, type Speaker } from "./speaker.ts";
import { standing } from "./standing.ts";
import type { Watcher } from "./watcher.ts";

const sending = ["enqueue", "dispatch", "land", "fail"] as const;
type Sending = (typeof sending)[number];

export function isSending(what: string): what is Sending {
  return (sending as readonly string[]).includes(what);
}

/** What a batch is refused with when the conversation went on while it waited. */
export const OVERTAKEN = ["result-without-call", "late-result", "bad-message"];

/** What the provider counts: near the price times the route's true ratio. */
export function reported(
  naive: Naive,
  { talk }: Speaker,
  request: Request,
  messages: readonly object[],
  deed: Deed,
): object {
  const { price } = naive.branches.get(request.branch)!.envelope;
  const ratio = routes[request.route]!.ratio * (0.97 + (deed.b % 7) / 100);
  const counted = request.messages.reduce((sum, bytes) => sum + naive.price(bytes), price);
  const output = messages.reduce((sum, one) => sum + naive.price(bytesOf(one, false)), 0);
  return talk.usage(Math.ceil(counted * ratio), Math.ceil(output * ratio));
}

/** A step that is on its way. */
interface Flight {
  core: Core;
  step: number;
  request: Request;
  claims: number[];
}

export class Sender {
  private readonly world: World;
  private readonly watcher: Watcher;
  private readonly speaker: Speaker;
  private readonly flights: Flight[] = [];

  constructor(world: World, watcher: Watcher, speaker: Speaker) {
    this.world = world;
    this.watcher = watcher;
    this.speaker = speaker;
  }

  async enqueue(_: Deed, { name }: NaiveBranch): Promise<void> {
    const text = `note ${this.speaker.name()}`;
    expect(this.world.do((core) => enqueue(core, name, { text }, () => undefined)).ok).toBe(true);
  }

  /** A step that the object itself sends, as far as its request. */
  async dispatch(deed: Deed, branch: NaiveBranch): Promise<void> {
    const { core, log } = this.world;
    if (core.held.has(branch.id) || inProgress(log.branch(branch.id)!, this.world.clock)) return;
    const head = standing(log, core.dialect(), this.watcher.naive.nodes, branch.head);
    const own = raws(this.speaker.batch(head, deed, true), deed);
    const claims = claimable(core, log.branch(branch.id)!, own);
    const messages = [...own, ...waitingRaws(core, claims)];
    const contexts = [undefined, null, "mode one", "mode two"];
    const runtimeContext = contexts[deed.b % contexts.length];
    const envelope = envelopeOf(deed, branch.envelope.hash === "");
    core.held.add(branch.id);
    await this.world.start("dispatch", branch.id, async (own) => {
      try {
        const before = log.branch(branch.id)!;
        const rules = { strict: false, sends: true };
        const ingested = ingest(own.ground(branch.id), before, messages, rules);
        const dispatch = { keys: [], reused: [], ingested, request: () => undefined };
        const asked = { branch: branch.name, envelope, messages, strict: false, runtimeContext, dispatch };
        const prepared = await prepare(own, asked, () => undefined);
        const request = requestOf(this.world, branch.id, prepared);
        this.watcher.sent(request, prepared.head, prepared.json);
        this.watcher.count("dispatched");
        // An instance that is gone writes nothing: what it wrote here it wrote before the next one opened the log.
        if (own !== this.world.core) closeLeftovers(this.world.core);
        this.flights.push({ core: own, step: prepared.step, request, claims });
      } catch (error) {
        own.held.delete(branch.id);
        this.watcher.refused("dispatch", error, ["irreducible", "busy", "cancelled", ...OVERTAKEN]);
      }
    });
  }

  /** A dispatched step that is still running, and of this instance. */
  private flight(): Flight | undefined {
    const { core, log } = this.world;
    const flight = this.flights.pop();
    if (flight === undefined || flight.core !== core) return undefined;
    core.held.delete(flight.request.branch);
    return log.branch(flight.request.branch)!.step === flight.step ? flight : undefined;
  }

  async land(deed: Deed): Promise<void> {
    const flight = this.flight();
    if (flight === undefined) return;
    const { request, claims } = flight;
    const thinks = request.dialect === "anthropic" && (deed.bits & 12) !== 0;
    const messages = this.speaker.reply(deed, thinks ? sign(request) : undefined);
    const usage = usageOf(
      request.dialect,
      reported(this.watcher.naive, this.speaker, request, messages, deed),
    );
    const choices = [{ raws: raws(messages, deed), keys: [] }];
    const outcome = this.world.do((core) =>
      landReply(core, request.branch, {
        choices,
        usage,
        told: {},
        also: claimed(core, request.branch, claims),
      }),
    );
    expect(outcome).toEqual({ ok: true, value: undefined });
    this.watcher.count("landed");
  }

  async fail(): Promise<void> {
    const flight = this.flight();
    if (flight === undefined) return;
    const meta = { reason: "refused", status: 400 };
    this.world.do((core) => giveUp(core, flight.request.branch, { type: "step/failed", meta }));
    this.watcher.count("failed");
  }
}

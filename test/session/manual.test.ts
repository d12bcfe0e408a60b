/** `POST /compact`, its plan, undo and cancel: what a person asks of a session. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import { calls, checkRigs, openRig, type Rig, reply, result, said, user, words } from "../support/rig.ts";

afterEach(checkRigs);

interface Compacted {
  compactionId: string;
  commandId: string;
  summarySeq: number;
  shadowed: { items: number; tokens: number };
  generation: number;
  outcome?: string;
}
interface Plan {
  outcome: string;
  span: { from: number; to: number; count: number; tokens: number } | null;
  prunes: number[];
  retained: number;
}

const compact = (rig: Rig) => rig.session.expect<Compacted>(200, "POST", "/compact");
const plan = (rig: Rig) => rig.session.expect<Plan>(200, "POST", "/compact?plan=true");
const started = (rig: Rig) => expect.poll(async () => await rig.types()).toContain("compaction/start");

describe("success", () => {
  it("[T20] [DSH-178] [PI-029] [CF-003] makes one checkpoint of all but the newest unit, needs no step and makes none", async () => {
    const rig = await openRig();
    const { seqs } = await rig.say(user("first ask"), reply(words(300)), user(words(300)), reply("newest"));
    const outcome = await compact(rig);
    expect(outcome).toMatchObject({ shadowed: { items: 3 }, generation: 1 });
    expect(await rig.bodies("step/start")).toEqual([]);
    const [checkpoint, ...tail] = await rig.surface();
    expect(tail).toEqual([reply("newest")]);
    expect(String(checkpoint!.content)).toMatch(/^<compacted-summary by="fake\/gpt-x"/);
    const { checkpoints } = await rig.session.expect<{ checkpoints: object[] }>(200, "GET", "/checkpoints");
    expect(checkpoints).toHaveLength(1);
    expect(checkpoints[0]).toMatchObject({
      seq: outcome.summarySeq,
      span: { from: seqs[0], to: seqs[2], count: 3 },
    });
  });

  it("[T20] [DSH-187] [OC-015] tells how many items and tokens stand behind the summary, and under which command", async () => {
    const rig = await openRig();
    await rig.say(user(words(300)), reply(words(300)), user("go"));
    const events = await rig.events();
    const price = events.slice(-3, -1).reduce((sum, event) => sum + (event.price ?? 0), 0);
    const response = await rig.session.request("POST", "/compact", undefined, { "idempotency-key": "cmd-7" });
    const outcome = await response.json<Compacted>();
    expect(outcome).toMatchObject({ commandId: "cmd-7", shadowed: { items: 2, tokens: price } });
    expect((await rig.bodies("compaction/start"))[0]).toMatchObject({
      command: "cmd-7",
      compaction: outcome.compactionId,
    });
    const again = await rig.session.request("POST", "/compact", undefined, { "idempotency-key": "cmd-7" });
    expect(await again.json()).toEqual(outcome);
    expect(rig.provider.requests).toHaveLength(1);
  });

  it("[T20] [CDX-001] [OC-031] asks with the session's own envelope and the span alone, the directive last", async () => {
    const rig = await openRig();
    const tools = [{ type: "function", function: { name: "read", parameters: {} } }];
    const { prepareId } = await rig.prepare([user(words(300))], { system: "be kind", tools });
    await rig.append([said(reply(words(300)))], { prepareId });
    await rig.say(user("kept"));
    await compact(rig);
    const body = rig.provider.requests[0]!.body as { messages: Record<string, unknown>[]; tools: unknown };
    expect(body.tools).toEqual(tools);
    expect(body.messages.slice(0, -1)).toEqual([
      { role: "system", content: "be kind" },
      user(words(300)),
      reply(words(300)),
    ]);
    expect(body.messages.at(-1)!.role).toBe("user");
    expect(JSON.stringify(body)).not.toContain("kept");
    expect(JSON.stringify(await rig.surface())).not.toContain("## Open work");
  });

  it("[T20] [CDX-002] the policy's own instructions go into the directive", async () => {
    const rig = await openRig({ policy: { summary: { instructions: "Mention the harbour." } } });
    await rig.say(user(words(300)), reply(words(300)), user("kept"));
    await compact(rig);
    expect(JSON.stringify(rig.provider.requests[0]!.body)).toContain("Mention the harbour.");
  });

  it("[T20] [DSH-093] [DSH-089] a session without a route is summarized on the policy's route", async () => {
    const policy = { summary: { route: "fake/writer", maxTokens: 321 } };
    const rig = await openRig({ route: null, policy });
    await rig.say(user(words(300)), reply(words(300)), user("kept"));
    await compact(rig);
    expect(rig.provider.requests[0]!.body).toMatchObject({ model: "writer" });
    const [summary] = await rig.bodies("compaction/summary");
    expect(summary).toMatchObject({
      by: "fake/writer",
      evidence: { model: "writer-0001", shape: "transcript" },
    });
  });

  it("[T20] [PI-037] without a route, a key or a provider code writes it: the main job works with no key", async () => {
    const rig = await openRig({ route: null, provider: false });
    await rig.say(user(words(300)), reply(words(300)), user("kept"));
    expect((await compact(rig)).generation).toBe(1);
    expect((await rig.bodies("compaction/summary"))[0]).toMatchObject({ by: "extractive" });
  });

  it("[T20] [DSH-185] [CDX-003] the log tells when it began and ended, and what it weighed before and after", async () => {
    const rig = await openRig();
    await rig.say(user(words(300)), reply(words(300)), user("kept"));
    const release = rig.hold();
    const running = compact(rig);
    setTimeout(release, 20);
    await running;
    const events = await rig.events();
    const at = (type: string) => events.find((event) => event.type === type)!.at;
    expect(at("compaction/end") - at("compaction/start")).toBeGreaterThanOrEqual(10);
    const [end] = await rig.bodies("compaction/end");
    expect(end!.tokensAfter as number).toBeLessThan(end!.tokensBefore as number);
    expect(end!.tokensAfter).toBeGreaterThan(0);
  });
});

describe("nothing to do", () => {
  it.each([
    ["[DSH-109] [GEM-006] an empty session", []],
    ["[KIMI-027] [PI-008] a single message", [user(words(300))]],
    ["[CF-002] two messages of one unit each, where only one is old", [user(words(300)), reply("yes")]],
    ["one call group", [calls(["a"]), result("a", words(300))]],
  ])("[T21] %s: 200, nothing written, nobody called", async (_, messages) => {
    const rig = await openRig();
    if (messages.length > 0) await rig.say(...messages);
    const end = (await rig.events()).length;
    expect(await compact(rig)).toMatchObject({ outcome: "nothing", generation: 0 });
    expect(await plan(rig)).toEqual({
      outcome: "nothing",
      span: null,
      prunes: [],
      retained: messages.length,
    });
    expect(await rig.events()).toHaveLength(end);
    expect(rig.provider.requests).toHaveLength(0);
  });

  it("[T21] a checkpoint alone with the newest unit", async () => {
    const rig = await openRig();
    await rig.turns(5);
    await compact(rig);
    expect(await compact(rig)).toMatchObject({ outcome: "nothing", generation: 1 });
  });
});

describe("busy", () => {
  it("[T22] [DSH-165] [KIMI-025] while a step is in progress, and not after it", async () => {
    const rig = await openRig();
    await rig.turns(3);
    const { prepareId } = await rig.prepare([user("ask")]);
    expect(await rig.refused("POST", "/compact")).toMatchObject({ code: "busy", status: 409 });
    expect(await rig.refused("POST", "/compact/undo")).toMatchObject({ code: "busy" });
    expect(rig.provider.requests).toHaveLength(0);
    await rig.append([said(reply("answer"))], { prepareId });
    expect((await compact(rig)).generation).toBe(1);
  });

  it("[T22] [DSH-169] [DSH-186] [PI-031] [PI-032] while another compaction runs, which is left alone", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const release = rig.hold();
    const first = compact(rig);
    await started(rig);
    expect(await rig.refused("POST", "/compact")).toMatchObject({ code: "busy", status: 409 });
    expect(await rig.refused("POST", "/compact/undo")).toMatchObject({ code: "busy", status: 409 });
    release();
    expect((await first).generation).toBe(1);
    expect(rig.provider.requests).toHaveLength(1);
    expect(await rig.bodies("compaction/start")).toHaveLength(1);
  });

  it("[T22] [DSH-123] [DSH-125] re-based: a compaction of an instance that is gone is closed on first touch", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const release = rig.hold();
    const lost = compact(rig).catch(() => "lost");
    await started(rig);
    // Never answered: the object is gone before it could.
    runInDurableObject(rig.session.stub(), (_, state) => state.abort("gone")).catch(() => {});
    expect(await lost).toBe("lost");
    const state = await rig.session.expect<{ running: unknown[] }>(200, "GET", "/");
    expect(state.running).toEqual([]);
    expect(await rig.bodies("compaction/end")).toMatchObject([{ outcome: "interrupted", progress: false }]);
    release();
    await rig.plug();
    expect((await compact(rig)).generation).toBe(1);
  });
});

describe("the plan", () => {
  it("[T23] tells what would go and what would stay, and changes nothing", async () => {
    const rig = await openRig({ policy: { prune: { over: 400, head: 100, tail: 50 } } });
    const { seqs } = await rig.say(
      user("a"),
      calls(["c1"]),
      result("c1", words(400)),
      user("b"),
      reply("newest"),
    );
    const end = (await rig.events()).length;
    const made = await plan(rig);
    expect(made).toMatchObject({
      outcome: "compact",
      span: { from: seqs[0], to: seqs[3], count: 4 },
      prunes: [seqs[2]],
      retained: 1,
    });
    expect(await rig.events()).toHaveLength(end);
    const { shadowed } = await compact(rig);
    expect(shadowed).toEqual({ items: made.span!.count, tokens: made.span!.tokens });
  });
});

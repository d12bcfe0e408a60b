/** `PUT /` and what can be read of a session: settings, state, checkpoints, undo, moments. */
import { afterEach, describe, expect, it } from "vitest";
import { sessionClient } from "../support/client.ts";
import {
  capacity,
  checkRigs,
  openRig,
  type Problem,
  type Rig,
  ROUTE,
  reply,
  user,
  words,
} from "../support/rig.ts";

afterEach(checkRigs);

interface State {
  head: number;
  generation: number;
  branch: string;
  dialect: string;
  route: string | null;
  policy: Record<string, unknown>;
  metadata: object;
  pressure: { tokens: number; source: string };
  usage: object | null;
  running: object[];
}
const state = (rig: Rig) => rig.session.expect<State>(200, "GET", "/");

describe("settings", () => {
  it("[G22] [DSH-037] [DSH-201] a new session has nothing: no pressure, no usage, generation 0", async () => {
    const rig = await openRig();
    expect(await state(rig)).toMatchObject({
      head: 0,
      generation: 0,
      branch: "main",
      dialect: "openai-chat",
      route: ROUTE,
      metadata: {},
      pressure: { tokens: 0, source: "estimate" },
      usage: null,
      running: [],
    });
  });

  it("[G22] [DSH-001] shows the policy in force, whole", async () => {
    const rig = await openRig({ env: { POLICY: { thresholdRatio: 0.7 } }, policy: { retainTokens: 70 } });
    await rig.session.expect(200, "PUT", "/", { metadata: {} });
    const { policy } = await state(rig);
    expect(policy).toMatchObject({ auto: true, retainTokens: 70, compactionRetries: 1 });
    expect(policy).not.toHaveProperty("retainRatio");
    expect(
      (await rig.session.expect<State>(200, "PUT", "/", { policy: { auto: false } })).policy,
    ).toMatchObject({ auto: false, thresholdRatio: 0.7 });
  });

  it("[G22] given keys replace, absent keys stay, and a change is one event", async () => {
    const rig = await openRig({ policy: { retainRatio: 0.3 } });
    await rig.session.expect(200, "PUT", "/", { policy: { retainTokens: 9 }, metadata: { who: "me" } });
    await rig.session.expect(200, "PUT", "/", { route: null });
    const [, , last] = await rig.bodies("session/configured");
    expect(last).toMatchObject({
      route: null,
      capacity,
      policy: { retainTokens: 9 },
      metadata: { who: "me" },
    });
    expect(last!.policy).not.toHaveProperty("retainRatio");
    await rig.session.expect(200, "PUT", "/", {});
    await rig.session.expect(200, "PUT", "/", { route: null });
    expect(await rig.bodies("session/configured")).toHaveLength(3);
  });

  it("[G22] [DSH-024] [DSH-204] the window is the session's own, then the route's; it disappears where nobody knows it", async () => {
    const env = { ROUTES: { "known/m": { window: 64_000 } } };
    const rig = await openRig({ env, capacity: {}, route: "nobody/knows" });
    const budget = async () =>
      (await rig.session.expect<{ budget: Record<string, unknown> }>(200, "GET", "/pressure")).budget;
    expect(await budget()).toEqual({ window: null, ceiling: null, threshold: null, source: "unknown" });
    await rig.session.expect(200, "PUT", "/", { route: "known/m" });
    expect(await budget()).toMatchObject({ window: 64_000, source: "config" });
    await rig.session.expect(200, "PUT", "/", { capacity: { window: 256_000 } });
    expect(await budget()).toMatchObject({ window: 256_000, source: "config" });
    await rig.session.expect(200, "PUT", "/", { route: "nobody/else" });
    expect(await budget()).toMatchObject({ window: 256_000 });
  });

  it("[G22] the dialect is fixed from the first message on, and a new session needs one", async () => {
    const rig = await openRig();
    const put = (dialect: string) => rig.session.expect<State>(200, "PUT", "/", { dialect });
    expect((await put("anthropic")).dialect).toBe("anthropic");
    expect((await put("openai-chat")).dialect).toBe("openai-chat");
    await rig.say(user("a"));
    expect(await rig.refused("PUT", "/", { dialect: "anthropic" })).toMatchObject({
      code: "dialect-fixed",
      status: 409,
      at: "dialect",
    });
    await put("openai-chat");
    const fresh = sessionClient();
    const response = await fresh.request("PUT", "/", {});
    expect([response.status, (await response.json<Problem>()).at]).toEqual([400, "dialect"]);
    expect((await fresh.request("GET", "/")).status).toBe(404);
  });
});

const faults: [string, object, string][] = [
  ["[DSH-018] a window of no tokens", { capacity: { window: 0 } }, "capacity.window"],
  ["[DSH-018] half a token", { capacity: { window: 1.5 } }, "capacity.window"],
  ["[DSH-016] a misspelled policy key", { policy: { thresholdRato: 0.8 } }, "policy.thresholdRato"],
  ["a policy key of a later release", { policy: { softRatio: 0.6 } }, "policy.softRatio"],
  ["a misspelled key", { polcy: {} }, "polcy"],
  [
    "[DSH-012] both ways to retain",
    { policy: { retainRatio: 0.2, retainTokens: 100 } },
    "policy.retainTokens",
  ],
  [
    "[DSH-020] a prune that would be pruned again",
    { policy: { prune: { over: 300, head: 100, tail: 100 } } },
    "policy.prune.over",
  ],
  ["[DSH-008] half a route", { route: "gpt-x" }, "route"],
  ["an unknown dialect", { dialect: "telex" }, "dialect"],
  ["metadata that is no object", { metadata: [1] }, "metadata"],
];
describe("settings that are refused", () => {
  it.each(faults)("[G22] %s, by its place; nothing is written", async (_, body, at) => {
    const rig = await openRig();
    const end = (await rig.events()).length;
    expect(await rig.refused("PUT", "/", body)).toMatchObject({ code: "bad-request", status: 400, at });
    expect(await rig.events()).toHaveLength(end);
  });

  it("[G22] metadata over 64 KiB", async () => {
    const rig = await openRig();
    expect(await rig.refused("PUT", "/", { metadata: { a: "x".repeat(70_000) } })).toMatchObject({
      code: "too-large",
      status: 413,
      at: "metadata",
    });
  });
});

describe("moments and checkpoints", () => {
  it("[B20] [PI-013] [PI-014] [CF-004] [CF-005] [CF-007] [OH-019] the Surface before a compaction is what it was then, after it the newest one's", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const moments: [number, object[]][] = [];
    const note = async () => void moments.push([(await rig.events()).at(-1)!.seq, await rig.surface()]);
    await note();
    await rig.session.expect(200, "POST", "/compact");
    await note();
    await rig.session.expect(200, "PUT", "/", { route: "fake/gpt-y" });
    await rig.turns(3);
    await note();
    await rig.session.expect(200, "POST", "/compact");
    await note();
    await rig.session.expect(200, "POST", "/compact/undo");
    for (const [at, shown] of moments) expect(await rig.surface(at)).toEqual(shown);
    expect(moments.map(([, shown]) => shown.length)).toEqual([10, 2, 8, 2]);
    expect(await rig.surface()).toEqual(moments[2]![1]);
  });

  it("[T37] undo is last in, first out, and then there is nothing to undo", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const before = await rig.surface();
    const { compactionId } = await rig.session.expect<{ compactionId: string }>(200, "POST", "/compact");
    expect(await rig.session.expect(200, "POST", "/compact/undo")).toEqual({ compactionId, generation: 2 });
    expect(await rig.surface()).toEqual(before);
    expect(await rig.refused("POST", "/compact/undo")).toMatchObject({
      code: "nothing-to-undo",
      status: 409,
    });
  });

  it("[C38] [DSH-104] a checkpoint shows text, span, facts and evidence, and nothing that is none", async () => {
    const rig = await openRig();
    await rig.say(user("build the harbour"), reply(words(300)), user("next"), reply("ok"));
    rig.provider.will({
      do: "reply",
      text: "The harbour stands.",
      usage: { input: 40, output: 5, cacheRead: 0, cacheWrite: 0 },
    });
    const { summarySeq } = await rig.session.expect<{ summarySeq: number }>(200, "POST", "/compact");
    const shown = await rig.session.expect<Record<string, unknown>>(200, "GET", `/checkpoints/${summarySeq}`);
    expect(shown).toMatchObject({
      text: "The harbour stands.",
      by: ROUTE,
      span: { count: 3 },
      evidence: { usage: { input: 40, output: 5 }, model: "gpt-x-0001", requestId: "req_strict" },
      message: (await rig.surface())[0],
    });
    expect(String((shown.message as { content: string }).content)).toContain("build the harbour");
    for (const other of [1, 4, 9_999]) {
      expect(await rig.refused("GET", `/checkpoints/${other}`)).toMatchObject({
        code: "unknown-checkpoint",
        status: 404,
      });
    }
  });

  it("[M22] [DSH-212] the shadow price is what the view leaves out and puts in its place", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const before = (await rig.pressure()).surface;
    const { shadowed } = await rig.session.expect<{ shadowed: { tokens: number } }>(200, "POST", "/compact");
    const { shadow, pressure } = await rig.session.expect<{
      shadow: Record<string, number>;
      pressure: { surface: number };
    }>(200, "GET", "/pressure");
    expect(shadow).toMatchObject({ generation: 1, shadowedTokens: shadowed.tokens });
    expect(pressure.surface).toBe(before - shadow.shadowedTokens! + shadow.insertedTokens!);
  });
});

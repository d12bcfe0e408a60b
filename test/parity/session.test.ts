/** Peers' cases about whole sessions, through the Worker: triggers, switches, sockets. */
import { afterEach, describe, expect, it } from "vitest";
import { overflowRefusal } from "../../cli/loop/checks.ts";
import { checkRigs, openRig, reply, said, usage, user, words } from "../support/rig.ts";

afterEach(checkRigs);

const report = (numbers: { limit: number; input: number }) => {
  const { status, body } = overflowRefusal("openai-chat", numbers);
  return { status, body };
};

describe("triggers", () => {
  it("[T28] [PI-040] [CF-043] [CF-045] [CF-049] manual, pressure and overflow are told in start and end; only overflow re-sends", async () => {
    const rig = await openRig();
    await rig.turns(5);
    await rig.session.expect(200, "POST", "/compact");
    await rig.turns(40);
    const { prepareId } = await rig.prepare([user("ask")]);
    await rig.session.expect(200, "POST", "/overflow", {
      prepareId,
      ...report({ limit: 1_900, input: 3_000 }),
    });
    await rig.append([said(reply("told"))], { prepareId });
    const triggers = ["manual", "pressure", "overflow"];
    expect((await rig.bodies("compaction/start")).map(({ trigger }) => trigger)).toEqual(triggers);
    expect((await rig.bodies("compaction/end")).map(({ trigger, outcome }) => [trigger, outcome])).toEqual(
      triggers.map((one) => [one, "done"]),
    );
    expect(await rig.bodies("step/failed")).toMatchObject([{ reason: "overflow", resend: true }]);
    expect((await rig.surface()).filter(({ content }) => content === "told")).toHaveLength(1);
  });

  it("[O21] [CF-046] a reported usage over the budget compacts before the next step, and no refusal is ever needed", async () => {
    const rig = await openRig();
    await rig.turns(20);
    const one = await rig.prepare([user("a")]);
    await rig.append([said(reply("b")), usage(8_100, 5)], { prepareId: one.prepareId });
    const two = await rig.prepare([user("c")]);
    expect(two.compaction).toMatchObject({ trigger: "pressure", outcome: "done" });
    expect(await rig.bodies("step/failed")).toEqual([]);
  });
});

describe("a switch to a smaller window", () => {
  const env = {
    ROUTES: {
      "fake/large-1": { window: 100_000, ratio: 1 },
      "fake/small-1": { window: 11_000, maxOutput: 1_000, ratio: 1 },
    },
  };

  async function onLarge() {
    const rig = await openRig({ route: "fake/large-1", capacity: {}, env });
    await rig.turns(50);
    const { prepareId } = await rig.prepare([user("a")]);
    await rig.append([said(reply("b")), usage(10_200, 5)], { prepareId });
    return rig;
  }

  it("[C28] [CDX-008] is summarized by the model that has it in its cache; the request goes to the new one", async () => {
    const rig = await onLarge();
    const { compaction, messages } = await rig.prepare([user("c")], { route: "fake/small-1" });
    expect(compaction).toMatchObject({ outcome: "done", rungs: ["summary"] });
    expect(rig.provider.requests.map(({ body }) => body!.model)).toEqual(["large-1"]);
    expect((await rig.bodies("compaction/summary"))[0]).toMatchObject({
      by: "fake/large-1",
      evidence: { shape: "conversation" },
    });
    expect(messages.at(-1)).toEqual(user("c"));
    expect((await rig.bodies("step/start")).map(({ route }) => route)).toEqual([
      "fake/large-1",
      "fake/small-1",
    ]);
  });

  it("[C28] [CDX-009] re-based: where the old model is gone code writes, and the request goes out all the same", async () => {
    const rig = await onLarge();
    rig.provider.will({
      do: "refuse",
      status: 404,
      body: { error: { message: "no such model", type: "invalid_request_error" } },
    });
    const { compaction } = await rig.prepare([user("c")], { route: "fake/small-1" });
    expect(compaction).toMatchObject({ outcome: "done", rungs: ["extractive"] });
  });

  it("[C28] back to a larger one nothing is compacted, and the session's own route is its own again", async () => {
    const rig = await openRig({ route: "fake/small-1", capacity: {}, env });
    await rig.turns(20);
    await rig.prepare([user("a")]);
    expect((await rig.prepare([user("b")], { route: "fake/large-1" })).compaction).toBeNull();
  });
});

it("[C29] [KIMI-046] re-based: system and tools stay the client's own through a compaction, for the summary too", async () => {
  const rig = await openRig();
  await rig.turns(30);
  const system = words(100);
  await rig.prepare([user("a")], { system });
  await rig.turns(10);
  const { system: answered, compaction } = await rig.prepare([user("b")]);
  expect(compaction).toMatchObject({ outcome: "done" });
  expect(answered).toBe(system);
  const [first] = rig.provider.requests[0]!.body!.messages as object[];
  expect(first).toEqual({ role: "system", content: system });
  expect(await rig.bodies("request/header")).toHaveLength(1);
});

it("[W20] [CF-024] a connected client sees a compaction begin and end, with what it weighed before and after", async () => {
  const rig = await openRig();
  await rig.turns(5);
  const socket = await rig.session.live();
  await socket.until((frame) => frame.type === "ready");
  await rig.session.expect(200, "POST", "/compact");
  await socket.until((frame) => frame.event?.type === "compaction/end");
  const seen = socket.frames.flatMap(({ event }) => (event?.type.startsWith("compaction/") ? [event] : []));
  expect(seen.map(({ type }) => type)).toEqual(["compaction/start", "compaction/summary", "compaction/end"]);
  const [start, , end] = seen.map(({ body }) => body as Record<string, number>);
  expect(start!.tokens).toBeGreaterThan(0);
  expect(end!.tokensBefore).toBe(start!.tokens);
  expect(end!.tokensAfter).toBeLessThan(start!.tokens!);
  socket.close();
});

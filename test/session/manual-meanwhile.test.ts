/** What may happen while a summary is written, and what is told of it: appends, forks, cancels, failures of the store. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import type { CoreParts } from "../../src/session/core.ts";
import {
  calls,
  checkRigs,
  openRig,
  type Problem,
  type Rig,
  reply,
  result,
  said,
  user,
  words,
} from "../support/rig.ts";

afterEach(checkRigs);

/** A manual compaction whose summary is being written. */
async function running(rig: Rig) {
  const release = rig.hold();
  const answer = rig.session.request("POST", "/compact");
  await expect.poll(async () => await rig.types()).toContain("compaction/start");
  return {
    async finish() {
      release();
      const response = await answer;
      return { status: response.status, body: await response.json<Problem & { generation: number }>() };
    },
  };
}
const generation = async (rig: Rig) =>
  (await rig.session.expect<{ generation: number }>(200, "GET", "/")).generation;

describe("meanwhile", () => {
  it("[T24] [DSH-162] [KIMI-020] [KIMI-028] a prompt lands behind the checkpoint, and its request begins with that", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const compaction = await running(rig);
    await rig.say(user("are you there?"));
    expect((await compaction.finish()).status).toBe(200);
    const { messages } = await rig.prepare([]);
    expect(String(messages[0]!.content)).toContain("compacted-summary");
    expect(messages.at(-1)).toEqual(user("are you there?"));
    expect(JSON.stringify(messages)).not.toContain("told0 word");
    expect(JSON.stringify(rig.provider.requests[0]!.body)).not.toContain("are you there?");
  });

  it("[T24] [DSH-163] what is appended stands there once, also when the summary fails", async () => {
    const rig = await openRig();
    await rig.turns(5);
    rig.provider.will({ do: "server-error", status: 400 });
    const compaction = await running(rig);
    await rig.say(user("note to self"));
    expect((await compaction.finish()).status).toBe(502);
    const shown = await rig.surface();
    expect(shown).toHaveLength(11);
    expect(shown.at(-1)).toEqual(user("note to self"));
  });

  it("[T24] [KIMI-021] [KIMI-045] a whole exchange, and a result that was still open, stay in order", async () => {
    const rig = await openRig();
    await rig.turns(5);
    await rig.say(calls(["c1"]));
    const compaction = await running(rig);
    const exchange = [result("c1", "here"), reply("I see"), user("and now?")];
    await rig.say(...exchange);
    expect((await compaction.finish()).status).toBe(200);
    expect((await rig.surface()).slice(-4)).toEqual([calls(["c1"]), ...exchange]);
  });

  it("[T24] [DSH-119] [PI-035] re-based: a step may begin and end, and a branch may be opened", async () => {
    const rig = await openRig();
    const { seqs } = await rig.turns(5);
    const compaction = await running(rig);
    const { prepareId } = await rig.prepare([user("quick one")]);
    await rig.append([said(reply("quick answer"))], { prepareId });
    const fork = await rig.session.expect<{ head: number }>(201, "POST", "/branches", {
      from: seqs[3],
      name: "side",
    });
    expect(fork.head).toBe(seqs[3]);
    expect((await compaction.finish()).status).toBe(200);
    const main = await rig.session.expect<{ messages: unknown[]; generation: number }>(
      200,
      "GET",
      "/surface?branch=main",
    );
    expect(main.generation).toBe(1);
    expect(main.messages.slice(-2)).toEqual([user("quick one"), reply("quick answer")]);
    const side = await rig.session.expect<{ messages: unknown[]; generation: number }>(
      200,
      "GET",
      "/surface?branch=side",
    );
    expect([side.generation, side.messages.length]).toEqual([0, 4]);
  });

  it("[T24] [CF-008] [CF-009] [CF-010] compacting one branch never changes another, nor another session", async () => {
    const rig = await openRig();
    const other = await openRig();
    const { seqs } = await rig.turns(5);
    await other.turns(5);
    await rig.session.expect(201, "POST", "/branches", { from: seqs[9], name: "side" });
    await rig.session.expect(200, "POST", "/compact?branch=side");
    const length = async (at: Rig, branch: string) =>
      (await at.session.expect<{ messages: unknown[] }>(200, "GET", `/surface?branch=${branch}`)).messages
        .length;
    expect([await length(rig, "side"), await length(rig, "main"), await length(other, "main")]).toEqual([
      2, 10, 10,
    ]);
    await rig.session.expect(200, "POST", "/compact?branch=main");
    expect([await length(rig, "side"), await length(rig, "main")]).toEqual([2, 2]);
  });
});

describe("cancelled", () => {
  it("[T25] [DSH-181] [DSH-182] [PI-026] [PI-036] at once, with the upstream call given up; the history is as it was", async () => {
    const rig = await openRig();
    await rig.turns(5);
    const before = await rig.surface();
    rig.provider.will({ do: "hang" });
    const answer = rig.session.request("POST", "/compact");
    await expect.poll(() => rig.provider.requests.length).toBe(1);
    const { cancelled } = await rig.session.expect<{ cancelled: object[] }>(200, "POST", "/cancel");
    expect(cancelled).toMatchObject([{ kind: "compaction" }]);
    expect(await (await answer).json()).toMatchObject({ code: "cancelled", status: 409 });
    expect(await rig.bodies("compaction/end")).toMatchObject([{ outcome: "cancelled" }]);
    expect(await rig.surface()).toEqual(before);
  });

  it("[T25] [DSH-031] [DSH-144] re-based: the upstream request is aborted by it", async () => {
    const rig = await openRig();
    await rig.turns(5);
    rig.provider.will({ do: "hang" });
    const answer = rig.session.request("POST", "/compact");
    await expect.poll(() => rig.provider.requests.length).toBe(1);
    await rig.session.expect(200, "POST", "/cancel");
    await answer;
    expect(rig.provider.requests[0]!.aborted).toBe(true);
  });

  it("[T25] [DSH-180] before it runs there is nothing to cancel, and cancelling writes nothing", async () => {
    const rig = await openRig();
    await rig.turns(2);
    const end = (await rig.events()).length;
    expect(await rig.session.expect(200, "POST", "/cancel")).toEqual({ cancelled: [] });
    expect(await rig.events()).toHaveLength(end);
  });

  it("[T25] a step in progress is closed by it as well", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    expect(await rig.session.expect(200, "POST", "/cancel")).toEqual({
      cancelled: [{ kind: "step", id: prepareId }],
    });
    const late = await rig.refused("POST", "/events", { items: [said(reply("b"))], prepareId });
    expect(late.code).toBe("stale-head");
  });
});

describe("the store fails", () => {
  /** From now on inserting an event of this type throws. */
  async function breakInsert(rig: Rig, type: string, times = Number.POSITIVE_INFINITY): Promise<void> {
    await runInDurableObject(rig.session.stub(), (instance) => {
      const { log } = (instance as unknown as { core: { parts: CoreParts } }).core.parts;
      const insert = log.insert.bind(log);
      let left = times;
      log.insert = (row, body) => {
        if (row.type === type && left-- > 0) throw new Error("disk is full of secrets");
        insert(row, body);
      };
    });
  }

  it.each(["compaction/summary", "surface/replace"])(
    "[T26] [DSH-177] [CF-023] at %s: nothing of it lands, the claim is released, an append goes on",
    async (type) => {
      const rig = await openRig({ provider: false });
      await rig.turns(5);
      const before = await rig.surface();
      await breakInsert(rig, type, 1);
      const failure = await rig.refused("POST", "/compact");
      expect(failure).toMatchObject({ code: "commit", status: 500 });
      expect(JSON.stringify(failure)).not.toContain("secrets");
      expect(await rig.surface()).toEqual(before);
      expect(await rig.bodies("compaction/end")).toMatchObject([{ outcome: "failed" }]);
      await rig.say(user("still here"));
      expect((await rig.session.expect<{ generation: number }>(200, "POST", "/compact")).generation).toBe(1);
    },
  );

  it("[T26] [DSH-176] [DSH-179] at the end record: what landed stays, and the failure is told apart from a failed summary", async () => {
    const rig = await openRig({ provider: false });
    await rig.turns(5);
    await breakInsert(rig, "compaction/end", 1);
    const failure = await rig.refused("POST", "/compact");
    expect(failure).toMatchObject({ code: "persistence", status: 500 });
    expect(await generation(rig)).toBe(1);
  });

  it("[T26] [DSH-175] at every end record: the summary stays, and the branch is busy until its deadline", async () => {
    const rig = await openRig({ provider: false });
    await rig.turns(5);
    await breakInsert(rig, "compaction/end", 2);
    expect((await rig.refused("POST", "/compact")).status).toBe(500);
    expect(await generation(rig)).toBe(1);
    expect((await rig.refused("POST", "/compact")).code).toBe("busy");
    rig.pass(120_000 + 30_000);
    await runDurableObjectAlarm(rig.session.stub());
    expect(await rig.bodies("compaction/end")).toMatchObject([{ outcome: "interrupted" }]);
    await rig.turns(5);
    expect((await rig.session.expect<{ generation: number }>(200, "POST", "/compact")).generation).toBe(2);
  });
});

it("[T26] [DSH-189] [DSH-190] the ways to end are told apart by code and status", async () => {
  const rig = await openRig();
  await rig.turns(5);
  rig.provider.will({ do: "server-error", status: 400 });
  const codes = [await rig.refused("POST", "/compact")];
  await rig.prepare([user(words(5))]);
  codes.push(await rig.refused("POST", "/compact"));
  await rig.session.expect(200, "POST", "/cancel");
  rig.provider.will({ do: "hang" });
  const answer = rig.session.request("POST", "/compact");
  await expect.poll(() => rig.provider.requests.length).toBe(2);
  await rig.session.expect(200, "POST", "/cancel");
  codes.push(await (await answer).json<Problem>());
  expect(codes.map(({ code, status }) => [code, status])).toEqual([
    ["summary", 502],
    ["busy", 409],
    ["cancelled", 409],
  ]);
});

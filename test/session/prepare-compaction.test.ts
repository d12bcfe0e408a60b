/** What `POST /prepare` does with a request that is over the threshold, or that can not fit at all. */
import { afterEach, describe, expect, it } from "vitest";
import {
  calls,
  checkRigs,
  openRig,
  type Problem,
  reply,
  result,
  said,
  usage,
  user,
  words,
} from "../support/rig.ts";

afterEach(checkRigs);

const noise = (count: number) =>
  Array.from({ length: count }, (_, n) => `line ${n}: nothing to see\n`).join("");

describe("over the threshold", () => {
  it("[O21] [CDX-006] compacts before the batch is appended, and the batch is never summarized", async () => {
    const rig = await openRig();
    await rig.turns(40);
    const end = (await rig.events()).length;
    const answer = await rig.prepare([user("the newest question")]);
    const types = (await rig.types()).slice(end);
    expect(types).toEqual([
      "compaction/start",
      "compaction/summary",
      "surface/replace",
      "message/user",
      "compaction/end",
      "step/start",
    ]);
    expect(answer.compaction).toMatchObject({
      trigger: "pressure",
      rungs: ["summary"],
      outcome: "done",
      generation: 1,
    });
    expect(answer.compaction!.tokensAfter).toBeLessThan(7_200);
    expect(answer.compaction!.tokensBefore).toBeGreaterThanOrEqual(8_000);
    expect(answer.messages.at(-1)).toEqual(user("the newest question"));
    expect(answer.pressure.tokens).toBe(answer.compaction!.tokensAfter);
    expect(new TextDecoder().decode(rig.provider.requests[0]!.bytes)).not.toContain("the newest question");
  });

  it("[O21] [DSH-147] [KIMI-047] [CF-014] once: the next request has room again", async () => {
    const rig = await openRig();
    await rig.turns(40);
    expect((await rig.prepare([user("one")])).compaction).not.toBeNull();
    for (const ask of ["two", "three"]) expect((await rig.prepare([user(ask)])).compaction).toBeNull();
    expect(rig.provider.requests).toHaveLength(1);
  });

  it("[O21] [DSH-146] [DSH-223] between two steps of one tool loop", async () => {
    const rig = await openRig({ policy: { boundary: "pair" } });
    await rig.turns(36);
    const first = await rig.prepare([user("work")]);
    await rig.append([said(calls(["c1"]))], { prepareId: first.prepareId });
    const second = await rig.prepare([result("c1", words(800))]);
    expect(second.compaction).toMatchObject({ outcome: "done" });
    const events = await rig.events();
    const place = (type: string) => events.findLastIndex((event) => event.type === type);
    expect(place("step/end")).toBeLessThan(place("compaction/start"));
    expect(place("compaction/end")).toBeLessThan(place("step/start"));
    expect(second.messages.at(-2)).toEqual(calls(["c1"]));
  });

  it("[O21] [CDX-006] a reported usage over the threshold counts at the next prompt", async () => {
    const rig = await openRig();
    await rig.turns(20);
    const low = await rig.prepare([user("one")]);
    await rig.append([said(reply("a")), usage(5_000)], { prepareId: low.prepareId });
    const high = await rig.prepare([user("two")]);
    expect(high.compaction).toBeNull();
    await rig.append([said(reply("b")), usage(9_000)], { prepareId: high.prepareId });
    const { messages, compaction } = await rig.prepare([user("three")]);
    expect(compaction).toMatchObject({ outcome: "done" });
    expect(messages.slice(-1)).toEqual([user("three")]);
  });

  it("[O21] [PI-044] [CF-018] the envelope in force counts: tools that were added, a system prompt that grew", async () => {
    const rig = await openRig();
    await rig.turns(30);
    expect((await rig.prepare([user("a")])).compaction).toBeNull();
    const grown = await rig.prepare([user("b")], { system: words(2_200) });
    expect(grown.compaction).toMatchObject({ outcome: "done" });
    expect(grown.pressure.envelope).toBe(2_201);
  });

  it("[O21] [DSH-025] [DSH-030] [DSH-005] by the route of this very request, whatever the session's own", async () => {
    const env = { ROUTES: { "large/gpt-x": { window: 100_000 }, "fake/gpt-x": capacityOf(10_000) } };
    const rig = await openRig({ route: "large/gpt-x", capacity: {}, env });
    await rig.turns(40);
    expect((await rig.prepare([user("a")])).compaction).toBeNull();
    const small = await rig.prepare([user("b")], { route: "fake/gpt-x" });
    expect(small.compaction).toMatchObject({ outcome: "done" });
  });

  it("[O21] [DSH-023] [CF-015] not without a threshold: no route, no window, or a window with room", async () => {
    const rigs = [
      await openRig({ route: null, capacity: {} }),
      await openRig({ capacity: {} }),
      await openRig({ capacity: { window: 1_000_000 } }),
    ];
    for (const rig of rigs) {
      await rig.turns(60);
      expect((await rig.prepare([user("a")])).compaction).toBeNull();
      expect(rig.provider.requests).toHaveLength(0);
    }
  });

  it("[O22] `auto: false` is off: the request goes out over its threshold, and over its window", async () => {
    const rig = await openRig({ policy: { auto: false } });
    await rig.turns(70);
    const { compaction, pressure, prepareId } = await rig.prepare([user("a")]);
    expect(compaction).toBeNull();
    expect(pressure.tokens).toBeGreaterThan(11_000);
    await rig.append([{ type: "aborted" }], { prepareId });
    expect((await rig.session.expect<{ generation: number }>(200, "POST", "/compact")).generation).toBe(1);
  });
});

function capacityOf(ceiling: number) {
  return { window: ceiling + 1_000, maxOutput: 1_000 };
}

describe("a batch that is too large", () => {
  it("[O23] is pruned in the transaction that appends it, under the seqs that it gets", async () => {
    const rig = await openRig({ provider: false });
    await rig.say(user("read the log"), calls(["c1"]));
    const output = noise(3_000);
    const answer = await rig.prepare([result("c1", output)]);
    expect(answer.compaction).toMatchObject({ outcome: "done", rungs: ["last"], generation: 1 });
    const [seq] = answer.seqs;
    const sent = String(answer.messages.at(-1)!.content);
    expect(sent).toContain(`handle ${seq}]`);
    expect(sent.startsWith("line 0: ")).toBe(true);
    expect(answer.pressure.tokens).toBeLessThanOrEqual(10_000);
    const types = (await rig.types()).slice(-5);
    expect(types).toEqual([
      "message/tool",
      "compaction/prune",
      "surface/replace",
      "compaction/end",
      "step/start",
    ]);
    const node = (await rig.events()).find((event) => event.seq === seq)!;
    expect(node.body).toEqual(result("c1", output));
    expect(await rig.surface()).toEqual(answer.messages);
  });

  it("[O23] [DSH-056] [PI-055] that nothing can help is refused, naming what weighs; it is not appended", async () => {
    const rig = await openRig({ provider: false });
    const { head } = await rig.turns(20);
    const refusal = await rig.refused("POST", "/prepare", {
      messages: [user(words(12_000))],
      system: words(500),
    });
    expect(refusal).toMatchObject({ code: "irreducible", status: 409, ceiling: 10_000 });
    expect(refusal.tokens).toBeGreaterThan(10_000);
    const contributors = refusal.contributors as { what: string; tokens: number }[];
    expect(contributors[0]).toEqual({ what: "incoming", tokens: 12_013 });
    expect(contributors).toContainEqual({ what: "envelope", tokens: 501 });
    const state = await rig.session.expect<{ head: number; running: unknown[] }>(200, "GET", "/");
    expect(state).toMatchObject({ head, running: [] });
    expect(await rig.types()).not.toContain("step/start");
  });

  it("[O23] leaves what was compacted on the way; neither batch nor its forms land", async () => {
    const rig = await openRig({ provider: false });
    await rig.turns(20);
    await rig.say(calls(["c1"]));
    const batch = [result("c1", noise(2_000)), user(words(12_000))];
    const refusal = await rig.refused("POST", "/prepare", { messages: batch });
    expect(refusal.code).toBe("irreducible");
    const events = await rig.events();
    expect(events.at(-1)).toMatchObject({
      type: "compaction/end",
      body: { outcome: "failed", reason: "irreducible" },
    });
    expect(events.filter(({ type }) => type === "message/tool" || type === "compaction/prune")).toEqual([]);
    const landed = events.filter(({ type }) => type === "surface/replace").length;
    expect((await rig.session.expect<{ generation: number }>(200, "GET", "/")).generation).toBe(landed);
    expect(landed).toBeGreaterThan(0);
  });

  it("[O23] [CDX-011] is refused too where the summarizer overflows itself; a shorter one then goes through", async () => {
    const rig = await openRig();
    await rig.turns(20);
    const full = { do: "overflow", limit: 500, input: 9_000 } as const;
    rig.provider.will(full, full, full, full);
    const refusal = await rig.refused("POST", "/prepare", { messages: [user(words(12_000))] });
    expect(refusal.code).toBe("irreducible");
    expect((await rig.prepare([user("shorter")])).messages.at(-1)).toEqual(user("shorter"));
  });
});

describe("a branch that another compaction holds", () => {
  it("[O24] [PI-035] is waited for over the threshold, and joined: one summary for both", async () => {
    const rig = await openRig();
    await rig.turns(41);
    const release = rig.hold();
    const first = rig.prepare([user("one")]);
    const second = rig.prepare([user("two")]);
    setTimeout(release, 50);
    const answers = await Promise.all([first, second]);
    expect(rig.provider.requests).toHaveLength(1);
    expect(answers.filter(({ compaction }) => compaction !== null)).toHaveLength(1);
    expect(answers.map(({ generation }) => generation)).toEqual([1, 1]);
  });

  it("[O24] is not waited for below it", async () => {
    const rig = await openRig();
    await rig.turns(30);
    const release = rig.hold();
    const manual = rig.session.expect<{ generation: number }>(200, "POST", "/compact");
    await expect.poll(async () => await rig.types()).toContain("compaction/start");
    const { generation } = await rig.prepare([user("one")]);
    expect(generation).toBe(0);
    release();
    expect((await manual).generation).toBe(1);
    expect((await rig.surface()).at(-1)).toEqual(user("one"));
  });

  it("[O24] [DSH-160] [CF-041] [PI-057] a request whose compaction is cancelled is refused, unless it fits without", async () => {
    for (const [turns, expected] of [
      [41, 200],
      [60, 409],
    ] as const) {
      const rig = await openRig();
      await rig.turns(turns);
      const release = rig.hold();
      const answer = rig.session.request("POST", "/prepare", { messages: [user("one")] });
      await expect.poll(async () => await rig.types()).toContain("compaction/start");
      const { cancelled } = await rig.session.expect<{ cancelled: object[] }>(200, "POST", "/cancel");
      expect(cancelled).toMatchObject([{ kind: "compaction" }]);
      release();
      const response = await answer;
      expect(response.status).toBe(expected);
      const body = await response.json<Problem>();
      if (expected === 409) expect(body.code).toBe("cancelled");
      expect((await rig.session.expect<{ generation: number }>(200, "GET", "/")).generation).toBe(0);
    }
  });
});

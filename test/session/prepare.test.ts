/** `POST /prepare` through the Worker: what it appends, what it answers, what it refuses. */
import { afterEach, describe, expect, it } from "vitest";
import { calls, checkRigs, openRig, reply, result, said, usage, user, words } from "../support/rig.ts";

afterEach(checkRigs);

const key = (value: string) => ({ "idempotency-key": value });

describe("a request that fits", () => {
  it("[O20] appends its batch, opens a step, and answers the exact messages to send", async () => {
    const rig = await openRig();
    const system = [{ role: "system", content: "be kind" }];
    const first = await rig.prepare([user("one")], { system, params: { temperature: 0 }, maxOutput: 77 });
    expect(first).toMatchObject({ system, tools: null, params: { temperature: 0 }, messages: [user("one")] });
    expect(first).toMatchObject({ maxOutput: 77, generation: 0, compaction: null, repaired: [] });
    expect(await rig.types()).toEqual([
      "session/created",
      "branch/opened",
      "session/configured",
      "request/header",
      "message/user",
      "step/start",
    ]);
    expect(first.seqs).toEqual([5]);
    await rig.append([said(reply("two"))], { prepareId: first.prepareId });
    const second = await rig.prepare([user("three")]);
    expect(second.messages).toEqual([user("one"), reply("two"), user("three")]);
    expect(second.system).toEqual(system);
  });

  it("[O20] an absent part of the envelope keeps what was, null clears it; only a change is logged", async () => {
    const rig = await openRig();
    const tools = [{ type: "function", function: { name: "read", parameters: {} } }];
    await rig.prepare([user("a")], { system: "be kind", tools });
    expect(await rig.prepare([user("b")])).toMatchObject({ system: "be kind", tools });
    expect(await rig.prepare([user("c")], { system: null })).toMatchObject({ system: null, tools });
    expect(await rig.prepare([user("d")], { tools })).toMatchObject({ system: null, tools });
    expect((await rig.types()).filter((type) => type === "request/header")).toHaveLength(2);
  });

  it("[O20] an empty batch is legal, and the same head can be asked for again", async () => {
    const rig = await openRig();
    const { head } = await rig.say(user("a"));
    expect(await rig.prepare([])).toMatchObject({ seqs: [], head, messages: [user("a")] });
    expect(await rig.prepare([])).toMatchObject({ seqs: [], head });
  });

  it("[O20] [KIMI-013] pressure counts the batch that comes in, apart from the Surface it comes to", async () => {
    const rig = await openRig();
    await rig.say(user(words(100)));
    const { pressure } = await rig.prepare([user(words(50))]);
    expect(pressure).toMatchObject({ surface: 113, incoming: 63, tokens: 176, source: "estimate" });
  });

  it("[O20] the answered output cap is what was asked, as far as the window has room", async () => {
    const rig = await openRig();
    await rig.turns(10); // 2,000 tokens of 11,000
    const { pressure } = await rig.prepare([], { maxOutput: 500 });
    expect((await rig.prepare([], { maxOutput: 500 })).maxOutput).toBe(500);
    expect((await rig.prepare([], { maxOutput: 90_000 })).maxOutput).toBe(11_000 - pressure.tokens);
    expect((await rig.prepare([])).maxOutput).toBe(1_000);
  });

  it("[O20] a step that the next one takes the place of is closed as superseded", async () => {
    const rig = await openRig();
    const first = await rig.prepare([user("a")]);
    await rig.prepare([user("b")]);
    expect(await rig.bodies("step/aborted")).toEqual([
      { step: Number(first.prepareId.slice(1)), reason: "superseded" },
    ]);
  });
});

describe("open calls", () => {
  it("[P40] [INV-024] a user message over an open call closes it with a logged result, and says so", async () => {
    const rig = await openRig();
    await rig.say(user("a"), calls(["c1", "c2"]), result("c1", "done"));
    const answer = await rig.prepare([user("go on")]);
    expect(answer.repaired).toEqual([{ call: "c2", seq: answer.seqs[0]! - 1 }]);
    const closing = answer.messages.at(-2)!;
    expect(closing).toMatchObject({ role: "tool", tool_call_id: "c2" });
    expect(answer.messages.at(-1)).toEqual(user("go on"));
    expect((await rig.events()).find(({ seq }) => seq === answer.repaired[0]!.seq)!.type).toBe(
      "message/tool",
    );
  });

  it("[P40] with `strict` it is refused and nothing is written", async () => {
    const rig = await openRig();
    const { head } = await rig.say(user("a"), calls(["c1"]));
    const refusal = await rig.refused("POST", "/prepare", { messages: [user("go on")], strict: true });
    expect(refusal).toMatchObject({ code: "open-calls", status: 409, at: "messages[0]" });
    expect((await rig.events()).at(-1)!.seq).toBe(head);
  });

  it("[P40] [OH-017] [OH-018] [INV-023] a result after the close is late, one that nobody asked for has no call", async () => {
    const rig = await openRig();
    await rig.say(user("a"), calls(["c1"]), user("b"));
    const late = await rig.refused("POST", "/prepare", { messages: [result("c1", "late")] });
    expect(late).toMatchObject({ code: "late-result", status: 409, at: "messages[0]" });
    const stray = await rig.refused("POST", "/prepare", { messages: [result("zz", "stray")] });
    expect(stray).toMatchObject({ code: "result-without-call", status: 400, at: "messages[0]" });
  });
});

describe("the same request again", () => {
  const body = { messages: [user(words(40))], system: "be kind" };

  it("[G20] with its key answers the same bytes and writes nothing", async () => {
    const rig = await openRig();
    const first = await rig.session.request("POST", "/prepare", body, key("k1"));
    const text = await first.text();
    const end = (await rig.events()).length;
    const second = await rig.session.request("POST", "/prepare", body, key("k1"));
    expect([second.status, await second.text()]).toEqual([200, text]);
    expect(await rig.events()).toHaveLength(end);
  });

  it("[G20] answers what it answered then, also after the Surface has changed", async () => {
    const rig = await openRig({ provider: false });
    await rig.turns(38);
    const first = await (await rig.session.request("POST", "/prepare", body, key("k1"))).text();
    await rig.say(reply(words(600)));
    expect((await rig.prepare([user("more")])).generation).toBe(1);
    expect(await (await rig.session.request("POST", "/prepare", body, key("k1"))).text()).toBe(first);
  });

  it("[G20] with its key and another body is refused", async () => {
    const rig = await openRig();
    await rig.session.request("POST", "/prepare", body, key("k1"));
    const other = await rig.refused("POST", "/prepare", { ...body, maxOutput: 9 }, key("k1"));
    expect(other).toMatchObject({ code: "idempotency-mismatch", status: 422 });
    const elsewhere = await rig.refused("POST", "/events", { items: [said(user("x"))] }, key("k1"));
    expect(elsewhere.code).toBe("idempotency-mismatch");
  });

  it("[G20] two at once are one", async () => {
    const rig = await openRig();
    await rig.turns(41);
    const release = rig.hold();
    const twice = [1, 2].map(() => rig.session.request("POST", "/prepare", body, key("k1")));
    setTimeout(release, 50);
    const [a, b] = await Promise.all(twice.map(async (answer) => (await answer).text()));
    expect(a).toBe(b);
    expect((await rig.types()).filter((type) => type === "step/start")).toHaveLength(1);
    expect(rig.provider.requests).toHaveLength(1);
  });

  it("[G20] a key without a name is refused", async () => {
    const rig = await openRig();
    for (const value of ["", "k".repeat(257)]) {
      expect(await rig.refused("POST", "/prepare", body, key(value))).toMatchObject({
        code: "bad-request",
        at: "idempotency-key",
      });
    }
  });

  it("[G21] `expect` guards the head", async () => {
    const rig = await openRig();
    const { head } = await rig.say(user("a"));
    expect((await rig.prepare([user("b")], { expect: head })).messages).toHaveLength(2);
    const stale = await rig.refused("POST", "/prepare", { messages: [user("c")], expect: head });
    expect(stale).toMatchObject({ code: "stale-head", status: 409, at: "expect" });
    expect(stale.head).toBeGreaterThan(head);
  });
});

describe("the anchor", () => {
  it("[M20] [DSH-047] usage of another route anchors nothing here, and the thinking-free Surface is the same", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("a")]);
    await rig.append([said(reply("b")), usage(900, 9)], { prepareId: one.prepareId });
    expect(await rig.pressure()).toMatchObject({ tokens: 909, source: "usage" });
    const two = await rig.prepare([user("c")], { route: "fake/gpt-y" });
    expect(two.pressure.source).toBe("estimate");
    await rig.append([said(reply("d")), usage(150, 1)], { prepareId: two.prepareId });
    expect((await rig.prepare([user("e")], { route: "fake/gpt-y" })).pressure.source).toBe("usage");
    expect((await rig.prepare([user("f")])).pressure.source).toBe("estimate");
  });
});

/** `POST /events` through the Worker: messages, usage, the end of a step. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import {
  calls,
  checkRigs,
  type Message,
  openRig,
  reply,
  result,
  said,
  usage,
  user,
  words,
} from "../support/rig.ts";

afterEach(checkRigs);

interface Report {
  usage: Record<string, number> | null;
  pressure: { tokens: number; source: string; surface: number };
  shadow: { generation: number; shadowedTokens: number; insertedTokens: number };
}

describe("messages", () => {
  it("[L30] [PI-011] [CF-015] are appended in order, the head moves to the newest, and nothing is compacted", async () => {
    const rig = await openRig();
    const many = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? user(words(200)) : reply(words(200))));
    const answer = await rig.say(...many);
    expect(answer.seqs).toHaveLength(60);
    expect(answer.head).toBe(answer.seqs.at(-1));
    expect(answer.generation).toBe(0);
    expect(answer.pressure.tokens).toBe(60 * 213);
    expect(await rig.surface()).toEqual(many);
    expect(await rig.types()).not.toContain("compaction/start");
  });

  it("[L30] [CF-034] [CF-035] a huge one is stored whole, whatever the rows of the store can hold", async () => {
    const rig = await openRig({ capacity: {} });
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field${n}`, n]));
    await rig.say(calls(["a", "b"]), result("a", "x".repeat(2_000_000)), result("b", JSON.stringify(fields)));
    await evictDurableObject(rig.session.stub());
    const shown = await rig.surface();
    expect(String(shown[1]!.content)).toHaveLength(2_000_000);
    expect(JSON.parse(String(shown[2]!.content))).toEqual(fields);
  });

  it("[L30] the client's own bytes come back: large numbers, key order, lone surrogates, white space", async () => {
    const rig = await openRig();
    const raw = '{"content" : "a\\ud800b",  "role":"user","x_extra":12345678901234567890}';
    await rig.session.request("POST", "/events", `{"items":[{"type":"message","message":${raw}}]}`);
    const response = await rig.session.request("GET", "/surface");
    expect(await response.text()).toContain(raw);
  });

  it("[P41] a user message over an open call closes it, with `strict` it is refused", async () => {
    const rig = await openRig();
    await rig.say(user("a"), calls(["c1"]));
    const strict = { items: [said(user("b"))], strict: true };
    expect(await rig.refused("POST", "/events", strict)).toMatchObject({
      code: "open-calls",
      at: "items[0].message",
    });
    const answer = await rig.say(user("b"));
    expect(answer.repaired).toMatchObject([{ call: "c1" }]);
    expect(await rig.refused("POST", "/events", { items: [said(result("c1", "late"))] })).toMatchObject({
      code: "late-result",
      status: 409,
    });
  });

  it("[P41] an open call may stay open here: its results come later, one by one", async () => {
    const rig = await openRig();
    await rig.say(calls(["c1", "c2"]));
    await rig.say(result("c2", "two"));
    await rig.say(result("c1", "one"));
    expect((await rig.surface()).map(({ role }) => role)).toEqual(["assistant", "tool", "tool"]);
    expect((await rig.prepare([user("next")])).repaired).toEqual([]);
  });

  it("[L31] a system message before the first node is envelope, and refused here", async () => {
    for (const role of ["system", "developer"]) {
      const rig = await openRig();
      const items = [said({ role, content: "be kind" })];
      expect(await rig.refused("POST", "/events", { items })).toMatchObject({
        code: "system-is-envelope",
        status: 400,
        at: "items[0].message",
      });
      expect(await rig.refused("POST", "/prepare", { messages: [{ role, content: "x" }] })).toMatchObject({
        code: "system-is-envelope",
      });
      await rig.say(user("a"), { role, content: "a notice on the way" });
      expect(await rig.surface()).toHaveLength(2);
    }
  });

  it("[G20] with its key: the first answer, nothing written; with another body 422", async () => {
    const rig = await openRig();
    const headers = { "idempotency-key": "e1" };
    const send = (text: string) =>
      rig.session.request("POST", "/events", { items: [said(user(text))] }, headers);
    const first = await (await send("a")).text();
    expect(await (await send("a")).text()).toBe(first);
    expect((await send("b")).status).toBe(422);
    expect(await rig.surface()).toEqual([user("a")]);
  });

  it("[G20] a key is forgotten after a day", async () => {
    const rig = await openRig();
    const headers = { "idempotency-key": "e1" };
    const send = () => rig.session.request("POST", "/events", { items: [said(user("a"))] }, headers);
    await send();
    rig.pass(23 * 3_600_000);
    await send();
    expect(await rig.surface()).toHaveLength(1);
    rig.pass(2 * 3_600_000);
    await send();
    expect(await rig.surface()).toHaveLength(2);
  });

  it("[L30] all or nothing: a bad item takes the whole batch with it", async () => {
    const rig = await openRig();
    const { head } = await rig.say(user("a"));
    const items = [said(reply("b")), usage(10, 1), said(result("zz", "no call"))];
    expect(await rig.refused("POST", "/events", { items })).toMatchObject({
      code: "result-without-call",
      at: "items[2].message",
    });
    expect((await rig.session.expect<{ head: number }>(200, "GET", "/")).head).toBe(head);
    expect((await rig.events()).at(-1)!.seq).toBe(head);
  });
});

describe("usage", () => {
  it("[M21] is an anchor only with its prepareId and that step's reply in the same call", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    await rig.append([usage(5_000, 10)]);
    expect((await rig.pressure()).source).toBe("estimate");
    await rig.append([usage(5_000, 10)], { prepareId });
    expect((await rig.pressure()).source).toBe("estimate");
    await rig.append([said(reply("b")), usage(700, 10)], { prepareId });
    expect(await rig.pressure()).toMatchObject({ tokens: 710, source: "usage" });
    await rig.append([usage(9_000, 10)]);
    expect(await rig.pressure()).toMatchObject({ tokens: 710, source: "usage" });
    expect(await rig.bodies("usage/reported")).toHaveLength(4);
  });

  it("[M21] [PI-047] [PI-048] without a reply there is no new anchor: the last good one stands", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("a")]);
    await rig.append([said(reply("b")), usage(700, 10)], { prepareId: one.prepareId });
    const two = await rig.prepare([user("c")]);
    await rig.append([usage(0), { type: "aborted" }], { prepareId: two.prepareId });
    expect(await rig.pressure()).toMatchObject({ tokens: 710 + 13, source: "usage" });
  });

  it("[M21] is shown apart from pressure, disjoint, and of the newest request alone", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("a")]);
    const detailed = {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 20 },
    };
    await rig.append([said(reply("b")), { type: "usage", usage: detailed }], { prepareId: one.prepareId });
    const report = await rig.session.expect<Report>(200, "GET", "/pressure");
    expect(report.usage).toMatchObject({ input: 80, cacheRead: 20, cacheWrite: 0, output: 7 });
    const two = await rig.prepare([user("c")]);
    await rig.append([said(reply("d")), usage(250, 1)], { prepareId: two.prepareId });
    const later = await rig.session.expect<Report>(200, "GET", "/pressure");
    expect(later.usage).toMatchObject({ input: 250, output: 1 });
    expect(later.pressure.tokens).toBe(251);
  });

  it("[M21] of another dialect is refused", async () => {
    const rig = await openRig();
    for (const wrong of [
      { input_tokens: 1, output_tokens: 1 },
      {},
      null,
      { prompt_tokens: -1, completion_tokens: 0 },
    ]) {
      const items = [{ type: "usage", usage: wrong }];
      expect(await rig.refused("POST", "/events", { items })).toMatchObject({
        code: "bad-request",
        at: "items[0].usage",
      });
    }
  });
});

describe("the end of a step", () => {
  const answerOf = (prepareId: string, ...items: Message[]) =>
    ["POST", "/events", { items, prepareId }] as const;

  it("[O25] its reply ends it, with the messages of the same call", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    await rig.append([said(calls(["c1"])), usage(50, 5)], { prepareId });
    const state = await rig.session.expect<{ running: unknown[] }>(200, "GET", "/");
    expect(state.running).toEqual([]);
    expect((await rig.types()).slice(-3)).toEqual(["usage/reported", "message/assistant", "step/end"]);
  });

  it("[O25] [PI-003] an abort ends it without an answer, and only a step that was prepared can be aborted", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    await rig.append([{ type: "aborted" }], { prepareId });
    expect(await rig.bodies("step/aborted")).toEqual([
      { step: Number(prepareId.slice(1)), reason: "client" },
    ]);
    expect(await rig.refused(...answerOf(prepareId, said(reply("late"))))).toMatchObject({
      code: "stale-head",
      status: 409,
      at: "prepareId",
    });
    expect(await rig.refused("POST", "/events", { items: [{ type: "aborted" }] })).toMatchObject({
      code: "no-step",
      at: "prepareId",
    });
  });

  it("[O25] a reply whose step is no longer at the head is stale, and not appended", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    const { head } = await rig.say(user("b"));
    expect(await rig.refused(...answerOf(prepareId, said(reply("late"))))).toMatchObject({
      code: "stale-head",
      head,
    });
    const one = await rig.prepare([]);
    const two = await rig.prepare([]);
    expect((await rig.refused(...answerOf(one.prepareId, said(reply("late"))))).code).toBe("stale-head");
    await rig.append([said(reply("in time"))], { prepareId: two.prepareId });
  });

  it("[O25] fifteen minutes end it", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("a")]);
    rig.pass(14 * 60_000);
    await rig.append([said(reply("in time"))], { prepareId: one.prepareId });
    const two = await rig.prepare([user("b")]);
    rig.pass(15 * 60_000);
    expect((await rig.session.expect<{ running: unknown[] }>(200, "GET", "/")).running).toEqual([]);
    expect((await rig.refused(...answerOf(two.prepareId, said(reply("late"))))).code).toBe("stale-head");
  });

  it("[O25] survives an eviction of the object", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    await evictDurableObject(rig.session.stub());
    await rig.append([said(reply("b")), usage(40, 4)], { prepareId });
    expect(await rig.pressure()).toMatchObject({ tokens: 44, source: "usage" });
  });
});

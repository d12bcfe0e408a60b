/** `POST /steps`: one request to the model of the session's route and its reply, with what waits in the inbox. */
import { afterEach, describe, expect, it } from "vitest";
import { calls, checkRigs, openRig, result, user } from "../support/rig.ts";
import { enqueue, reply, type Stepped, sent, state, step, until } from "./native-steps.ts";

afterEach(checkRigs);

describe("a step", () => {
  it("[G85] takes its messages along, and stores the reply with the provider's usage in one stretch", async () => {
    const rig = await openRig();
    rig.provider.will({ do: "reply", text: "hello" });
    const done = await step(rig, { system: "Be brief.", messages: [user("hi")] });
    expect(done).toMatchObject({ finish: "stop", reply: [reply("hello")], generation: 0 });
    expect(done.pressure.source).toBe("usage");
    expect(sent(rig, 0)).toEqual([{ role: "system", content: "Be brief." }, user("hi")]);
    const [header, message, start, usage, told, end] = (await rig.events()).slice(3);
    expect([header, message, start, usage, told, end].map((event) => event?.type)).toEqual([
      "request/header",
      "message/user",
      "step/start",
      "usage/reported",
      "message/assistant",
      "step/end",
    ]);
    expect(done).toMatchObject({ head: told!.seq, replySeqs: [told!.seq], seqs: [message!.seq] });
    expect(done.stepId).toBe(`p${start!.seq}`);
  });

  it("[G85] goes on from tool calls with their results; with nothing to answer it is refused, and sends nothing", async () => {
    const rig = await openRig();
    rig.provider.will({ do: "reply", calls: [{ name: "read", args: "{}" }] });
    const first = await step(rig, { messages: [user("read it")] });
    expect(first.finish).toBe("tool_calls");
    const [{ id }] = first.reply[0]!.tool_calls as [{ id: string }];
    await step(rig, { messages: [result(id, "contents")] });
    expect(sent(rig, 1).slice(-1)).toEqual([result(id, "contents")]);
    expect(await rig.refused("POST", "/steps", {})).toMatchObject({ status: 400, code: "bad-request" });
    expect(rig.provider.requests).toHaveLength(2);
  });

  it("[G85] streams the provider's frames, and what a client read is in the log", async () => {
    const rig = await openRig();
    rig.provider.will({ do: "reply", text: "streamed words" });
    const response = await rig.session.request("POST", "/steps", { messages: [user("hi")], stream: true });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const text = await response.text();
    expect(text).toContain("[DONE]");
    expect((await rig.surface()).at(-1)).toMatchObject({ role: "assistant", content: "streamed words" });
  });

  it("[W11] shows what the model says while it says it, in front of the step's end, and keeps none of it", async () => {
    const rig = await openRig();
    const socket = await rig.session.live();
    rig.provider.will({ do: "reply", text: "streamed words for whoever looks on" });
    const done = await rig.session.request("POST", "/steps", { messages: [user("hi")], stream: true });
    await done.text();
    await socket.until((frame) => frame.event?.type === "step/end");
    const deltas = socket.frames.filter((frame) => frame.type === "delta");
    const said = deltas.map((frame) => (frame as unknown as { text: string }).text);
    expect(said.join("")).toBe("streamed words for whoever looks on");
    const start = (await rig.events()).find((event) => event.type === "step/start");
    expect(deltas[0]).toMatchObject({ stepId: `p${start!.seq}`, branch: "main" });
    const end = socket.frames.findIndex((frame) => frame.event?.type === "step/end");
    expect(socket.frames.findLastIndex((frame) => frame.type === "delta")).toBeLessThan(end);
    socket.close();
  });

  it("[G86] our own refusals are told as what they are, streaming or not, and leave nothing behind", async () => {
    const rig = await openRig();
    await rig.say(user("a"), calls(["x"]));
    const before = await rig.types();
    for (const stream of [false, true]) {
      const bad = { stream, messages: [user("b")] };
      expect(await rig.refused("POST", "/steps", { ...bad, expect: 999 })).toMatchObject({
        status: 409,
        code: "stale-head",
      });
      expect((await rig.refused("POST", "/steps", { ...bad, strict: true })).code).toBe("open-calls");
      expect((await rig.refused("POST", "/steps", { stream, messages: [result("y", "")] })).status).toBe(400);
    }
    expect(await rig.types()).toEqual(before);
    expect(rig.provider.requests).toHaveLength(0);
    expect((await state(rig)).running).toEqual([]);
  });

  it("[G86] a refusal of the provider is 502, the message stands on no branch, and the next step starts afresh", async () => {
    const rig = await openRig();
    await step(rig, { messages: [user("a")] });
    const { head } = await state(rig);
    const body = { error: { message: "Invalid value", code: "invalid_value" } };
    rig.provider.will({ do: "refuse", status: 400, body });
    expect(await rig.refused("POST", "/steps", { messages: [user("bad")] })).toMatchObject({
      status: 502,
      code: "upstream",
      upstreamStatus: 400,
      said: "Invalid value",
    });
    expect((await state(rig)).head).toBe(head);
    await step(rig, { messages: [user("good")], expect: head });
    expect(sent(rig, 2)).toEqual([user("a"), reply("Done."), user("good")]);
  });

  it("[G87] while it runs the head is what was accepted, and other writes on the branch are busy", async () => {
    const rig = await openRig();
    await step(rig, { messages: [user("a")] });
    const { head } = await state(rig);
    const release = rig.hold();
    const running = step(rig, { messages: [user("b")] });
    await until(async () => (await rig.types()).filter((type) => type === "step/start").length === 2);
    const now = await state(rig);
    expect(now.head).toBe(head);
    expect(now.running).toMatchObject([{ kind: "step", branch: "main" }]);
    const { branches } = await rig.session.expect<{ branches: object[] }>(200, "GET", "/branches");
    expect(branches).toMatchObject([{ branch: "main", head }]);
    const items = [{ type: "message", message: user("c") }];
    for (const [path, body] of [
      ["/steps", { messages: [user("c")] }],
      ["/prepare", { messages: [] }],
      ["/events", { items }],
      ["/compact", {}],
      ["/compact/undo", {}],
    ] as const) {
      expect([path, (await rig.refused("POST", path, body)).code]).toEqual([path, "busy"]);
    }
    release();
    const done = await running;
    expect(await state(rig)).toMatchObject({ head: done.head, running: [] });
  });

  it("[G87] cancelled, it is 409, its message stands on no branch, and its inbox waits on", async () => {
    const rig = await openRig();
    await enqueue(rig, "note");
    rig.provider.will({ do: "hang" });
    const running = rig.refused("POST", "/steps", { messages: [user("a")] });
    await until(() => rig.provider.requests.length === 1);
    expect(await rig.session.expect(200, "POST", "/cancel")).toMatchObject({ cancelled: [{ kind: "step" }] });
    expect(await running).toMatchObject({ status: 409, code: "cancelled" });
    expect(await state(rig)).toMatchObject({ head: 0, running: [] });
    expect((await rig.types()).slice(-1)).toEqual(["step/cancelled"]);
    await step(rig);
    expect(sent(rig, 1)).toEqual([user("note")]);
  });

  it("[G88] is made once for an Idempotency-Key; a failed one is made again", async () => {
    const rig = await openRig();
    const key = { "idempotency-key": "k1" };
    const ask = (content: string) =>
      rig.session.request("POST", "/steps", { messages: [user(content)] }, key);
    rig.provider.will({ do: "refuse", status: 400, body: { error: { message: "no" } } });
    expect((await ask("a")).status).toBe(502);
    const [one, two] = await Promise.all([ask("a"), ask("a")]);
    const first = await one.json<Stepped>();
    expect(await two.json<Stepped>()).toEqual(first);
    expect(rig.provider.requests).toHaveLength(2);
    expect((await ask("other")).status).toBe(422);
    const again = await (await ask("a")).json<Stepped>();
    expect(again).toMatchObject({ replySeqs: first.replySeqs, reply: first.reply });
    expect(rig.provider.requests).toHaveLength(2);
  });

  it("[G88] that streams is made once for an Idempotency-Key too: a second call joins it, a later one gets its reply", async () => {
    const rig = await openRig();
    const key = { "idempotency-key": "k2" };
    const ask = (stream: boolean) =>
      rig.session.request("POST", "/steps", { messages: [user("a")], stream }, key);
    rig.provider.will({ do: "refuse", status: 400, body: { error: { message: "no" } } });
    expect((await ask(true)).status).toBe(502);
    rig.provider.will({ do: "reply", text: "said once" });
    const both = await Promise.all([ask(true), ask(true)]);
    // The second joins it, or comes when it is over.
    for (const text of await Promise.all(both.map((answer) => answer.text()))) {
      expect(text.match(/said once/g)).toHaveLength(1);
      expect(text).toContain("[DONE]");
    }
    expect(rig.provider.requests).toHaveLength(2);
    await until(async () => (await state(rig)).running.length === 0);
    const later = await ask(true);
    expect([later.status, later.headers.get("plimsoll-replayed")]).toEqual([200, "1"]);
    const again = await later.text();
    expect(again).toContain("said once");
    expect(again).toContain("[DONE]");
    expect((await ask(false)).status).toBe(422);
    expect(rig.provider.requests).toHaveLength(2);
  });
});

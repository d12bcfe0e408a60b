/** `POST /messages`: user messages that wait for a step, and the steps that claim them. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import { checkRigs, type Message, openRig, type Rig, result, user, words } from "../support/rig.ts";

afterEach(checkRigs);

interface Stepped {
  reply: Message[];
  generation: number;
  compaction: { outcome: string } | null;
}

const step = (rig: Rig, body: object = {}) => rig.session.expect<Stepped>(200, "POST", "/steps", body);
const enqueue = (rig: Rig, text: string) =>
  rig.session.expect<{ seq: number; waiting: number }>(202, "POST", "/messages", { text });
const messagesOf = (rig: Rig) => (rig.provider.requests.at(-1)!.body as { messages: Message[] }).messages;
const callOf = (message: Message) => (message.tool_calls as [{ id: string }])[0].id;

describe("the inbox", () => {
  it("[G91] [DSH-222] notes that arrive while a tool runs stand behind its result in their order, are claimed once, and never repeated", async () => {
    const rig = await openRig();
    rig.provider.will({ do: "reply", calls: [{ name: "read", args: "{}" }] });
    const asked = await step(rig, { messages: [user("read it")] });
    const call = callOf(asked.reply[0]!);
    const note = { text: "note one" };
    const first = await rig.session.expect<{ seq: number }>(202, "POST", "/messages", note);
    note.text = "changed";
    const second = await enqueue(rig, "note two");
    expect(second.waiting).toBe(2);
    expect((await rig.types()).filter((type) => type === "message/user")).toHaveLength(1);
    await step(rig, { messages: [result(call, "contents")] });
    expect(messagesOf(rig).slice(-3)).toEqual([result(call, "contents"), user("note one"), user("note two")]);
    expect(await rig.bodies("inbox/claimed")).toEqual([{ seqs: [first.seq, second.seq] }]);
    await step(rig, { messages: [user("go on")] });
    const texts = messagesOf(rig).map(({ content }) => content);
    expect(texts.filter((text) => text === "note one")).toHaveLength(1);
    expect(await rig.bodies("inbox/claimed")).toHaveLength(1);
  });

  it("[G91] [DSH-222] in Anthropic's dialect too: the result's block first, then the notes", async () => {
    const rig = await openRig({ dialect: "anthropic", route: "fake/claude-x" });
    rig.provider.will({ do: "reply", calls: [{ name: "read", args: "{}" }] });
    const tools = [{ name: "read", input_schema: { type: "object" } }];
    const asked = await step(rig, { tools, maxOutput: 500, messages: [user("read it")] });
    const blocks = asked.reply[0]!.content as { type: string; id: string }[];
    const { id } = blocks.find(({ type }) => type === "tool_use")!;
    await enqueue(rig, "note one");
    await enqueue(rig, "note two");
    const answer = { type: "tool_result", tool_use_id: id, content: "contents" };
    const messages = [{ role: "user", content: [answer] }];
    await step(rig, { maxOutput: 500, messages, runtimeContext: "read-only" });
    const flat: unknown[] = messagesOf(rig)
      .slice(2)
      .flatMap(({ content }) => content as unknown);
    const told = flat.map((block) => JSON.stringify(block));
    const at = ["tool_result", "read-only", "note one", "note two"].map((text) =>
      told.findIndex((block) => block.includes(text)),
    );
    expect(at).toEqual([0, 1, 2, 3]);
  });

  it("[G91] results, runtime context, inbox: this is the order", async () => {
    const rig = await openRig();
    rig.provider.will({ do: "reply", calls: [{ name: "read", args: "{}" }] });
    const call = callOf((await step(rig, { messages: [user("read it")] })).reply[0]!);
    await enqueue(rig, "note");
    await step(rig, { messages: [result(call, "contents")], runtimeContext: "mode: read-only" });
    const [answer, context, note] = messagesOf(rig).slice(-3);
    expect(answer).toEqual(result(call, "contents"));
    expect(String(context!.content)).toContain("mode: read-only");
    expect(note).toEqual(user("note"));
  });

  it("[G91] a step without a reply leaves the notes waiting, over an eviction too", async () => {
    const rig = await openRig();
    await enqueue(rig, "note");
    rig.provider.will({ do: "refuse", status: 400, body: { error: { message: "no" } } });
    expect((await rig.refused("POST", "/steps", {})).code).toBe("upstream");
    expect(await rig.types()).not.toContain("inbox/claimed");
    expect(await rig.surface()).toEqual([]);
    await evictDurableObject(rig.session.stub());
    await rig.surface();
    await rig.plug();
    await step(rig);
    expect(messagesOf(rig)).toEqual([user("note")]);
    expect(await rig.bodies("inbox/claimed")).toHaveLength(1);
  });

  it("[G91] a note that arrives while a step runs waits for the next one", async () => {
    const rig = await openRig();
    const release = rig.hold();
    const running = step(rig, { messages: [user("a")] });
    while (!(await rig.types()).includes("step/start")) await new Promise((done) => setTimeout(done, 5));
    expect((await enqueue(rig, "late")).waiting).toBe(1);
    release();
    await running;
    expect(await rig.types()).not.toContain("inbox/claimed");
    await step(rig);
    expect(messagesOf(rig).at(-1)).toEqual(user("late"));
  });

  it("[G91] [DSH-222] a key stands for one message: the same again is the first answer, another one is refused", async () => {
    const rig = await openRig();
    const post = (text: string) =>
      rig.session.request("POST", "/messages", { text }, { "idempotency-key": "n1" });
    const first = await (await post("note")).json();
    expect(await (await post("note")).json()).toEqual(first);
    expect((await post("other")).status).toBe(422);
    expect((await rig.bodies("inbox/enqueued")).map(({ message }) => message)).toEqual([
      JSON.stringify(user("note")),
    ]);
  });

  it("[G91] only user messages of the dialect wait there", async () => {
    const rig = await openRig();
    for (const message of [{ role: "assistant", content: "x" }, result("x", "y")]) {
      expect((await rig.refused("POST", "/messages", { message })).code).toBe("bad-message");
    }
    expect((await rig.refused("POST", "/messages", {})).status).toBe(400);
    expect((await rig.refused("POST", "/messages", { text: "a", message: user("a") })).status).toBe(400);
    const parts = { role: "user", content: [{ type: "text", text: "as parts" }], name: "ann" };
    await rig.session.expect(202, "POST", "/messages", { message: parts });
    await step(rig);
    expect(messagesOf(rig)).toEqual([parts]);
  });
});

describe("the inbox under pressure", () => {
  it("[G91] [PI-042] nothing is compacted when a turn ends over the threshold; the next step compacts first and sends the note as it is", async () => {
    const rig = await openRig();
    await rig.turns(40);
    expect(await rig.types()).not.toContain("compaction/start");
    expect(rig.provider.requests).toHaveLength(0);
    await enqueue(rig, "the waiting note");
    rig.provider.will({ do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
    const done = await step(rig);
    expect(done.compaction).toMatchObject({ outcome: "done" });
    const types = await rig.types();
    expect(types.indexOf("compaction/end")).toBeLessThan(types.indexOf("step/start"));
    expect(messagesOf(rig).at(-1)).toEqual(user("the waiting note"));
    expect(messagesOf(rig).filter(({ content }) => content === "the waiting note")).toHaveLength(1);
  });

  it("[G91] [PI-054] re-based: a summary that fails in a tool turn, below the hard limit: the request goes out, both notes with it", async () => {
    const rig = await openRig();
    await rig.turns(24);
    rig.provider.will({ do: "reply", calls: [{ name: "read", args: "{}" }] });
    const call = callOf((await step(rig, { messages: [user("read it")] })).reply[0]!);
    await enqueue(rig, "steer");
    await enqueue(rig, "follow up");
    const noKey = { error: { message: "Incorrect API key", code: "invalid_api_key" } };
    rig.provider.will({ do: "refuse", status: 401, body: noKey }, { do: "reply", text: "ok" });
    await step(rig, { messages: [result(call, words(2_500))] });
    expect(await rig.bodies("compaction/attempt")).toMatchObject([{ outcome: "failed" }]);
    expect(messagesOf(rig).slice(-2)).toEqual([user("steer"), user("follow up")]);
    expect(await rig.bodies("inbox/claimed")).toHaveLength(1);
  });

  it("[G91] [PI-054] re-based: above the hard limit and irreducible: no request, and both notes wait on", async () => {
    const rig = await openRig();
    rig.provider.will({ do: "reply", calls: [{ name: "read", args: "{}" }] });
    await step(rig, { messages: [user("read it")] });
    const requests = rig.provider.requests.length;
    await enqueue(rig, words(6_000, "steer"));
    await enqueue(rig, words(6_000, "follow"));
    expect(await rig.refused("POST", "/steps", {})).toMatchObject({ status: 409, code: "irreducible" });
    expect(rig.provider.requests).toHaveLength(requests);
    expect(await rig.types()).not.toContain("inbox/claimed");
    expect(await rig.bodies("inbox/enqueued")).toHaveLength(2);
  });
});

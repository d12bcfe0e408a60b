/** Runtime context through real steps: told once per change, again where a compaction shadowed it, accepted with the reply. */
import { afterEach, describe, expect, it } from "vitest";
import { checkRigs, type Message, openRig, type Rig, said, user, words } from "../support/rig.ts";

afterEach(checkRigs);

interface Stepped {
  compaction: { outcome: string } | null;
  pressure: { incoming: number };
}

const step = (rig: Rig, content: string, body: object) =>
  rig.session.expect<Stepped>(200, "POST", "/steps", { ...body, messages: [user(content)] });
const bodies = (rig: Rig) => rig.provider.requests.map(({ body }) => body as { messages: Message[] });
const contexts = (messages: readonly Message[]) =>
  messages.map(({ content }) => String(content)).filter((text) => text.startsWith("<runtime-context"));
const lastContexts = (rig: Rig) => contexts(bodies(rig).at(-1)!.messages);

describe("runtime context", () => {
  it("[G92] [DSH-217] is told when it is new, when it changed and when it ended; the system prompt stays as it is", async () => {
    const rig = await openRig();
    const system = "Be brief.";
    const given = ["read-only", "read-only", "write", null, null];
    for (const [n, runtimeContext] of given.entries())
      await step(rig, `ask ${n}`, { system, runtimeContext });
    const events = await rig.events();
    const parents = events.filter(({ type }) => type === "context/runtime");
    expect(parents).toHaveLength(3);
    const told = bodies(rig).map(({ messages }) => contexts(messages));
    expect(told.map((texts) => texts.length)).toEqual([1, 1, 2, 3, 3]);
    expect(told[3]!.at(-1)).toContain('active="none"');
    const systems = bodies(rig).map(({ messages }) => JSON.stringify(messages[0]));
    expect(new Set(systems)).toEqual(new Set([JSON.stringify({ role: "system", content: system })]));
    expect(events.filter(({ type }) => type === "request/header")).toHaveLength(1);
  });

  it("[G92] [DSH-194] [KIMI-030] re-based: a compaction that shadows it makes the same request tell it again, once", async () => {
    const rig = await openRig();
    await step(rig, "start", { runtimeContext: "mode A" });
    await rig.turns(40);
    rig.provider.will({ do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
    const done = await step(rig, "go on", { runtimeContext: "mode A" });
    expect(done.compaction).toMatchObject({ outcome: "done" });
    const { messages } = bodies(rig).at(-1)!;
    expect(String(messages[0]!.content)).toContain("compacted-summary");
    expect(String(messages[0]!.content)).not.toContain("runtime-context");
    expect(lastContexts(rig)).toHaveLength(1);
    await step(rig, "and on", { runtimeContext: "mode A" });
    expect(lastContexts(rig)).toHaveLength(1);
  });

  it("[G92] [DSH-219] one that ended after it was shadowed is ended with one notice", async () => {
    const rig = await openRig();
    await step(rig, "start", { runtimeContext: "mode A" });
    await rig.turns(40);
    rig.provider.will({ do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
    await step(rig, "go on", { runtimeContext: null });
    expect(lastContexts(rig)).toEqual([expect.stringContaining('active="none"')]);
    await step(rig, "and on", { runtimeContext: null });
    expect(lastContexts(rig)).toHaveLength(1);
  });

  it("[G92] [DSH-193] stays in its session", async () => {
    const [one, two] = [await openRig(), await openRig()];
    await step(one, "a", { runtimeContext: "only of one" });
    await step(two, "a", {});
    expect(JSON.stringify(await two.events())).not.toContain("only of one");
    expect(JSON.stringify(bodies(two))).not.toContain("runtime-context");
  });

  it("[G92] a step that fails has told nothing: the next one tells it, once", async () => {
    const rig = await openRig();
    await step(rig, "a", {});
    rig.provider.will({ do: "refuse", status: 400, body: { error: { message: "no" } } });
    const refused = { messages: [user("b")], runtimeContext: "mode A" };
    await rig.refused("POST", "/steps", refused);
    expect(contexts(await rig.surface())).toEqual([]);
    await step(rig, "b", { runtimeContext: "mode A" });
    expect(lastContexts(rig)).toHaveLength(1);
  });

  it("[G92] a fork in front of it is told it again", async () => {
    const rig = await openRig();
    await step(rig, "a", {});
    const { head } = await rig.session.expect<{ head: number }>(200, "GET", "/");
    await step(rig, "b", { runtimeContext: "mode A" });
    await rig.session.expect(201, "POST", "/branches", { from: head, name: "fork" });
    const body = { messages: [user("c")], runtimeContext: "mode A" };
    await rig.session.expect(200, "POST", "/steps?branch=fork", body);
    expect(lastContexts(rig)).toHaveLength(1);
    expect(bodies(rig).at(-1)!.messages).not.toContainEqual(user("b"));
  });

  it("[G92] weighs on the request that tells it, and not on the next one", async () => {
    const rig = await openRig();
    const runtimeContext = words(500);
    const first = await rig.prepare([user("a")], { runtimeContext });
    expect(first.pressure.incoming).toBeGreaterThan(500);
    await rig.append([said({ role: "assistant", content: "ok" })], { prepareId: first.prepareId });
    const second = await rig.prepare([user("a")], { runtimeContext });
    expect(second.pressure.incoming).toBeLessThan(50);
  });
});

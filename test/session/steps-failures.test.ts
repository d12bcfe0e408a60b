/** Native steps whose provider refuses: failures that pass by themselves, and requests that do not fit. */
import { afterEach, describe, expect, it } from "vitest";
import { checkRigs, openRig, user, words } from "../support/rig.ts";
import { limited, reply, sent, state, step, tooLong, unavailable, until } from "./native-steps.ts";

afterEach(checkRigs);

describe("failures that pass", () => {
  it("[G89] [DSH-159] two failures, then success, all in one step", async () => {
    const rig = await openRig();
    rig.provider.will(limited({ "retry-after": "0" }), unavailable, { do: "reply", text: "ok" });
    const done = await step(rig, { messages: [user("a")] });
    expect(done.reply).toEqual([reply("ok")]);
    const bodies = rig.provider.requests.map(({ bytes }) => new TextDecoder().decode(bytes));
    expect(bodies).toHaveLength(3);
    expect(new Set(bodies).size).toBe(1);
    const seq = Number(done.stepId.slice(1));
    expect(await rig.bodies("step/failed")).toEqual([
      { step: seq, reason: "rate-limit", status: 429, resend: true },
      { step: seq, reason: "http", status: 503, resend: true },
    ]);
    expect((await rig.types()).slice(3)).toEqual([
      "message/user",
      "step/start",
      "step/failed",
      "step/failed",
      "usage/reported",
      "message/assistant",
      "step/end",
    ]);
    expect((await state(rig)).running).toEqual([]);
  });

  it("[G89] are waited out twice at most, never for longer than the policy allows, and not after a word of the reply", async () => {
    const rig = await openRig();
    rig.provider.will(unavailable, unavailable, unavailable);
    expect(await rig.refused("POST", "/steps", { messages: [user("a")] })).toMatchObject({
      code: "upstream",
      upstreamStatus: 503,
    });
    expect(rig.provider.requests).toHaveLength(3);
    rig.provider.will(limited({ "retry-after": "3600" }));
    const tired = await rig.session.request("POST", "/steps", { messages: [user("a")] });
    expect([tired.status, tired.headers.get("retry-after")]).toEqual([502, "3600"]);
    expect(await tired.json()).toMatchObject({ upstreamStatus: 429, retryAfter: 3_600 });
    expect(rig.provider.requests).toHaveLength(4);
    const overloaded = { error: { message: "Overloaded", type: "server_error", code: "server_error" } };
    rig.provider.will({ do: "error-event", after: "par", error: overloaded });
    const response = await rig.session.request("POST", "/steps", { messages: [user("a")], stream: true });
    expect(await response.text()).toContain("Overloaded");
    expect(rig.provider.requests).toHaveLength(5);
    expect((await rig.types()).slice(-1)).toEqual(["step/failed"]);
    expect((await state(rig)).head).toBe(0);
  });

  it("[G89] a wait is over at once when the step is cancelled", async () => {
    const rig = await openRig();
    rig.provider.will(limited({ "retry-after": "60" }));
    const running = rig.refused("POST", "/steps", { messages: [user("a")] });
    await until(async () => (await rig.types()).includes("step/failed"));
    expect((await state(rig)).running).toMatchObject([{ kind: "step" }]);
    await rig.session.expect(200, "POST", "/cancel");
    expect((await running).code).toBe("cancelled");
    expect(rig.provider.requests).toHaveLength(1);
  });

  it("[G89] [PI-056] the compaction ends before the first request; what is sent again is the same, and is not compacted anew", async () => {
    const rig = await openRig();
    await rig.turns(40);
    // The first call is the summary.
    rig.provider.will({ do: "reply", text: words(50) }, unavailable, { do: "reply", text: "ok" });
    const before = rig.provider.requests.length;
    await step(rig, { messages: [user("go on")] });
    const types = await rig.types();
    expect(types.indexOf("compaction/end")).toBeLessThan(types.indexOf("step/start"));
    expect(types.filter((type) => type === "compaction/start")).toHaveLength(1);
    const [second, third] = rig.provider.requests.slice(-2);
    expect(rig.provider.requests.length).toBeGreaterThan(before + 1);
    expect(third!.bytes).toEqual(second!.bytes);
  });

  it("[G89] [PI-056] a compaction that can not make it fit: nothing is sent at all", async () => {
    const rig = await openRig({ provider: false, capacity: { window: 3_000, maxOutput: 1_000 } });
    const refused = await rig.refused("POST", "/steps", { messages: [user(words(4_000))] });
    expect(refused.status).not.toBe(200);
    expect((await state(rig)).head).toBe(0);
  });
});

describe("an overflow inside a step", () => {
  it("[G90] is recovered before the caller sees anything; one step, one reply", async () => {
    const rig = await openRig({ capacity: { window: 13_000, maxOutput: 3_000 } });
    await rig.turns(30);
    rig.provider.will(tooLong(), { do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
    const done = await step(rig, { messages: [user("the question")] });
    expect(done.reply).toEqual([reply("ok")]);
    expect(done.generation).toBe(1);
    expect(done.compaction).toMatchObject({ trigger: "overflow", outcome: "done", generation: 1 });
    expect(done.compaction!.tokensAfter).toBeLessThan(done.compaction!.tokensBefore);
    const [ended] = await rig.bodies("compaction/end");
    expect(done.compaction).toMatchObject({ id: ended?.compaction, tokensAfter: ended?.tokensAfter });
    expect(sent(rig, rig.provider.requests.length - 1).at(-1)).toEqual(user("the question"));
    const types = await rig.types();
    expect(types.filter((type) => type.startsWith("step/"))).toEqual([
      "step/start",
      "step/failed",
      "step/end",
    ]);
    expect(types).toContain("route/learned");
  });

  it("[G90] [CF-037] what came before the overflow is discarded, and the recovered reply is stored once", async () => {
    const rig = await openRig({ capacity: { window: 13_000, maxOutput: 3_000 } });
    await rig.turns(30);
    const error = { error: { message: "too long", code: "context_length_exceeded" } };
    rig.provider.will(
      { do: "error-event", after: "", error },
      { do: "reply", text: "a summary of it" },
      { do: "reply", text: "recovered" },
    );
    const response = await rig.session.request("POST", "/steps", {
      messages: [user("the question")],
      stream: true,
    });
    const text = await response.text();
    expect(text).not.toContain("context_length_exceeded");
    expect(text).toContain("[DONE]");
    const shown = await rig.surface();
    expect(shown.filter(({ content }) => content === "recovered")).toHaveLength(1);
    expect((await rig.types()).filter((type) => type === "step/end")).toHaveLength(1);
  });

  it("[G90] [CF-037] a word that was passed on is not taken back: the error is told, and no part of the reply is stored", async () => {
    const rig = await openRig();
    const error = { error: { message: "too long", code: "context_length_exceeded" } };
    rig.provider.will({ do: "error-event", after: "par", error });
    const asked = { messages: [user("hi")], stream: true };
    const text = await (await rig.session.request("POST", "/steps", asked)).text();
    expect(text).toContain("context_length_exceeded");
    expect(text).not.toContain("[DONE]");
    expect(JSON.stringify(await rig.surface())).not.toContain("par");
    expect((await state(rig)).head).toBe(0);
  });

  it("[G90] [CF-044] a socket sees one end of the step and no error", async () => {
    const rig = await openRig({ capacity: { window: 13_000, maxOutput: 3_000 } });
    await rig.turns(30);
    const live = await rig.session.live();
    await live.until(({ type }) => type === "ready");
    rig.provider.will(tooLong(), { do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
    await step(rig, { messages: [user("the question")] });
    await live.until(({ event }) => event?.type === "step/end");
    expect(live.frames.filter(({ event }) => event?.type === "step/end")).toHaveLength(1);
    expect(live.frames.filter(({ type }) => type === "error")).toEqual([]);
    const replies = live.frames.filter(({ event }) => event?.type === "message/assistant");
    expect(replies.at(-1)!.event!.body).toEqual(reply("ok"));
    live.close();
  });
});

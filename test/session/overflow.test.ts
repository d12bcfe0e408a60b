/** `POST /overflow`: what the harness is told after the provider refused a prepared request. */
import { afterEach, describe, expect, it } from "vitest";
import { overflowRefusal } from "../../cli/loop/checks.ts";
import {
  calls,
  checkRigs,
  type Message,
  openRig,
  type Rig,
  reply,
  result,
  said,
  usage,
  user,
  words,
} from "../support/rig.ts";

afterEach(checkRigs);

interface Recovery {
  action: "retry" | "none";
  reason?: string;
  messages: Message[];
  maxOutput: number | null;
  generation: number;
}

const refusedWith = (numbers: { limit: number; input: number; output?: number }) => {
  const { status, body } = overflowRefusal("openai-chat", numbers);
  return { status, body };
};
const recover = (rig: Rig, prepareId: string, said: object) =>
  rig.session.expect<Recovery>(200, "POST", "/overflow", { prepareId, ...said });

/** A prepared request of about 6,000 tokens, below every threshold. */
async function asked(options: Parameters<typeof openRig>[0] = {}) {
  const rig = await openRig({ capacity: { window: 13_000, maxOutput: 3_000 }, ...options });
  await rig.turns(30);
  const { prepareId, messages, pressure } = await rig.prepare([user("the question")], { maxOutput: 3_000 });
  return { rig, prepareId, messages, pressure };
}

describe("the output cap alone", () => {
  it("[O14] is clamped to the room that is left, and nothing is compacted", async () => {
    const { rig, prepareId, messages } = await asked();
    const numbers = { limit: 9_000, input: 6_500, output: 3_000 };
    const answer = await recover(rig, prepareId, refusedWith(numbers));
    expect(answer).toMatchObject({ action: "retry", generation: 0, maxOutput: 9_000 - 6_500 - 64 });
    expect(answer.messages).toEqual(messages);
    expect(await rig.types()).not.toContain("compaction/start");
    expect(await rig.bodies("step/failed")).toEqual([
      { step: Number(prepareId.slice(1)), reason: "overflow", status: 400, resend: true },
    ]);
  });

  it("[O14] is never raised by it", async () => {
    const { rig, prepareId } = await asked();
    const numbers = { limit: 12_000, input: 6_000, output: 7_000 };
    expect((await recover(rig, prepareId, refusedWith(numbers))).maxOutput).toBe(3_000);
  });

  it("[O14] is not clamped to nothing: with too little room left the history gives way", async () => {
    const { rig, prepareId } = await asked();
    const numbers = { limit: 6_600, input: 6_500, output: 3_000 };
    const answer = await recover(rig, prepareId, refusedWith(numbers));
    expect(answer).toMatchObject({ action: "retry", generation: 1 });
    expect(answer.maxOutput).toBeGreaterThan(256);
  });
});

describe("the input", () => {
  it("[O15] [DSH-142] [CF-036] [CF-042] [OC-020] [KIMI-037] one recovery: checkpoint in front, the question at the end, the same step and envelope", async () => {
    const { rig, prepareId } = await asked();
    const answer = await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 6_600 }));
    expect(answer).toMatchObject({ action: "retry", generation: 1 });
    expect(String(answer.messages[0]!.content)).toContain("compacted-summary");
    expect(answer.messages.filter(({ role }) => role === "user").at(-1)).toEqual(user("the question"));
    expect(answer.messages.at(-1)).toEqual(user("the question"));
    expect(JSON.stringify(answer.messages)).not.toContain("told0 word");
    expect(rig.provider.requests).toHaveLength(1);
    const types = await rig.types();
    const inside = types.slice(types.indexOf("step/start"));
    expect(inside).toEqual([
      "step/start",
      "route/learned",
      "compaction/start",
      "compaction/summary",
      "surface/replace",
      "compaction/end",
      "step/failed",
    ]);
    const answered = await rig.append([said(reply("the answer")), usage(2_000, 3)], { prepareId });
    expect(answered.generation).toBe(1);
    expect((await rig.types()).slice(-3)).toEqual(["usage/reported", "message/assistant", "step/end"]);
    expect(types.filter((type) => type === "step/start")).toHaveLength(1);
  });

  it("[O15] fits what the provider said, in the provider's own counting", async () => {
    const { rig, prepareId, pressure } = await asked();
    const input = Math.round(1.5 * pressure.tokens);
    await recover(rig, prepareId, refusedWith({ limit: 6_000, input }));
    const [start] = await rig.bodies("compaction/start");
    expect(start).toMatchObject({ trigger: "overflow", tokens: input, step: Number(prepareId.slice(1)) });
    const [end] = await rig.bodies("compaction/end");
    expect(end!.tokensAfter as number).toBeLessThanOrEqual(6_000 - 1_000);
  });

  it("[O15] without numbers a quarter is taken off what seemed to fit", async () => {
    const { rig, prepareId, pressure } = await asked();
    const body = { error: { message: "Please reduce the length.", code: "context_length_exceeded" } };
    const answer = await recover(rig, prepareId, { status: 400, body });
    expect(answer.action).toBe("retry");
    const [end] = await rig.bodies("compaction/end");
    expect(end!.tokensAfter as number).toBeLessThanOrEqual(0.75 * pressure.tokens);
  });

  it("[O15] [DSH-027] [KIMI-040] on a route of unknown window", async () => {
    const { rig, prepareId } = await asked({ capacity: {} });
    const answer = await recover(rig, prepareId, refusedWith({ limit: 4_096, input: 6_600 }));
    expect(answer).toMatchObject({ action: "retry", generation: 1 });
    expect(answer.maxOutput).toBeLessThan(4_096);
  });

  it("[O15] [PI-065] when the window itself ended the reply, the answer being empty", async () => {
    const { rig, prepareId } = await asked();
    const full = { usage: { prompt_tokens: 12_900, completion_tokens: 0 }, finish: "length" };
    expect((await recover(rig, prepareId, full)).action).toBe("retry");
  });
});

describe("the ladder", () => {
  it("[O16] [DSH-138] [PI-049] three re-sends, each with less; then the refusal, naming what weighs", async () => {
    const rig = await openRig();
    await rig.turns(20);
    await rig.say(user("read it"), calls(["c1"]));
    const { prepareId } = await rig.prepare([result("c1", words(3_000))]);
    const shown: number[] = [];
    for (let n = 0; n < 3; n++) {
      const { tokens } = await rig.pressure();
      const report = refusedWith({ limit: Math.max(256, Math.floor(0.85 * tokens)), input: tokens });
      const { action, messages } = await recover(rig, prepareId, report);
      expect(action).toBe("retry");
      expect(messages.at(-2)).toEqual(calls(["c1"]));
      shown.push(JSON.stringify(messages).length);
    }
    expect(shown).toEqual([...new Set(shown)].sort((a, b) => b - a));
    const starts = (await rig.bodies("compaction/start")).length;
    const last = refusedWith({ limit: 300, input: 600 });
    const refusal = await rig.refused("POST", "/overflow", { prepareId, ...last });
    expect(refusal).toMatchObject({ code: "irreducible", status: 409 });
    expect((refusal.contributors as object[]).length).toBeGreaterThan(0);
    expect(await rig.bodies("compaction/start")).toHaveLength(starts);
    expect(await rig.bodies("step/failed")).toHaveLength(3);
  });

  it("[O16] [DSH-138] a new step has a recovery of its own", async () => {
    const { rig, prepareId } = await asked();
    for (let n = 0; n < 3; n++)
      await recover(rig, prepareId, refusedWith({ limit: 9_000, input: 7_000, output: 3_000 }));
    expect(
      (await rig.refused("POST", "/overflow", { prepareId, ...refusedWith({ limit: 6_000, input: 6_600 }) }))
        .code,
    ).toBe("irreducible");
    await rig.append([said(reply("at last"))], { prepareId });
    const next = await rig.prepare([user("more")]);
    expect((await recover(rig, next.prepareId, refusedWith({ limit: 6_000, input: 6_600 }))).action).toBe(
      "retry",
    );
  });

  it("[O12] [DSH-134] [CF-039] [OH-009] nothing to take away: refused at once, no generation, no re-send", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user(words(2_000))]);
    const refusal = await rig.refused("POST", "/overflow", {
      prepareId,
      ...refusedWith({ limit: 1_500, input: 2_100 }),
    });
    expect(refusal).toMatchObject({ code: "irreducible", status: 409 });
    expect(await rig.bodies("step/failed")).toEqual([]);
    expect(await rig.bodies("compaction/end")).toMatchObject([
      { outcome: "failed", reason: "irreducible", progress: false },
    ]);
    expect((await rig.session.expect<{ generation: number }>(200, "GET", "/")).generation).toBe(0);
  });

  it("[O11] [DSH-129] [DSH-131] a long result is shortened first, protected or exempt or not, and landed rungs stay", async () => {
    const policy = { prune: { exemptTools: ["read"] } };
    const rig = await openRig({ policy, provider: false });
    await rig.say(user("read it"), calls(["c1"]));
    const { prepareId } = await rig.prepare([result("c1", words(7_000))]);
    const answer = await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 7_100 }));
    expect(answer).toMatchObject({ action: "retry", generation: 1 });
    expect(String(answer.messages.at(-1)!.content)).toContain("Plimsoll left out");
    expect(await rig.bodies("compaction/end")).toMatchObject([{ rungs: ["prune"], outcome: "done" }]);
  });

  it("[O17] long arguments of the newest unit are clipped where a cut can not help", async () => {
    const rig = await openRig({ provider: false });
    const write = calls(["c1"], "write", JSON.stringify({ path: "a.ts", text: words(7_000) }));
    await rig.say(user("write it"), write);
    const { prepareId } = await rig.prepare([result("c1", "done")]);
    const answer = await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 7_100 }));
    expect(answer.action).toBe("retry");
    const call = (answer.messages.at(-2)!.tool_calls as { function: { arguments: string } }[])[0]!;
    expect(JSON.parse(call.function.arguments)).toMatchObject({ path: "a.ts" });
    const [end] = await rig.bodies("compaction/end");
    expect(end!.rungs).toContain("clip");
  });

  it("[O16] [DSH-137] a summarizer that fails under it is a rung like any other: code goes on", async () => {
    const { rig, prepareId } = await asked();
    rig.provider.will({ do: "server-error", status: 400 }, { do: "server-error", status: 400 });
    expect((await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 6_600 }))).action).toBe("retry");
    expect(await rig.bodies("compaction/end")).toMatchObject([{ rungs: ["extractive"] }]);
  });

  it("[O16] [OC-016] so is one that overflows itself", async () => {
    const { rig, prepareId } = await asked();
    const full = { do: "overflow", limit: 800, input: 9_000 } as const;
    rig.provider.will(full, full, full);
    expect((await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 6_600 }))).action).toBe("retry");
  });
});

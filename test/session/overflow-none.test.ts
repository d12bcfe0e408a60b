/** `POST /overflow` where nothing is to be recovered: what was said is no overflow, or recovery may not run. */
import { afterEach, describe, expect, it } from "vitest";
import { overflowRefusal } from "../../cli/loop/checks.ts";
import {
  checkRigs,
  type Message,
  openRig,
  type Problem,
  type Rig,
  reply,
  said,
  user,
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

describe("none of it", () => {
  const rate = {
    status: 429,
    body: { error: { message: "Rate limit reached: too many tokens", code: "rate_limit_exceeded" } },
  };
  const answered = { usage: { prompt_tokens: 14_000, completion_tokens: 40 }, finish: "stop" };
  const nones: [string, object, string, object?][] = [
    ["[DSH-138] [DSH-143] a rate limit", rate, "rate-limit"],
    [
      "a quota that is used up",
      {
        status: 429,
        body: { error: { message: "You exceeded your current quota", code: "insufficient_quota" } },
      },
      "quota",
    ],
    ["[CF-051] a server's own fault", { status: 500, body: { error: { message: "oops" } } }, "not-overflow"],
    [
      "[KIMI-039] a plain 413 of a small request",
      { status: 413 },
      "not-overflow",
      { capacity: { window: 100_000 } },
    ],
    ["[PI-050] an answer that is there, though it was over the window", answered, "answered"],
    [
      "[PI-066] a reply cut at its output cap",
      { usage: { prompt_tokens: 1_000, completion_tokens: 900 }, finish: "length" },
      "not-overflow",
    ],
    [
      "[OH-020] re-based: a history that the provider calls malformed",
      { status: 400, body: { error: { message: "tool_use ids were found without tool_result blocks" } } },
      "not-overflow",
    ],
    [
      "an answer like any other",
      { usage: { prompt_tokens: 1_000, completion_tokens: 9 }, finish: "stop" },
      "not-overflow",
    ],
    [
      "[DSH-140] [DSH-141] recovery is off",
      refusedWith({ limit: 5_000, input: 6_600 }),
      "off",
      { policy: { overflowRecovery: false } },
    ],
  ];
  it.each(nones)(
    "[O18] %s: no retry, nothing written, the step still in progress",
    async (_, report, reason, options) => {
      const { rig, prepareId } = await asked(options ?? {});
      const end = (await rig.events()).length;
      expect(await recover(rig, prepareId, report)).toEqual({ action: "none", reason });
      expect(await rig.events()).toHaveLength(end);
      expect((await rig.session.expect<{ running: object[] }>(200, "GET", "/")).running).toMatchObject([
        { kind: "step", id: prepareId },
      ]);
    },
  );

  it("[O18] [DSH-140] with recovery off the threshold still works, and the other way round", async () => {
    const off = await openRig({ policy: { overflowRecovery: false } });
    await off.turns(41);
    expect((await off.prepare([user("a")])).compaction).toMatchObject({ outcome: "done" });
    const { rig, prepareId } = await asked({ policy: { auto: false } });
    expect((await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 6_600 }))).action).toBe("retry");
  });

  it("[O18] a step that is not in progress can not overflow", async () => {
    const { rig, prepareId } = await asked();
    const report = refusedWith({ limit: 5_000, input: 6_600 });
    for (const unknown of ["p1", "p999", "x", ""]) {
      expect(await rig.refused("POST", "/overflow", { prepareId: unknown, ...report })).toMatchObject({
        code: "no-step",
        at: "prepareId",
      });
    }
    await rig.append([said(reply("done"))], { prepareId });
    expect((await rig.refused("POST", "/overflow", { prepareId, ...report })).code).toBe("stale-head");
  });

  it("[O19] [CF-041] [DSH-160] cancelled in the middle: no retry, and the Surface is as it was", async () => {
    const { rig, prepareId, messages } = await asked();
    rig.provider.will({ do: "hang" });
    const answer = rig.session.request("POST", "/overflow", {
      prepareId,
      ...refusedWith({ limit: 5_000, input: 6_600 }),
    });
    await expect.poll(() => rig.provider.requests.length).toBe(1);
    await rig.session.expect(200, "POST", "/cancel");
    expect(await (await answer).json<Problem>()).toEqual({ action: "none", reason: "cancelled" });
    expect(await rig.surface()).toEqual(messages);
  });

  it("[O19] while another compaction holds the branch it is not tried", async () => {
    const rig = await openRig();
    await rig.turns(30);
    const release = rig.hold();
    const manual = rig.session.expect(200, "POST", "/compact");
    await expect.poll(async () => await rig.types()).toContain("compaction/start");
    const { prepareId } = await rig.prepare([user("quick")]);
    expect(await recover(rig, prepareId, refusedWith({ limit: 5_000, input: 6_600 }))).toEqual({
      action: "none",
      reason: "busy",
    });
    release();
    await manual;
  });
});

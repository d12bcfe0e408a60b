/** Limits that a provider taught by refusing: from then on requests are compacted before they are sent. */
import { afterEach, expect, it } from "vitest";
import { checkRigs, openRig, type Rig, user } from "../support/rig.ts";

afterEach(checkRigs);

const WEEK = 7 * 24 * 60 * 60 * 1000;
const budget = async (rig: Rig) =>
  (
    await rig.session.expect<{ budget: { window: number; threshold: number; source: string } }>(
      200,
      "GET",
      "/pressure",
    )
  ).budget;
const refusal = {
  do: "refuse" as const,
  status: 400,
  body: { error: { message: "Please reduce the length.", code: "context_length_exceeded" } },
};

it("[G93] [KIMI-038] a refusal in a native step teaches the route's real limit: the same size again is compacted first, until it expires", async () => {
  const rig = await openRig({ capacity: { window: 20_000, maxOutput: 1_000 } });
  await rig.turns(55);
  rig.provider.will(refusal, { do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
  const before = await rig.pressure();
  await rig.session.expect(200, "POST", "/steps", { messages: [user("the question")] });
  const [{ limits }] = (await rig.bodies("route/learned")) as [{ limits: { inputLimit?: number }[] }];
  expect(limits[0]!.inputLimit! / before.tokens).toBeGreaterThan(0.85);
  expect(limits[0]!.inputLimit! / before.tokens).toBeLessThan(0.95);
  expect((await budget(rig)).source).toBe("learned");
  // To the same size again: nothing is refused this time.
  await rig.turns(55);
  rig.provider.will({ do: "reply", text: "another summary" }, { do: "reply", text: "ok" });
  const done = await rig.session.expect<{ compaction: object | null }>(200, "POST", "/steps", {
    messages: [user("again")],
  });
  expect(done.compaction).toMatchObject({ trigger: "pressure", outcome: "done" });
  expect((await rig.bodies("step/failed")).length).toBe(1);
  rig.pass(WEEK + 1);
  expect((await budget(rig)).source).toBe("config");
});

it("[G93] a request that the provider took disproves a limit below it", async () => {
  const rig = await openRig({ capacity: { window: 20_000, maxOutput: 1_000 } });
  await rig.turns(55);
  rig.provider.will(refusal, { do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
  await rig.session.expect(200, "POST", "/steps", { messages: [user("the question")] });
  expect((await budget(rig)).source).toBe("learned");
  rig.provider.will({ do: "reply", text: "ok", usage: { input: 15_000 } });
  await rig.session.expect(200, "POST", "/steps", { messages: [user("and")] });
  expect((await budget(rig)).source).toBe("config");
});

/** What bounds automatic compaction, end to end: the breaker and the budget of paid summaries. */
import { afterEach, describe, expect, it } from "vitest";
import { checkRigs, openRig, type Rig, reply, said, user, words } from "../support/rig.ts";

afterEach(checkRigs);

const starts = async (rig: Rig) => (await rig.bodies("compaction/start")).length;

/** Over the threshold by one message that nothing can help: 9,500 of 10,000. */
async function stuck(): Promise<Rig> {
  const rig = await openRig();
  await rig.say(user(words(9_500)));
  return rig;
}

describe("the breaker", () => {
  it("[C39] [DSH-145] stops automatic attempts after three without progress; the steps go on", async () => {
    const rig = await stuck();
    for (let n = 0; n < 6; n++) {
      const { compaction, pressure } = await rig.prepare([]);
      expect(pressure.tokens).toBeGreaterThan(8_000);
      if (n < 3) expect(compaction).toMatchObject({ outcome: "failed", rungs: [] });
      else expect(compaction).toBeNull();
    }
    expect(await starts(rig)).toBe(3);
    expect(rig.provider.requests).toHaveLength(0);
  });

  const cures: [string, (rig: Rig) => Promise<unknown>][] = [
    ["another envelope", (rig) => rig.prepare([], { system: "be brief" })],
    ["another policy", (rig) => rig.session.expect(200, "PUT", "/", { policy: { runwayRatio: 0.2 } })],
    ["another capacity", (rig) => rig.session.expect(200, "PUT", "/", { capacity: { maxOutput: 999 } })],
    ["a tenth of the threshold more", (rig) => rig.say(reply(words(400)), user(words(400)))],
  ];
  it.each(cures)("[C39] tries again after %s", async (_, change) => {
    const rig = await stuck();
    for (let n = 0; n < 4; n++) await rig.prepare([]);
    await change(rig);
    await rig.prepare([]);
    expect(await starts(rig)).toBe(4);
  });

  it("[C39] not after a little more", async () => {
    const rig = await stuck();
    for (let n = 0; n < 4; n++) await rig.prepare([]);
    await rig.say(reply(words(100)));
    await rig.prepare([]);
    expect(await starts(rig)).toBe(3);
  });

  it("[C39] never stands in the way of a request that does not fit: then code alone runs", async () => {
    const rig = await stuck();
    for (let n = 0; n < 4; n++) await rig.prepare([]);
    await rig.say(reply("I see"));
    const { compaction } = await rig.prepare([user(words(600))]);
    expect(compaction!.rungs[0]).toBe("extractive");
    expect(rig.provider.requests).toHaveLength(0);
  });
});

describe("the budget of paid summaries", () => {
  /** Fills the window again and asks. */
  async function round(rig: Rig) {
    const { tokens } = await rig.pressure();
    await rig.turns(Math.ceil((8_100 - tokens) / 200));
    const { compaction, prepareId } = await rig.prepare([user("next")]);
    await rig.append([said(reply("done"))], { prepareId });
    return compaction!.rungs;
  }

  it("[C39] three in twenty steps by a model, then code, then a model again", async () => {
    const rig = await openRig();
    const rungs: string[] = [];
    for (let n = 0; n < 5; n++) rungs.push(...(await round(rig)));
    expect(rungs).toEqual(["summary", "summary", "summary", "extractive", "extractive"]);
    for (let n = 0; n < 20; n++) await rig.prepare([]);
    expect(await round(rig)).toEqual(["summary"]);
  });

  it("[C39] holds over all branches of the session, and a person is never kept waiting by it", async () => {
    const rig = await openRig();
    for (let n = 0; n < 3; n++) await round(rig);
    const { head } = await rig.session.expect<{ head: number }>(200, "GET", "/");
    await rig.session.expect(201, "POST", "/branches", { from: head, name: "side" });
    expect(await round(rig)).toEqual(["extractive"]);
    await rig.turns(3);
    await rig.session.expect(200, "POST", "/compact");
    expect((await rig.bodies("compaction/summary")).at(-1)).toMatchObject({ by: "fake/gpt-x" });
  });
});

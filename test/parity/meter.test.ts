/** Peers' cases about what a session weighs, re-based to exact counts and to one pressure for trigger and cut. */
import { evictDurableObject } from "cloudflare:test";
import { countTokens as oracleCount } from "gpt-tokenizer/encoding/o200k_base";
import { afterEach, describe, expect, it } from "vitest";
import { Defect } from "../../src/failure.ts";
import type { NewEvent } from "../../src/log/events.ts";
import { countTokens } from "../../src/meter/vocabulary.ts";
import { Bed, reply as short, user as typed } from "../support/engine.ts";
import { calls, checkRigs, openRig, reply, said, usage, user, words } from "../support/rig.ts";

afterEach(checkRigs);

describe("the sum of its parts", () => {
  it("[M23] [DSH-038] the prices of the nodes are the Surface's; an earlier answer does not change under a later append", async () => {
    const rig = await openRig();
    await rig.say(user("one"), reply(words(90)));
    const first = await rig.pressure();
    const copy = structuredClone(first);
    await rig.say(user(words(40)), calls(["a"]));
    const nodes = (await rig.events()).filter(({ type }) => type.startsWith("message/"));
    const sum = nodes.reduce((total, { price = 0 }) => total + price, 0);
    expect((await rig.pressure()).surface).toBe(sum);
    expect(first).toEqual(copy);
  });

  it("[M23] [DSH-039] without usage it is an estimate, and the envelope comes on top", async () => {
    const rig = await openRig();
    const tools = [{ type: "function", function: { name: "read", parameters: {} } }];
    const { pressure } = await rig.prepare([user("one")], { system: words(50), tools });
    expect(pressure.source).toBe("estimate");
    expect(pressure.envelope).toBe(51 + oracleCount(JSON.stringify(tools)));
    expect(pressure.tokens).toBe(pressure.envelope + pressure.incoming);
  });

  it("[M23] [DSH-040] [DSH-048] another envelope moves the total alone, by its own difference, from the anchor on", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("one")], { system: words(10) });
    await rig.append([said(reply("two")), usage(500, 5)], { prepareId: one.prepareId });
    const before = await rig.pressure();
    const grown = await rig.prepare([], { system: words(310) });
    expect(grown.pressure).toMatchObject({
      tokens: before.tokens + 300,
      source: "usage",
      surface: before.surface,
    });
    const params = await rig.prepare([], { params: { temperature: 1 } });
    expect(params.pressure).toMatchObject({ tokens: before.tokens + 300, source: "usage" });
    expect((await rig.prepare([], { tools: [] })).pressure.tokens).toBe(before.tokens + 300);
  });

  it("[M23] [DSH-045] a reply without usage leaves an estimate, and what follows adds to it", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("one")]);
    await rig.append([said(reply("two"))], { prepareId });
    const before = await rig.pressure();
    await rig.say(user(words(30)));
    const after = await rig.pressure();
    expect([before.source, after.source]).toEqual(["estimate", "estimate"]);
    expect(after.tokens - before.tokens).toBe(31 + 12);
  });

  it("[M23] [CLI-004] a message is weighed by its own texts, whatever numbers it carries", async () => {
    const rig = await openRig();
    const bare = (await rig.say(reply("two"))).pressure.tokens;
    const carried = { ...reply("two"), usage: { prompt_tokens: 900_000 }, metrics: { total: 10 ** 9 } };
    expect((await rig.say(carried)).pressure.tokens).toBe(2 * bare);
  });

  it.each([
    ["[OC-034] a text of 4,000", "word ".repeat(800)],
    ["[OC-034] a text of 20,000", "x".repeat(20_000)],
    ["[OC-034] [INV-001] nothing", ""],
    ["[INV-001] four characters", "abcd"],
    ["[INV-001] five", "abcde"],
  ])("[M23] re-based: %s weighs what the reference tokenizer says", (_, text) => {
    expect(countTokens(text)).toBe(oracleCount(text));
  });
});

describe("usage and compaction", () => {
  it("[M24] [PI-045] [PI-046] [DSH-049] re-based: usage from before a compaction is moved by what left, and triggers none", async () => {
    const rig = await openRig();
    await rig.turns(35);
    const one = await rig.prepare([user("ask")]);
    await rig.append([said(reply("told")), usage(9_400, 10)], { prepareId: one.prepareId });
    const anchored = await rig.pressure();
    expect(anchored).toMatchObject({ tokens: 9_410, source: "usage" });
    const { compaction } = await rig.prepare([user("next")]);
    expect(compaction).toMatchObject({ outcome: "done" });
    const after = await rig.pressure();
    expect(after.source).toBe("usage");
    expect(after.tokens).toBe(9_410 - (anchored.surface - after.surface));
    expect((await rig.prepare([user("more")])).compaction).toBeNull();
  });

  it("[M24] [DSH-052] is the same after the object was evicted and opened again", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("ask")]);
    await rig.append([said(reply("told")), usage(700, 10)], { prepareId: one.prepareId });
    const before = await rig.pressure();
    await evictDurableObject(rig.session.stub());
    expect(await rig.pressure()).toEqual(before);
  });
});

describe("a malformed log", () => {
  const step = { route: null, envelope: "", view: 0, generation: 0, maxOutput: null, deadline: 9 };
  const place = { at: 1, branch: 2 };
  const wrong: [string, NewEvent[]][] = [
    ["the end of a step that never began", [{ ...place, type: "step/end", meta: { step: 5 } }]],
    [
      "two steps at once",
      [
        { ...place, type: "step/start", meta: step },
        { ...place, type: "step/start", meta: step },
      ],
    ],
    [
      "the end of another step",
      [
        { ...place, type: "step/start", meta: step },
        { ...place, type: "step/end", meta: { step: 1 } },
      ],
    ],
    ["a node without its bytes", [{ ...place, type: "message/user", meta: {} }]],
    ["an event of a branch that is not there", [{ at: 1, branch: 77, type: "step/start", meta: step }]],
    [
      "a second beginning",
      [{ ...place, type: "session/created", meta: { dialect: "anthropic", version: 1 } }],
    ],
  ];
  it.each(wrong)("[M25] [DSH-051] %s is refused every time, and nothing of it is applied", (_, events) => {
    const bed = new Bed();
    bed.say(typed(5), short(5));
    const before = [bed.log.end(), bed.tip, bed.snapshot().measure];
    for (let n = 0; n < 2; n++) {
      expect(() => bed.write(...events)).toThrow(Defect);
      expect([bed.log.end(), bed.tip, bed.snapshot().measure]).toEqual(before);
    }
  });
});

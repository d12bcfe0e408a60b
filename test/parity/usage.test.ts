/** Peers' cases about what a provider reported, and about the prices of the log. */
import { afterEach, describe, expect, it } from "vitest";
import { type DialectName, dialectNames } from "../../src/dialects/dialect.ts";
import { usageOf } from "../../src/providers/usage.ts";
import { Bed, bytesOf, reply as short, user as typed } from "../support/engine.ts";
import { calls, checkRigs, openRig, type Rig, reply, said, usage, user, words } from "../support/rig.ts";
import { byCode, compacted } from "../support/summarizer.ts";

afterEach(checkRigs);

type Reported = Record<string, number> | null;
const reported = async (rig: Rig) =>
  (await rig.session.expect<{ usage: Reported }>(200, "GET", "/pressure")).usage;

describe("what a provider reported", () => {
  const rows: [string, DialectName, object, object][] = [
    [
      "[OC-035] input that includes what was read",
      "openai-chat",
      { prompt_tokens: 1_000, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 200 } },
      { input: 800, cacheRead: 200 },
    ],
    [
      "[OC-036] and what was written",
      "openai-chat",
      {
        prompt_tokens: 1_000,
        completion_tokens: 0,
        prompt_tokens_details: { cached_tokens: 200, cache_write_tokens: 300 },
      },
      { input: 500, cacheRead: 200, cacheWrite: 300 },
    ],
    [
      "[OC-036] beside the totals",
      "openai-chat",
      { prompt_tokens: 1_000, completion_tokens: 0, prompt_cache_hit_tokens: 200 },
      { input: 800, cacheRead: 200 },
    ],
    [
      "[OC-036] input that excludes both",
      "anthropic",
      { input_tokens: 500, output_tokens: 0, cache_read_input_tokens: 200, cache_creation_input_tokens: 300 },
      { input: 500, cacheRead: 200, cacheWrite: 300 },
    ],
    [
      "[OC-040] zeros",
      "openai-chat",
      { prompt_tokens: 0, completion_tokens: 0 },
      { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    ],
    [
      "[DSH-202] the prompt side apart from the output",
      "anthropic",
      {
        input_tokens: 100,
        output_tokens: 4_000,
        cache_read_input_tokens: 20,
        cache_creation_input_tokens: 5,
      },
      { input: 100, cacheRead: 20, cacheWrite: 5, output: 4_000 },
    ],
  ];
  it.each(rows)("[M26] %s becomes disjoint numbers", (_, dialect, raw, expected) => {
    expect(usageOf(dialect, raw)).toMatchObject(expected);
  });

  it("[M26] [OC-040] re-based: missing totals are no usage, not zeros", () => {
    for (const dialect of dialectNames)
      for (const raw of [{}, null, { prompt_tokens: 5 }]) expect(usageOf(dialect, raw)).toBeUndefined();
  });

  it("[M26] [DSH-195] [DSH-201] [PI-004] without a reply there is none: no invented zero", async () => {
    const rig = await openRig();
    expect(await reported(rig)).toBeNull();
    await rig.say(user("a"));
    expect(await reported(rig)).toBeNull();
  });

  it("[W2] [DSH-205] a socket is told of a window when it changes, of nothing else as if it had", async () => {
    const rig = await openRig({ capacity: { window: 64_000 } });
    const socket = await rig.session.live();
    await socket.until((frame) => frame.type === "ready");
    const windows = () =>
      socket.frames
        .map((frame) => frame.event as { type: string; body: { capacity: { window: number } } } | undefined)
        .filter((event) => event?.type === "session/configured")
        .map((event) => event?.body.capacity.window);
    expect(windows()).toEqual([64_000]);
    await rig.say(user("an unrelated record"));
    await rig.session.expect(200, "PUT", "/", { capacity: { window: 64_000 } });
    await rig.session.expect(200, "PUT", "/", { capacity: { window: 256_000 } });
    await expect.poll(windows).toEqual([64_000, 256_000]);
    const { events } = await rig.session.expect<{ events: { seq: number }[] }>(200, "GET", "/events");
    expect(socket.seqs()).toEqual(events.map(({ seq }) => seq));
    socket.close();
  });

  it("[M26] [DSH-203] is that of the newest request, not a sum, and stays when the route changes", async () => {
    const rig = await openRig();
    for (const input of [100, 250]) {
      const { prepareId } = await rig.prepare([user("a")]);
      await rig.append([said(reply("b")), usage(input, 3)], { prepareId });
    }
    expect(await reported(rig)).toMatchObject({ input: 250, output: 3 });
    await rig.session.expect(200, "PUT", "/", { route: "nobody/knows" });
    expect(await reported(rig)).toMatchObject({ input: 250 });
  });

  it("[M26] [DSH-196] [DSH-197] of several for one reply the last is the request's, counted once", async () => {
    const rig = await openRig();
    const one = await rig.prepare([user("a")]);
    await rig.append([usage(10, 2), said(reply("b")), usage(14, 5)], { prepareId: one.prepareId });
    expect(await reported(rig)).toMatchObject({ input: 14, output: 5 });
    expect((await rig.pressure()).tokens).toBe(19);
    const two = await rig.prepare([user("c")]);
    await rig.append([said(reply("d")), usage(30, 3), usage(30, 3)], { prepareId: two.prepareId });
    expect(await reported(rig)).toMatchObject({ input: 30, output: 3 });
    expect((await rig.pressure()).tokens).toBe(33);
    expect((await rig.bodies("usage/reported")).filter(({ anchor }) => anchor !== null)).toHaveLength(2);
  });

  it("[M26] [DSH-199] of a step that ended without a reply is kept in the log", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user("a")]);
    await rig.append([usage(9, 1), { type: "aborted" }], { prepareId });
    expect(await rig.bodies("usage/reported")).toMatchObject([
      { usage: { input: 9, output: 1 }, anchor: null },
    ]);
    expect(await reported(rig)).toBeNull();
  });

  it("[M26] [DSH-206] stays what it was while the pressure moves: up with what follows, down with a compaction", async () => {
    const rig = await openRig();
    const { prepareId } = await rig.prepare([user(words(400))]);
    const first = await rig.append([said(reply(words(200))), usage(500, 400)], { prepareId });
    const second = await rig.say(user(words(50)), reply("ok"));
    await rig.session.expect(200, "POST", "/compact");
    const third = await rig.pressure();
    expect(await reported(rig)).toMatchObject({ input: 500, output: 400 });
    expect(first.pressure.tokens).toBe(900);
    expect(second.pressure.tokens).toBeGreaterThan(900);
    expect(third.tokens).toBeLessThan(900);
  });
});

describe("prices", () => {
  it("[M27] [DSH-213] what is kept of a Surface's weight does not grow with its history", async () => {
    const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 } });
    const size = () => JSON.stringify([bed.tip, bed.log.view(bed.tip.view), bed.log.states()]).length;
    for (let turn = 0; turn < 13; turn++) bed.say(typed(3_988), short(3_988));
    const small = size();
    await compacted(bed, byCode, { trigger: "manual" });
    const once = size();
    for (let turn = 0; turn < 500; turn++) bed.say(typed(88), short(88));
    expect(size() - once).toBeLessThan(20);
    expect(once - small).toBeLessThan(600);
  });

  it("[M27] [DSH-214] an envelope is priced, its repetition is no event, and cleared it weighs nothing", async () => {
    const rig = await openRig();
    const parts = {
      system: words(20),
      tools: [{ type: "function", function: { name: "read", parameters: {} } }],
    };
    const { pressure } = await rig.prepare([], parts);
    expect(pressure.envelope).toBeGreaterThan(21);
    expect((await rig.prepare([], parts)).pressure).toEqual(pressure);
    expect(await rig.bodies("request/header")).toHaveLength(1);
    expect((await rig.prepare([], { system: null, tools: null })).pressure.envelope).toBe(0);
    await rig.say(user("a"));
  });

  it("[M27] [DSH-215] re-based: a message without text weighs its frame alone", async () => {
    const rig = await openRig();
    const one = (await rig.say(user("abcd"))).pressure.surface;
    await rig.say(reply("x"));
    const before = (await rig.pressure()).surface;
    const { prepareId } = await rig.prepare([user("abcd")]);
    await rig.append([said({ role: "assistant", content: "" }), usage(90, 0)], { prepareId });
    expect((await rig.pressure()).surface).toBe(before + one + 12);
  });
});

describe("what a replay of the log gives", () => {
  it("[B21] [DSH-075] the same Surface, generation and weight, from the events alone", async () => {
    const bed = new Bed({
      capacity: { window: 100_001, maxOutput: 1 },
      policy: { prune: { over: 400, head: 100, tail: 50, protectGroups: 0 } },
    });
    bed.say(
      typed(20),
      calls(["a"]),
      { role: "tool", tool_call_id: "a", content: "r".repeat(3_000) },
      short(20),
    );
    for (let turn = 0; turn < 45; turn++) bed.say(typed(988), short(988));
    await compacted(bed, byCode);
    const copy = new Bed();
    const rows = bed.log.read(3, { limit: 10_000, maxBytes: Number.POSITIVE_INFINITY });
    for (const row of rows) {
      const facts =
        row.size > 0
          ? {
              price: row.price,
              bytes: row.bytes,
              images: row.images,
              sampled: row.sampled,
              mend: row.mend,
              thinking: row.thinking,
            }
          : undefined;
      copy.write({
        type: row.type,
        at: row.at,
        branch: row.branch,
        meta: row.meta as never,
        ...(facts === undefined ? {} : { facts, body: bed.log.body(row.seq) }),
        ...(row.node === null ? {} : { open: row.node.open, turn: row.node.turn }),
      });
    }
    expect(copy.shown().map(bytesOf)).toEqual(bed.shown().map(bytesOf));
    expect(copy.items()).toEqual(bed.items());
    expect(copy.tip).toEqual(bed.tip);
    expect(bed.tip.gen).toBe(2);
  });
});

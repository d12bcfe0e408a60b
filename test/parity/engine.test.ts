/** Peers' cases about spans, summaries and their recursion that no unit's own tests hold. */
import { describe, expect, it } from "vitest";
import { fitShape } from "../../src/compaction/fit-shape.ts";
import { planSpan } from "../../src/compaction/plan.ts";
import type { PolicyInput } from "../../src/compaction/policy.ts";
import { Bed, calls, reply, result, user } from "../support/engine.ts";
import { broke, byCode, compacted, writer, wrote } from "../support/summarizer.ts";

function turns(count: number, policy: PolicyInput = {}): Bed {
  const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 }, policy });
  for (let turn = 0; turn < count; turn++) bed.say(user(988), reply(988));
  return bed;
}

describe("a span that the summarizer can not take whole", () => {
  it("[C26] [INV-019] [INV-039] is its oldest legal prefix; re-based: what is left out stays in the Surface, in order", async () => {
    const bed = turns(50);
    const before = bed.shown();
    const { summarizer, seen } = writer([], { window: 40_000 });
    await compacted(bed, summarizer);
    const [summary] = bed.rows("compaction/summary");
    const { count } = summary!.meta.span;
    expect(count).toBeGreaterThan(10);
    expect(count).toBeLessThan(40);
    expect(seen[0]!.text.length).toBeLessThan(45_000);
    expect(bed.shown().slice(1, 1 + before.length - count)).toEqual(before.slice(count));
  });

  it("[C26] [INV-020] an older checkpoint is the first of it, never the part that is left out", async () => {
    const bed = turns(50);
    await compacted(bed, writer([wrote("The keel is laid.")]).summarizer);
    for (let turn = 0; turn < 40; turn++) bed.say(user(988), reply(988));
    const { summarizer, seen } = writer([], { window: 40_000 });
    const [first] = bed.items();
    await compacted(bed, summarizer, { compaction: "c2" });
    expect(seen[0]!.text).toContain("The keel is laid.");
    expect(bed.rows("compaction/summary")[1]!.meta.span.from).toBe(first!.seq);
  });

  it("[C26] [GEM-017] [GEM-018] an output goes in whole where it fits, and capped where it does not", () => {
    const input = {
      preferred: "auto" as const,
      sameRoute: true,
      sameDialect: true,
      envelope: 0,
      directive: 100,
      maxTokens: 2_000,
      ratio: 1,
    };
    const nodes = (native: number) => [{ native, transcript: 500, legal: true }];
    expect(fitShape({ ...input, nodes: nodes(75_000), capacity: { window: 1_000_000 } })).toMatchObject({
      shape: "conversation",
    });
    expect(fitShape({ ...input, nodes: nodes(1_250_000), capacity: { window: 1_000_000 } })).toMatchObject({
      shape: "transcript",
    });
  });

  it("[C26] [PI-019] in a transcript only results are capped, never what user or assistant wrote", async () => {
    const bed = new Bed({
      capacity: { window: 100_001, maxOutput: 1 },
      policy: { summary: { shape: "transcript" } },
    });
    const [ask, told, output] = ["u".repeat(5_000), "a".repeat(5_000), "r".repeat(60_000)];
    bed.say(user(ask), reply(told), calls(["a"]), result("a", output));
    for (let turn = 0; turn < 12; turn++) bed.say(user(988), reply(988));
    const { summarizer, seen } = writer();
    await compacted(bed, summarizer, { trigger: "manual" });
    expect(seen[0]!.text).toContain(ask);
    expect(seen[0]!.text).toContain(told);
    expect(seen[0]!.text).not.toContain("r".repeat(2_100));
  });

  it("[C26] [KIMI-041] [DSH-089] its reply is capped by the policy, the room and the route, whichever is least", async () => {
    const cases: [PolicyInput, number | undefined, number][] = [
      [{ summary: { maxTokens: 321 } }, undefined, 321],
      [{}, undefined, 8_192],
      [{}, 700, 700],
    ];
    for (const [policy, maxOutput, most] of cases) {
      const bed = turns(50, policy);
      const { summarizer, seen } = writer([], maxOutput === undefined ? {} : { maxOutput });
      await compacted(bed, summarizer, { trigger: "manual" });
      if (seen.length === 0) continue; // 321 tokens do not hold the frame
      const { max_completion_tokens: cap } = seen[0]!.body as { max_completion_tokens: number };
      expect(cap).toBeLessThanOrEqual(most);
      expect(cap).toBeGreaterThan(0);
    }
  });
});

describe("a second compaction", () => {
  it("[C27] [PI-016] keeps what the first one kept as long as that is within the tail", async () => {
    const bed = turns(45, { retainTokens: 30_000 });
    await compacted(bed, byCode);
    const [first, ...kept] = bed.items();
    bed.say(user(988), reply(988));
    expect(kept).toHaveLength(30);
    const plan = planSpan(bed.ground, bed.snapshot(), { kind: "retain", share: 1 })!;
    expect(plan.span.from).toBe(first!.seq);
    expect(
      bed
        .items()
        .slice(plan.cut)
        .map(({ seq }) => seq),
    ).toEqual([...kept.slice(2).map(({ seq }) => seq), bed.tip.head - 1, bed.tip.head]);
  });

  it("[C27] [PI-017] [OC-032] [DSH-127] takes it into its span once the tail is shorter, the older summary first and once", async () => {
    const bed = turns(45, { retainTokens: 30_000 });
    await compacted(bed, writer([wrote("The keel is laid.")]).summarizer);
    bed.say(user("fresh"), reply("news"));
    bed.ground = { ...bed.ground, policy: { ...bed.ground.policy, retainTokens: 20 } };
    const { summarizer, seen } = writer();
    await compacted(bed, summarizer, { compaction: "c2", trigger: "manual" });
    expect(seen[0]!.text.split("The keel is laid.")).toHaveLength(2);
    const messages = seen[0]!.body.messages as { role: string; content: string }[];
    expect(messages[0]!.content).toContain("The keel is laid.");
    expect(messages.at(-1)!.content).toContain("older summary");
    expect(messages.at(-1)!.content).toContain("Open work");
    expect(bed.items().map(({ kind }) => kind)).toEqual(["checkpoint", "assistant"]);
  });
});

describe("where no model helps", () => {
  it("[C37] [OH-011] [CLI-012] re-based: a summarizer that fails under need leaves the checkpoint to code", async () => {
    const bad = [
      broke("http"),
      wrote(""),
      wrote("word ".repeat(9_000)),
      wrote("x", { finish: "length" }),
      broke("overflow"),
    ];
    for (const answer of bad) {
      const bed = turns(60);
      const { ended } = await compacted(bed, writer(Array.from({ length: 9 }, () => answer)).summarizer);
      expect(ended).toMatchObject({ outcome: "done", rungs: ["extractive"] });
    }
  });

  it("[C37] [CLI-006] code takes a call and its result together, and keeps the prompt word for word", async () => {
    const bed = turns(0);
    bed.say(
      user("Paint the hull in grey-green 7c."),
      calls(["a"]),
      result("a", 40_000),
      reply(30_000),
      user(20_000),
      reply(10),
    );
    await compacted(bed, byCode);
    const [checkpoint, ...tail] = bed.shown();
    expect(String(checkpoint!.content)).toContain("Paint the hull in grey-green 7c.");
    expect(String(checkpoint!.content)).toMatch(/messages="[4-6]"/);
    expect(tail.some(({ role }) => role === "tool")).toBe(false);
  });
});

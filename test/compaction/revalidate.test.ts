/** May this checkpoint still take the place of that span? Asked after the last await. */
import { describe, expect, it } from "vitest";
import { revalidate } from "../../src/compaction/revalidate.ts";
import { Bed, calls, reply, result, user } from "../support/engine.ts";

/** A claimed branch, and a summary under way over its first `count` items. */
function started(count: number) {
  const bed = new Bed();
  const seqs = bed.say(user(100), reply(100), user(100), calls(["a"]), result("a", 100), user(10));
  bed.claim();
  const items = bed.items().slice(0, count);
  const expected = { items, tokens: items.reduce((sum, { weight }) => sum + weight.tokens, 0) };
  const ask = (price = 50, compaction = "c1") =>
    revalidate(bed.tip, { items: bed.items() }, compaction, expected, price);
  return { bed, seqs, expected, ask };
}

describe("a summary may land", () => {
  it("[T34] while its span stands as it was read", () => {
    expect(started(2).ask()).toBeUndefined();
  });

  it("[T34] [DSH-114] [KIMI-020] [KIMI-021] re-based: also when messages were appended behind its span", () => {
    const { bed, ask } = started(2);
    bed.say(reply(300), user(300));
    expect(ask()).toBeUndefined();
  });

  it("[T34] when the generation alone is newer", () => {
    const { bed, ask } = started(2);
    const facts = { price: 20, bytes: 20, images: 0, sampled: false, mend: false, thinking: false };
    const node = bed.items()[4]!;
    bed.write({
      type: "compaction/prune",
      at: 1,
      branch: 2,
      meta: { compaction: "c1", node: node.seq, kind: "prune", version: 1 },
      body: new Uint8Array(20),
      facts,
    });
    const after = { tokens: 20, bytes: 20, images: 0 };
    const delta = { tokens: 20 - node.weight.tokens, bytes: 20 - node.weight.bytes, images: 0 };
    const meta = {
      compaction: "c1",
      kind: "prune" as const,
      generation: 1,
      upto: 0,
      checkpoint: 0,
      forms: [[node.seq, bed.log.end()]] as [number, number][],
      shadowed: node.weight,
      inserted: after,
      delta,
    };
    bed.write({ type: "surface/replace", at: 1, branch: 2, meta });
    expect(bed.tip.gen).toBe(1);
    expect(ask()).toBeUndefined();
  });
});

describe("a summary may not land", () => {
  it("[T34] [DSH-060] when an end of its span is not on the Surface", () => {
    for (const place of [0, 1]) {
      const { bed, expected } = started(2);
      const items = expected.items.map((item, index) =>
        index === place ? { ...item, seq: 9_001, body: 9_001 } : item,
      );
      expect(revalidate(bed.tip, { items: bed.items() }, "c1", { ...expected, items }, 50)).toBe(
        "span-changed",
      );
    }
  });

  it("[T34] when the span holds more than the Surface does now", () => {
    const { bed, expected } = started(6);
    expect(revalidate(bed.tip, { items: bed.items().slice(0, 3) }, "c1", expected, 50)).toBe("span-changed");
  });

  it("[T34] when an item of the span stands in another form", () => {
    const { bed, expected } = started(2);
    const items = [{ ...expected.items[0]!, body: 77 }, expected.items[1]!];
    expect(revalidate(bed.tip, { items: bed.items() }, "c1", { ...expected, items }, 50)).toBe(
      "span-changed",
    );
  });

  it("[T34] [DSH-062] when its end is not balanced", () => {
    expect(started(4).ask()).toBe("unbalanced");
    expect(started(5).ask()).toBeUndefined();
  });

  it("[T34] [DSH-174] when a price in the span is another", () => {
    const { bed, expected } = started(2);
    expect(
      revalidate(bed.tip, { items: bed.items() }, "c1", { ...expected, tokens: expected.tokens - 1 }, 50),
    ).toBe("price-changed");
  });

  it("[T34] when it is not strictly smaller than its span", () => {
    const { expected, ask } = started(2);
    expect(ask(expected.tokens)).toBe("not-smaller");
    expect(ask(expected.tokens - 1)).toBeUndefined();
  });

  it("[T34] when another compaction holds the branch, or none does", () => {
    const { bed, ask } = started(2);
    expect(ask(50, "c2")).toBe("claim-lost");
    const meta = {
      compaction: "c1",
      trigger: "pressure" as const,
      outcome: "cancelled" as const,
      rungs: [],
      tokensBefore: 0,
      tokensAfter: 0,
      progress: false,
    };
    bed.write({ type: "compaction/end", at: 1, branch: 2, meta });
    expect(ask()).toBe("claim-lost");
  });
});

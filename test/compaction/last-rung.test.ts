/** The last rung of code: everything that can be shortened, largest first, until the request fits the ceiling. */
import { describe, expect, it } from "vitest";
import { fits } from "../../src/compaction/budget.ts";
import { lastRung } from "../../src/compaction/last-rung.ts";
import { commitForms } from "../../src/compaction/transaction.ts";
import { createMeter } from "../../src/meter/price.ts";
import { countTokens } from "../../src/meter/vocabulary.ts";
import { Bed, type BedOptions, calls, reply, result, textOf, user } from "../support/engine.ts";

/** Ceiling `ceiling`, whatever the output. */
const bedOf = (ceiling: number, options: BedOptions = {}) =>
  new Bed({ capacity: { window: 4 * ceiling, inputLimit: ceiling }, ...options });

function rung(bed: Bed, entering: Parameters<Bed["snapshot"]>[0] = {}, batchSeq = bed.log.end() + 1) {
  const snapshot = bed.snapshot(entering);
  const { forms, measure } = lastRung(
    bed.ground,
    snapshot,
    snapshot.entering.batch.map((_, index) => batchSeq + index),
  );
  return { nodes: forms.map(({ node }) => node), forms, measure, fits: fits(measure, snapshot.budget) };
}

describe("results", () => {
  it("[C14] nothing is touched where the request fits", () => {
    const bed = bedOf(100_000);
    bed.say(calls(["a"]), result("a", 50_000));
    expect(rung(bed)).toMatchObject({ nodes: [], fits: true });
  });

  it("[C14] the largest goes first, and no more than it takes", () => {
    const bed = bedOf(60_000);
    const seqs = bed.say(
      calls(["a"]),
      result("a", 20_000),
      calls(["b"]),
      result("b", 30_000),
      calls(["c"]),
      result("c", 25_000),
    );
    expect(rung(bed)).toMatchObject({ nodes: [seqs[3]], fits: true });
  });

  it("[C14] protection and exemption are off: the newest group and an exempt tool's output go too", () => {
    const bed = bedOf(12_000, { policy: { prune: { exemptTools: ["read"] } } });
    const seqs = bed.say(calls(["a"]), result("a", 30_000));
    expect(rung(bed)).toMatchObject({ nodes: [seqs[1]], fits: true });
  });

  it("[C14] `over` does not count here: a result below it is shortened too", () => {
    const bed = bedOf(1_600);
    const seqs = bed.say(calls(["a"]), result("a", 900), calls(["b"]), result("b", 800));
    const made = rung(bed);
    expect(made.fits).toBe(true);
    expect(made.nodes).toEqual([seqs[1]]);
    expect(textOf(made.forms[0]!.bytes)).toContain("r".repeat(256));
  });

  it("[C14] head and tail halve per round, down to 256 + 64, and then it is over", () => {
    const sizes: number[] = [];
    for (const ceiling of [6_000, 3_500, 2_200, 1_000, 500]) {
      const bed = bedOf(ceiling);
      bed.say(calls(["a"]), result("a", 200_000));
      const made = rung(bed);
      expect(made.fits).toBe(true);
      sizes.push(Math.floor(made.forms[0]!.facts.price / 100));
    }
    expect(sizes).toEqual([51, 26, 13, 7, 3]);
    const bed = bedOf(300);
    bed.say(calls(["a"]), result("a", 200_000));
    const made = rung(bed);
    expect(made.fits).toBe(false);
    expect(made.forms).toHaveLength(1);
  });

  it("[C14] the same rung twice changes nothing, also where it was not enough", () => {
    const bed = bedOf(300);
    bed.say(calls(["a"]), result("a", 200_000));
    bed.claim();
    const { forms } = rung(bed);
    commitForms(bed.ground, bed.snapshot(), "c1", forms);
    expect(rung(bed)).toMatchObject({ nodes: [], fits: false });
  });

  it("[C14] a form of fewer characters that costs no fewer tokens is not made", () => {
    const bed = bedOf(20, { meter: createMeter(countTokens) });
    bed.say(calls(["a"]), result("a", "=".repeat(640)));
    expect(rung(bed)).toMatchObject({ nodes: [], fits: false });
  });

  it("[C14] a form that stands already is made anew from the original", () => {
    const bed = bedOf(1_000);
    const [, node] = bed.say(calls(["a"]), result("a", `${"x".repeat(600)}END`));
    bed.claim();
    const facts = { price: 5_000, bytes: 5_000, images: 0, sampled: false, mend: false, thinking: false };
    const meta = { compaction: "c1", node: node!, kind: "prune" as const, version: 1 };
    const body = new TextEncoder().encode(JSON.stringify(result("a", "another form entirely")));
    bed.write({ type: "compaction/prune", at: 1, branch: 2, meta, body, facts });
    const before = bed.items()[1]!.weight;
    const inserted = { tokens: 5_000, bytes: 5_000, images: 0 };
    const delta = { tokens: 5_000 - before.tokens, bytes: 5_000 - before.bytes, images: 0 };
    bed.write({
      type: "surface/replace",
      at: 1,
      branch: 2,
      meta: {
        compaction: "c1",
        kind: "prune",
        generation: 1,
        upto: 0,
        checkpoint: 0,
        forms: [[node!, bed.log.end()]],
        shadowed: before,
        inserted,
        delta,
      },
    });
    const made = rung(bed);
    expect(made.fits).toBe(true);
    expect(textOf(made.forms[0]!.bytes)).toContain("END");
    expect(textOf(made.forms[0]!.bytes)).not.toContain("another form");
  });
});

describe("the entering batch", () => {
  it("[C14] its results are shortened under the seqs that they will get; what the user typed is not", () => {
    const bed = bedOf(30_000);
    bed.say(user(10), calls(["a", "b"]));
    const batch = bed.batch(result("a", 10), result("b", 40_000), user(20_000));
    const made = rung(bed, { batch }, 100);
    expect(made).toMatchObject({ nodes: [101], fits: true });
    expect(textOf(made.forms[0]!.bytes)).toContain("handle 101]");
  });

  it("[C14] a user's own text alone is too much: nothing is done to it", () => {
    const bed = bedOf(1_000);
    bed.say(user(10), reply(10));
    expect(rung(bed, { batch: bed.batch(user(5_000)) })).toMatchObject({ nodes: [], fits: false });
    bed.say(user(5_000));
    expect(rung(bed)).toMatchObject({ nodes: [], fits: false });
  });
});

describe("long arguments of calls", () => {
  const args = (size: number) => JSON.stringify({ path: "a.ts", edits: [{ text: "e".repeat(size), n: 0 }] });
  const raw = (size: number) => args(size).replace('"n":0', '"n":9007199254740993');

  it("[C16] are clipped once results are not enough, the newest unit's too; the JSON stays valid and exact", () => {
    const bed = bedOf(3_000);
    const seqs = bed.say(calls(["a"], "", "write", raw(10_000)), result("a", 400));
    const made = rung(bed);
    expect(made.fits).toBe(true);
    expect(made.nodes).toEqual([seqs[1], seqs[0]]);
    const clip = made.forms.find(({ node }) => node === seqs[0])!;
    expect(clip.kind).toBe("clip");
    const call = (JSON.parse(textOf(clip.bytes)) as ReturnType<typeof calls>).tool_calls[0]!;
    const parsed = JSON.parse(call.function.arguments) as { path: string; edits: { text: string }[] };
    expect(parsed.path).toBe("a.ts");
    expect(parsed.edits[0]!.text).toMatch(
      /^e+\n\[Plimsoll left out \d+ of 10000 characters here; handle \d+\]\ne+$/,
    );
    expect(call.function.arguments).toContain('"n":9007199254740993');
    expect(call.id).toBe("a");
  });

  it("[C16] a short argument is left alone, and a text that the model wrote is no argument", () => {
    const bed = bedOf(1_000);
    bed.say(reply(5_000), calls(["a"], "", "write", args(100)), result("a", 10));
    expect(rung(bed)).toMatchObject({ nodes: [], fits: false });
  });

  it("[C16] of a thinking model keep the thinking of an open loop's last message, and of no other", () => {
    const think = (id: string) => ({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "t".repeat(50), signature: "s" },
        { type: "tool_use", id, name: "write", input: { text: "e".repeat(20_000) } },
      ],
    });
    const answer = (id: string) => ({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
    });
    for (const [binding, kept] of [
      ["none", [false, true]],
      ["prefix", [false, false]],
    ] as const) {
      const bed = bedOf(3_000, { dialect: "anthropic", binding });
      bed.say(user(10), think("a"), answer("a"), think("b"), answer("b"));
      const made = rung(bed);
      expect(made.fits).toBe(true);
      const forms = made.forms.toSorted((a, b) => a.node - b.node);
      expect(forms.map(({ bytes }) => textOf(bytes).includes('"thinking"'))).toEqual(kept);
    }
  });
});

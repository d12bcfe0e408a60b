/** What a replacement writes, and that its weights are those of the Surface before and after. */
import { describe, expect, it } from "vitest";
import { planPrune } from "../../src/compaction/plan.ts";
import { type NewCheckpoint, replacementEvents } from "../../src/compaction/replacement.ts";
import { commitForms } from "../../src/compaction/transaction.ts";
import { Defect } from "../../src/failure.ts";
import { type Meta, type Weight, weightOf } from "../../src/log/events.ts";
import { surfaceWeight } from "../../src/projections/surface.ts";
import { weighForm } from "../../src/projections/weigh.ts";
import { Bed, calls, reply, result, user } from "../support/engine.ts";

const policy = { prune: { over: 200, head: 20, tail: 20, protectGroups: 0 } };

function bedWithResults(): Bed {
  const bed = new Bed({ policy });
  bed.say(user(100), calls(["a", "b"]), result("a", 900), result("b", 700), reply(50), user(60));
  bed.claim();
  return bed;
}

const weight = (bed: Bed): Weight => surfaceWeight(bed.log, bed.tip.head, bed.log.view(bed.tip.view));
const summed = (bed: Bed): Weight =>
  bed.items().reduce(
    (sum, item) => ({
      tokens: sum.tokens + item.weight.tokens,
      bytes: sum.bytes + item.weight.bytes,
      images: sum.images + item.weight.images,
    }),
    { tokens: 0, bytes: 0, images: 0 },
  );

function checkpoint(bed: Bed, upto: number, text = "what was done"): NewCheckpoint {
  const bytes = bed.ground.dialect.userText(text);
  const span = { from: 4, to: upto, count: 1, tokens: 1 };
  const evidence = {
    compaction: "c1",
    purpose: "compaction" as const,
    route: "extractive",
    shape: "extractive" as const,
    span,
    outcome: "ok" as const,
    ms: 0,
  };
  const meta: Meta<"compaction/summary"> = {
    compaction: "c1",
    text,
    by: "extractive",
    span,
    facts: {},
    evidence,
    attempts: 0,
    version: 1,
    meter: 1,
  };
  return { meta, bytes, facts: weighForm(bed.ground.dialect, bed.ground.meter, bytes), upto };
}

function commit(
  bed: Bed,
  made: { forms?: Parameters<typeof commitForms>[3]; checkpoint?: NewCheckpoint },
): Weight {
  const { branch, view, items } = bed.snapshot();
  const { events, change } = replacementEvents({
    log: bed.log,
    seq: bed.log.end() + 1,
    at: bed.clock,
    branch: bed.branch,
    generation: branch.gen + 1,
    compaction: "c1",
    kind: made.checkpoint === undefined ? "prune" : "checkpoint",
    view,
    items,
    forms: made.forms ?? [],
    ...(made.checkpoint === undefined ? {} : { checkpoint: made.checkpoint }),
  });
  bed.write(...events);
  return change;
}

describe("weights", () => {
  it("[T31] [DSH-073] each form is logged with its node and its price, right before the replacement that shows it", () => {
    const bed = bedWithResults();
    const before = bed.items().filter((item) => item.kind === "tool");
    const forms = planPrune(bed.ground, bed.snapshot(), 0, true);
    commitForms(bed.ground, bed.snapshot(), "c1", forms);
    expect(bed.types().slice(-3)).toEqual(["compaction/prune", "compaction/prune", "surface/replace"]);
    const pruned = bed.rows("compaction/prune");
    expect(pruned.map(({ meta }) => meta.node)).toEqual(before.map(({ seq }) => seq));
    const [replace] = bed.rows("surface/replace");
    const sum = (list: readonly { tokens: number }[]) =>
      list.reduce((total, { tokens }) => total + tokens, 0);
    expect(replace!.meta.inserted.tokens).toBe(sum(pruned.map(weightOf)));
    expect(replace!.meta.shadowed.tokens).toBe(sum(before.map((item) => item.weight)));
    expect(replace!.meta.forms).toEqual(pruned.map((row) => [row.meta.node, row.seq]));
  });

  it("[T31] [DSH-216] a checkpoint over everything leaves exactly its own price", () => {
    const bed = bedWithResults();
    const made = checkpoint(bed, bed.tip.head);
    commit(bed, { checkpoint: made });
    expect(weight(bed)).toEqual(weightOf(made.facts));
    expect(bed.shown()).toEqual([{ role: "user", content: "what was done" }]);
  });

  it("[T31] the kept weight is the sum over the Surface after every replacement, with bytes and images", () => {
    const bed = bedWithResults();
    const steps: (() => Weight)[] = [
      () => commit(bed, { forms: planPrune(bed.ground, bed.snapshot(), 0, true).slice(0, 1) }),
      () => commit(bed, { forms: planPrune(bed.ground, bed.snapshot(), 0, true) }),
      () => commit(bed, { checkpoint: checkpoint(bed, bed.items()[3]!.seq) }),
      () => commit(bed, { checkpoint: checkpoint(bed, bed.items()[1]!.seq, "later") }),
    ];
    for (const step of steps) {
      const before = weight(bed);
      const change = step();
      expect(weight(bed)).toEqual(summed(bed));
      expect(weight(bed).tokens).toBe(before.tokens + change.tokens);
    }
    expect(bed.tip.gen).toBe(4);
  });

  it("[T31] a checkpoint drops the forms behind it and keeps those before the head", () => {
    const bed = bedWithResults();
    bed.say(calls(["c"]), result("c", 800), reply(5));
    commit(bed, { forms: planPrune(bed.ground, bed.snapshot(), 0, true) });
    const kept = bed.items()[7]!;
    commit(bed, { checkpoint: checkpoint(bed, bed.items()[5]!.seq) });
    expect(bed.log.view(bed.tip.view)!.forms.map(([node, form]) => [node, form])).toEqual([
      [kept.seq, kept.body],
    ]);
  });
});

describe("the writer", () => {
  const wrong: [string, Partial<Meta<"surface/replace">>][] = [
    ["[DSH-122] a price that is not the checkpoint's", { inserted: { tokens: -1, bytes: 0, images: 0 } }],
    ["a shadowed weight of nothing", { shadowed: { tokens: 0, bytes: 0, images: 0 } }],
    ["a delta that is not the view's", { delta: { tokens: 0, bytes: 0, images: 0 } }],
    ["a generation that skips one", { generation: 3 }],
    ["the generation that is there already", { generation: 0 }],
    [
      "[DSH-211] re-based: a form that is not in the log has no price, and is no delta of 0",
      { forms: [[6, 4_000]] },
    ],
    ["a checkpoint that is not in the log", { checkpoint: 4_000, upto: 6 }],
    ["a last node that is not in the log", { checkpoint: 10, upto: 4_000 }],
  ];
  it.each(wrong)("[T32] refuses a replacement with %s, and nothing of it lands", (_, change) => {
    const bed = bedWithResults();
    const forms = planPrune(bed.ground, bed.snapshot(), 0, true);
    const { branch, view, items } = bed.snapshot();
    const place = { log: bed.log, seq: bed.log.end() + 1, at: 1, branch: 2, generation: 1, compaction: "c1" };
    const { events } = replacementEvents({ ...place, kind: "prune", view, items, forms });
    const last = events.at(-1)!;
    const end = bed.log.end();
    const before = [weight(bed), bed.tip, bed.shown()];
    expect(branch.gen).toBe(0);
    const broken = { ...last, meta: { ...(last.meta as object), ...change } } as typeof last;
    expect(() => bed.write(...events.slice(0, -1), broken)).toThrow(Defect);
    expect([weight(bed), bed.tip, bed.shown()]).toEqual(before);
    expect(bed.log.end()).toBe(end);
    bed.write(...events); // the right one still lands
    expect(bed.tip.gen).toBe(1);
  });

  it("[T32] refuses a form or a checkpoint without its bytes and price", () => {
    const bed = bedWithResults();
    const meta = { compaction: "c1", node: 6, kind: "prune" as const, version: 1 };
    expect(() => bed.write({ type: "compaction/prune", at: 1, branch: 2, meta })).toThrow(
      "without bytes and price",
    );
  });

  it("[T32] [DSH-076] re-based: refuses a replacement by a compaction that does not hold the branch", () => {
    const bed = new Bed({ policy });
    bed.say(calls(["a"]), result("a", 900));
    const forms = planPrune(bed.ground, bed.snapshot(), 0, true);
    expect(() => commitForms(bed.ground, bed.snapshot(), "c1", forms)).toThrow("does not hold the branch");
    bed.claim();
    commitForms(bed.ground, bed.snapshot(), "c1", forms);
    expect(bed.tip.gen).toBe(1);
  });
});

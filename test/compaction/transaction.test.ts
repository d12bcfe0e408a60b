/** The claim is the lock; what replaces the Surface lands in one piece, and can be taken back. */
import { describe, expect, it } from "vitest";
import { planPrune } from "../../src/compaction/plan.ts";
import { claim, commitForms, holds, release, undo } from "../../src/compaction/transaction.ts";
import { Refusal } from "../../src/failure.ts";
import { Bed, calls, reply, result, user } from "../support/engine.ts";
import { byCode, compacted, writer } from "../support/summarizer.ts";

const request = (compaction: string) => ({
  compaction,
  trigger: "manual" as const,
  epoch: "e",
  deadline: 9,
  span: null,
  tokens: 5,
});
const ending = {
  trigger: "manual" as const,
  outcome: "failed" as const,
  rungs: [],
  tokensBefore: 0,
  tokensAfter: 0,
  progress: false,
};

function pressed(): Bed {
  const bed = new Bed({ capacity: { window: 100_001, maxOutput: 1 } });
  for (let turn = 0; turn < 50; turn++) bed.say(user(988), reply(988));
  return bed;
}

function refused(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error.failure.code;
    throw error;
  }
  return undefined;
}

describe("the claim", () => {
  it("[T33] [DSH-110] [PI-031] [PI-032] a branch that is claimed refuses every other compaction, and writes nothing", () => {
    const bed = new Bed();
    claim(bed.ground, request("one"));
    const end = bed.log.end();
    expect(refused(() => claim(bed.ground, request("two")))).toBe("busy");
    expect(bed.log.end()).toBe(end);
    expect([holds(bed.ground, "one"), holds(bed.ground, "two")]).toEqual([true, false]);
  });

  it("[T33] [PI-034] its end frees the branch at once", () => {
    const bed = new Bed();
    claim(bed.ground, request("one"));
    release(bed.ground, "one", ending);
    expect(bed.log.claims()).toEqual([]);
    claim(bed.ground, request("two"));
    expect(bed.tip.claim).toBe("two");
  });

  it("[T33] [DSH-116] [DSH-117] [DSH-119] re-based: it belongs to its branch, and steps begin and end beside it", () => {
    const bed = new Bed();
    bed.say(user(10));
    claim(bed.ground, request("one"));
    const step = { route: "fake/model", envelope: "", view: 0, generation: 0, maxOutput: null, deadline: 99 };
    const [started] = bed.write({ type: "step/start", at: 1, branch: 2, meta: step });
    bed.say(reply(10));
    bed.write({ type: "step/end", at: 1, branch: 2, meta: { step: started!.seq } });
    expect(holds(bed.ground, "one")).toBe(true);
    const opened = { name: "side", from: bed.tip.head, parent: 2, view: 0, generation: 0 };
    const [side] = bed.write({ type: "branch/opened", at: 1, branch: bed.log.end() + 1, meta: opened });
    const other = { ...bed.ground, branch: side!.seq };
    claim(other, request("two"));
    expect(() => release(other, "one", ending)).toThrow("does not hold the branch");
    expect(bed.log.claims().map(({ id, branch }) => [id, branch])).toEqual([
      ["one", 2],
      ["two", side!.seq],
    ]);
  });
});

describe("the commit", () => {
  it("[T36] forms and their view land together, under one compaction id", () => {
    const bed = new Bed({ policy: { prune: { over: 200, head: 9, tail: 9, protectGroups: 0 } } });
    bed.say(calls(["a"]), result("a", 900), reply(9));
    bed.claim();
    commitForms(bed.ground, bed.snapshot(), "c1", planPrune(bed.ground, bed.snapshot(), 0, true));
    const rows = [...bed.rows("compaction/prune"), ...bed.rows("surface/replace")];
    expect(rows.map(({ meta }) => meta.compaction)).toEqual(["c1", "c1"]);
    expect(bed.tip).toMatchObject({ gen: 1, view: bed.log.end(), claim: "c1" });
  });

  it("[T36] a summary, its replacement and its view stand in one stretch of the log", async () => {
    const bed = pressed();
    await compacted(bed, writer().summarizer);
    const summary = bed.rows("compaction/summary")[0]!.seq;
    expect(bed.rows("surface/replace")[0]).toMatchObject({
      seq: summary + 1,
      meta: { checkpoint: summary, upto: 87 },
    });
    expect(bed.log.view(bed.tip.view)).toMatchObject({
      seq: summary + 1,
      gen: 1,
      checkpoint: summary,
      upto: 87,
    });
  });

  it("[T36] [PI-015] [CF-011] [CF-012] [CDX-013] a second checkpoint replaces the first, which is off the Surface and in the log", async () => {
    const bed = pressed();
    await compacted(bed, byCode);
    for (let turn = 0; turn < 45; turn++) bed.say(user(988), reply(988));
    await compacted(bed, byCode, { compaction: "c2" });
    const [first, second] = bed.rows("compaction/summary");
    expect(
      bed
        .items()
        .filter(({ kind }) => kind === "checkpoint")
        .map(({ seq }) => seq),
    ).toEqual([second!.seq]);
    expect(second!.meta.span.from).toBe(first!.seq);
    expect(bed.log.body(first!.seq).byteLength).toBeGreaterThan(0);
    const content = String(bed.shown()[0]!.content);
    expect(content.split("<compacted-summary").length).toBe(2);
  });
});

describe("undo", () => {
  const redo = (bed: Bed) => undo(bed.ground, bed.snapshot());

  it("[T37] appends a view equal to the one before the newest compaction; the generation goes on", async () => {
    const bed = pressed();
    const before = [bed.shown(), bed.snapshot().measure.surface];
    await compacted(bed, byCode);
    expect(redo(bed)).toEqual({ compaction: "c1", generation: 2 });
    expect([bed.shown(), bed.snapshot().measure.surface]).toEqual(before);
    expect(bed.rows("compaction/summary")).toHaveLength(1);
  });

  it("[T37] takes back last in, first out, with the messages that came after", async () => {
    const bed = pressed();
    await compacted(bed, byCode);
    const once = bed.shown();
    const grown: object[] = [];
    for (let turn = 0; turn < 45; turn++) {
      grown.push(user(988), reply(988));
      bed.say(user(988), reply(988));
    }
    await compacted(bed, byCode, { compaction: "c2" });
    expect(redo(bed).compaction).toBe("c2");
    expect(bed.shown()).toEqual([...once, ...grown]);
    expect(redo(bed).compaction).toBe("c1");
    expect(bed.shown()).toHaveLength(190);
    expect(refused(() => redo(bed))).toBe("nothing-to-undo");
    expect(bed.tip.gen).toBe(4);
  });

  it("[T37] takes all replacements of one invocation together", async () => {
    const bed = new Bed({
      capacity: { window: 100_001, maxOutput: 1 },
      policy: { prune: { protectGroups: 0 } },
    });
    bed.say(calls(["a"]), result("a", 50_000));
    for (let turn = 0; turn < 45; turn++) bed.say(user(988), reply(988));
    const before = bed.shown();
    await compacted(bed, byCode);
    expect(bed.tip.gen).toBe(2);
    redo(bed);
    expect(bed.shown()).toEqual(before);
  });

  it("[T37] is refused while a compaction holds the branch, and where there is nothing", async () => {
    const bed = pressed();
    expect(refused(() => redo(bed))).toBe("nothing-to-undo");
    await compacted(bed, byCode);
    claim(bed.ground, request("two"));
    expect(refused(() => redo(bed))).toBe("busy");
    expect(bed.tip.gen).toBe(1);
  });

  it("[T37] after an undo the same span can be compacted again", async () => {
    const bed = pressed();
    await compacted(bed, byCode);
    const first = bed.shown();
    redo(bed);
    await compacted(bed, byCode, { compaction: "c2" });
    expect(bed.shown()).toEqual(first);
    expect(redo(bed).compaction).toBe("c2");
  });
});

/** Legal cuts: where no call is open. Cases of others on balanced cuts, re-based to items that know what is open behind them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Defect } from "../../src/failure.ts";
import {
  callGroups,
  isLegalCut,
  legalCutBefore,
  legalCuts,
  newestUnit,
} from "../../src/projections/pairing.ts";
import { surfaceOf } from "../../src/projections/surface.ts";
import { nodeAt } from "../../src/projections/tree.ts";
import { ingest } from "../../src/session/ingest.ts";
import { Bed, calls, reply, result, user } from "../support/engine.ts";
import { MAIN, Story } from "../support/story.ts";

/** Items by how many calls are open behind each. */
const items = (...open: number[]) => open.map((count) => ({ open: count }));
const cutsAt = (...open: number[]) => legalCuts(items(...open)).flatMap((legal, at) => (legal ? [at] : []));

/** The cuts of a conversation, as the session takes it in. */
function cutsOf(...messages: readonly object[]): number[] {
  const bed = new Bed();
  bed.say(...messages);
  return legalCuts(bed.items()).flatMap((legal, at) => (legal ? [at] : []));
}

describe("legal cuts", () => {
  it("[P1] [DSH-077] stand around a user message and a whole call group, not between a call and its result", () => {
    expect(cutsOf(user("u"), calls(["a"]), result("a", "r"))).toEqual([0, 1, 3]);
  });

  it("[P1] [DSH-078] there is none behind a call that has no result yet", () => {
    expect(cutsOf(user("u"), calls(["a"]))).toEqual([0, 1]);
  });

  it("[P1] [DSH-079] of two calls both must have their result", () => {
    expect(cutsOf(user("u"), calls(["a", "b"]), result("a", "r"), result("b", "r"))).toEqual([0, 1, 4]);
  });

  it("[P1] [OH-013] three calls and their results are one unit", () => {
    const results = ["a", "b", "c"].map((id) => result(id, "r"));
    expect(cutsAt(3, 2, 1, 0)).toEqual([0, 4]);
    // A conversation begins with a user message here, so that the batch stands one later.
    expect(cutsOf(user("u"), calls(["a", "b", "c"]), ...results)).toEqual([0, 1, 5]);
    // As three calls one after the other with their results behind them (six items): 0 and 6 only.
    expect(cutsAt(1, 2, 3, 2, 1, 0)).toEqual([0, 6]);
  });

  it("[P1] [OH-014] two batches of two calls can be cut between them, not inside", () => {
    expect(cutsAt(1, 2, 1, 0, 1, 2, 1, 0)).toEqual([0, 4, 8]);
  });

  it("[P2] [DSH-080] a message between a call and its result closes the call, and the unit ends with it", () => {
    // The case leaves the pair open across the note. Both dialects refuse that, so the call is closed in front of it.
    const bed = new Bed();
    bed.say(user("u"), calls(["a"]), user("note"));
    expect(bed.items().map(({ kind }) => kind)).toEqual(["user", "assistant", "tool", "user"]);
    expect(legalCuts(bed.items())).toEqual([true, true, false, true, true]);
    expect(cutsOf(user("u"), calls(["a"]), result("a", "r"), user("note"))).toEqual([0, 1, 3, 4]);
  });

  it("[P2] an id used again opens a unit of its own", () => {
    expect(cutsOf(user("u"), calls(["a"]), result("a", "r"), calls(["a"]), result("a", "r"))).toEqual([
      0, 1, 3, 5,
    ]);
  });

  it("[P3] [DSH-082] an empty Surface has the one cut, and knows no node before there is one", () => {
    const story = new Story();
    expect(legalCuts(surfaceOf(story.log, 0, undefined))).toEqual([true]);
    expect(() => nodeAt(story.log, 999)).toThrow(Defect);
    const seq = story.node();
    expect(legalCuts(surfaceOf(story.log, seq, undefined))).toEqual([true, true]);
    expect(nodeAt(story.log, seq).seq).toBe(seq);
  });

  it("[P4] [DSH-085] a result without its call is refused each time, and what stood before stays right", () => {
    const bed = new Bed();
    bed.say(user("u"), calls(["a"]), result("a", "r"));
    const raw = { bytes: new TextEncoder().encode(JSON.stringify(result("lost", "r"))), at: "m" };
    const take = () => ingest(bed.ground, bed.tip, [raw], { strict: false, sends: false });
    expect(take).toThrow("result-without-call");
    expect(take).toThrow("result-without-call");
    expect(legalCuts(bed.items())).toEqual([true, true, false, true]);
    bed.say(reply("done"));
    expect(legalCuts(bed.items())).toEqual([true, true, false, true, true]);
  });

  it("[P4] [DSH-086] a head that is no event, or an event of another kind, is a defect", () => {
    const story = new Story();
    story.node();
    const claimed = story.claim("c1");
    expect(() => nodeAt(story.log, claimed)).toThrow(Defect);
    const view = { ...story.log.views(MAIN)[0], checkpoint: 999, uptoDepth: 0, forms: [] };
    expect(() => surfaceOf(story.log, 0, view as never)).toThrow(Defect);
  });

  it("[P3] stand between all items where nothing was ever called", () => {
    expect(cutsAt(0, 0, 0)).toEqual([0, 1, 2, 3]);
    expect(isLegalCut(items(0), 2)).toBe(false);
  });

  const opens = fc.array(fc.nat(2), { maxLength: 40 });

  it("[P5] the nearest cut in front, the newest unit and the call groups all follow from what is open", () => {
    fc.assert(
      fc.property(opens, fc.nat(45), (open, index) => {
        const list = items(...open);
        const legal = cutsAt(...open);
        const before = legal.filter((at) => at <= Math.min(index, open.length));
        expect(legalCutBefore(list, index)).toBe(before.at(-1));
        expect(newestUnit(list)).toBe(legal.filter((at) => at < Math.max(1, open.length)).at(-1) ?? 0);
        const starts = legal.filter((at) => (open[at] ?? 0) > 0);
        expect(callGroups(list)).toEqual(starts);
      }),
      { numRuns: 300 },
    );
  });
});

describe("replies of several items", () => {
  const thought = { type: "reasoning", summary: [], encrypted_content: "e" };
  const says = { type: "message", role: "assistant", content: [{ type: "output_text", text: "a" }] };
  const use = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
  const back = (id: string) => ({ type: "function_call_output", call_id: id, output: "r" });
  const bedOf = (...messages: readonly object[]) => {
    const bed = new Bed({ dialect: "openai-responses" });
    bed.say(...messages);
    return bed;
  };
  const cuts = (bed: Bed) => legalCuts(bed.items()).flatMap((legal, at) => (legal ? [at] : []));

  it("[P34] are never cut apart, with their calls or without", () => {
    expect(cuts(bedOf(user("u"), thought, says, user("v"), says))).toEqual([0, 1, 3, 4, 5]);
    const loop = bedOf(user("u"), thought, says, use("a"), use("b"), back("b"), back("a"), thought, says);
    expect(cuts(loop)).toEqual([0, 1, 7, 9]);
    expect(callGroups(loop.items())).toEqual([1]);
    expect(newestUnit(loop.items())).toBe(7);
  });

  it("[P34] keep their calls open until each has its output, and no joint shows as a call", () => {
    const bed = bedOf(user("u"), use("a"), thought, use("b"));
    expect(bed.items().map(({ open, joined }) => [open, joined])).toEqual([
      [0, false],
      [1, false],
      [1, true],
      [2, true],
    ]);
    bed.say(back("a"), user("v"));
    expect(
      bed
        .items()
        .map(({ kind }) => kind)
        .slice(4),
    ).toEqual(["tool", "tool", "user"]);
    expect(cuts(bed)).toEqual([0, 1, 6, 7]);
  });

  it("[P34] end at the first output: what follows is another reply", () => {
    const bed = bedOf(user("u"), use("a"), back("a"), use("b"), back("b"), says);
    expect(cuts(bed)).toEqual([0, 1, 3, 5, 6]);
  });
});

/** Views: what replacements, forks and undos make of the one before, on logs written event by event. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noWeight, plus } from "../../src/log/events.ts";
import { surfaceOf, surfaceWeight } from "../../src/projections/surface.ts";
import { contentOf, contentOn, inheritedView, undoable, weigh } from "../../src/projections/views.ts";
import { MAIN, Story, shownBy } from "../support/story.ts";

const shown = (story: Story, branch = MAIN) =>
  shownBy(surfaceOf(story.log, story.branch(branch).head, story.view(branch)));
const plain = (seqs: readonly number[]) => seqs.map((seq): [number, number] => [seq, seq]);

describe("a replacement", () => {
  it("[B5] a checkpoint stands first and takes the place of the path up to its last node", () => {
    const story = new Story();
    const nodes = story.nodes(5);
    const seq = story.compact("c1", nodes[2]!, 2);
    const { checkpoint, upto, uptoDepth, gen, base, kind } = story.view()!;
    expect([upto, uptoDepth, gen, base, kind, story.view()!.seq]).toEqual([
      nodes[2],
      3,
      1,
      0,
      "checkpoint",
      seq,
    ]);
    expect(shown(story)).toEqual([[checkpoint, checkpoint], ...plain(nodes.slice(3))]);
    const later = story.node();
    expect(shown(story)).toEqual([[checkpoint, checkpoint], ...plain([...nodes.slice(3), later])]);
  });

  it("[B5] a form takes the place of one node and leaves the others as they are", () => {
    const story = new Story();
    const nodes = story.nodes(4, MAIN, { price: 10 });
    story.prune("c1", [nodes[1]!, nodes[3]!], 3);
    const [first, second] = story.view()!.forms.map(([, form]) => form);
    expect(shown(story)).toEqual([
      [nodes[0], nodes[0]],
      [nodes[1], first],
      [nodes[2], nodes[2]],
      [nodes[3], second],
    ]);
    expect(story.view()!.delta.tokens).toBe(-14);
  });

  it("[B6] adds to the path's own weight exactly what its view shows more or less", () => {
    const story = new Story();
    const nodes = story.nodes(6, MAIN, { price: 10, images: 1 });
    story.prune("c1", [nodes[0]!, nodes[4]!], 3);
    story.compact("c2", nodes[2]!, 5);
    story.node(MAIN, { price: 7 });
    const items = surfaceOf(story.log, story.branch().head, story.view());
    const sum = items.reduce((total, item) => plus(total, item.weight), noWeight);
    expect(surfaceWeight(story.log, story.branch().head, story.view())).toEqual(sum);
    expect(sum).toEqual({ tokens: 5 + 10 + 3 + 10 + 7, bytes: 20 + 40 + 12 + 40 + 28, images: 2 });
  });

  it("[B6] weighs a content by its checkpoint and forms, and nothing where there are none", () => {
    const story = new Story();
    const nodes = story.nodes(3, MAIN, { price: 10 });
    story.claim("c");
    const form = story.form("c", nodes[2]!, 4);
    const checkpoint = story.summary("c", 6);
    expect(weigh(story.log, { upto: 0, checkpoint: 0, forms: [] })).toEqual({ delta: noWeight, forms: [] });
    expect(weigh(story.log, { upto: nodes[1]!, checkpoint, forms: [[nodes[2]!, form]] })).toEqual({
      delta: { tokens: 6 - 20 - 6, bytes: 24 - 80 - 24, images: 0 },
      forms: [[nodes[2], form, -6, -24, 0]],
    });
  });
});

describe("a fork", () => {
  it("[B7] inherits its parent's newest view whose checkpoint lies on its path, and starts at that generation", () => {
    const story = new Story();
    const first = story.nodes(6);
    const one = story.compact("c1", first[1]!, 1);
    const more = story.nodes(4);
    const two = story.compact("c2", first[5]!, 1);
    const inherited = (from: number) => inheritedView(story.log, story.branch(), from)?.seq ?? 0;
    expect([first[0], first[1], first[4], first[5], more[3]].map((from) => inherited(from!))).toEqual([
      0,
      one,
      one,
      two,
      two,
    ]);
    const early = story.open("early", first[0]!);
    const middle = story.open("middle", first[4]!);
    expect([story.branch(early).gen, story.branch(middle).gen]).toEqual([0, 1]);
    expect(shown(story, early)).toEqual(plain([first[0]!]));
    const { checkpoint } = story.log.view(one)!;
    expect(shown(story, middle)).toEqual([[checkpoint, checkpoint], ...plain(first.slice(2, 5))]);
    expect(story.view(middle)).toMatchObject({
      kind: "inherit",
      gen: 1,
      base: 0,
      compaction: "",
      branch: middle,
    });
  });

  it("[B7] of a fork whose inherited view does not fit takes what its own parent showed before the fork was opened", () => {
    const story = new Story();
    const nodes = story.nodes(6, MAIN, { price: 10 });
    const pruned = story.prune("c1", [nodes[1]!], 2);
    story.compact("c2", nodes[3]!, 1);
    const side = story.open("side", nodes[5]!);
    // The parent shows all of it again, but only after the fork was opened.
    story.undo("c2", contentOf(story.log.view(pruned)));
    const inherited = inheritedView(story.log, story.branch(side), nodes[2]!);
    expect(inherited?.seq).toBe(pruned);
    const early = story.open("early", nodes[2]!, side, { view: pruned, generation: 1 });
    expect(shown(story, early)).toEqual([
      [nodes[0], nodes[0]],
      [nodes[1], story.log.view(pruned)!.forms[0]![1]],
      [nodes[2], nodes[2]],
    ]);
  });

  it("[B7] leaves the forms beyond its node behind", () => {
    const story = new Story();
    const nodes = story.nodes(6, MAIN, { price: 10 });
    story.prune("c1", [nodes[1]!, nodes[4]!], 2);
    const form = story.view()!.forms[0]![1];
    const side = story.open("side", nodes[2]!);
    expect(story.view(side)).toMatchObject({ forms: [[nodes[1], form, -8, -32, 0]], delta: { tokens: -8 } });
    expect(contentOn(story.log, story.view(), nodes[0]!).forms).toEqual([]);
    expect(shown(story, side)).toEqual([
      [nodes[0], nodes[0]],
      [nodes[1], form],
      [nodes[2], nodes[2]],
    ]);
  });

  it("[B7] from before the first node inherits no node and no form", () => {
    const story = new Story();
    const nodes = story.nodes(2, MAIN, { price: 10 });
    story.prune("c1", [nodes[0]!], 2);
    const side = story.open("side", 0);
    expect([story.branch(side).head, shown(story, side)]).toEqual([0, []]);
    expect(surfaceWeight(story.log, 0, story.view(side))).toEqual(noWeight);
  });

  it("[B8] changes nothing of its parent, nor its parent of it", () => {
    const story = new Story();
    const nodes = story.nodes(6, MAIN, { price: 10 });
    story.prune("c1", [nodes[1]!], 2);
    const side = story.open("side", nodes[4]!);
    const [main, forked] = [shown(story), shown(story, side)];
    story.compact("c2", nodes[3]!, 1);
    expect(shown(story, side)).toEqual(forked);
    story.compact("c3", nodes[2]!, 1, side);
    story.node(side);
    expect(shown(story)[0]).toEqual([story.view()!.checkpoint, story.view()!.checkpoint]);
    expect(story.log.view(story.log.views(MAIN).at(-1)!.seq)!.forms.map(([node]) => node)).toEqual([
      nodes[1],
    ]);
    expect(main.length).toBe(6);
  });
});

describe("undo", () => {
  /** Takes the newest compaction of the branch back as the engine does; its id. */
  function undo(story: Story, branch = MAIN): string | undefined {
    const found = undoable(story.log, story.branch(branch));
    if (found === undefined) return undefined;
    story.undo(found.compaction, contentOn(story.log, found.before, story.branch(branch).head), branch);
    return found.compaction;
  }

  it("[B9] takes compactions back newest first, and ends when each was taken back once", () => {
    const story = new Story();
    const nodes = story.nodes(8, MAIN, { price: 10 });
    const states = [shown(story)];
    story.prune("c1", [nodes[6]!], 2);
    states.push(shown(story));
    story.compact("c2", nodes[1]!, 1);
    states.push(shown(story));
    story.compact("c3", nodes[4]!, 1);
    expect([undo(story), shown(story)]).toEqual(["c3", states[2]]);
    expect([undo(story), shown(story)]).toEqual(["c2", states[1]]);
    expect([undo(story), shown(story)]).toEqual(["c1", states[0]]);
    expect(undo(story)).toBeUndefined();
    expect([story.branch().gen, surfaceWeight(story.log, story.branch().head, story.view()).tokens]).toEqual([
      6, 80,
    ]);
  });

  it("[B9] takes all replacements of one compaction back together", () => {
    const story = new Story();
    const nodes = story.nodes(6, MAIN, { price: 10 });
    const before = shown(story);
    story.claim("c1");
    story.replace("c1", { forms: [[nodes[4]!, story.form("c1", nodes[4]!, 2)]] });
    const forms = story.view()!.forms.map(([node, form]): [number, number] => [node, form]);
    story.replace("c1", { upto: nodes[1]!, checkpoint: story.summary("c1", 1), forms }, MAIN, "checkpoint");
    story.replace("c1", { upto: nodes[2]!, checkpoint: story.summary("c1", 1), forms }, MAIN, "checkpoint");
    story.end("c1");
    expect([undo(story), shown(story), undo(story)]).toEqual(["c1", before, undefined]);
  });

  it("[B9] keeps what was appended since", () => {
    const story = new Story();
    const nodes = story.nodes(3);
    story.compact("c1", nodes[1]!, 1);
    const later = story.nodes(2);
    undo(story);
    expect(shown(story)).toEqual(plain([...nodes, ...later]));
  });

  it("[B9] a compaction made after an undo is the next to be taken back, then the older one", () => {
    const story = new Story();
    const nodes = story.nodes(6, MAIN, { price: 10 });
    story.compact("c1", nodes[0]!, 1);
    const afterOne = shown(story);
    story.compact("c2", nodes[2]!, 1);
    undo(story);
    story.compact("c3", nodes[3]!, 1);
    expect([undo(story), shown(story)]).toEqual(["c3", afterOne]);
    expect([undo(story), shown(story)]).toEqual(["c1", plain(nodes)]);
    expect(undo(story)).toBeUndefined();
  });

  it("[B10] reaches only the branch's own compactions, not what a fork inherited", () => {
    const story = new Story();
    const nodes = story.nodes(6);
    story.compact("c1", nodes[2]!, 1);
    const side = story.open("side", nodes[4]!);
    expect(undo(story, side)).toBeUndefined();
    const inherited = shown(story, side);
    story.compact("c2", nodes[3]!, 1, side);
    expect([undo(story, side), shown(story, side), undo(story, side)]).toEqual(["c2", inherited, undefined]);
    expect(undo(story)).toBe("c1");
  });

  it("[B10] is not stopped by a change that was no compaction", () => {
    const story = new Story();
    const nodes = story.nodes(4, MAIN, { price: 10 });
    story.compact("c1", nodes[1]!, 1);
    const { upto, checkpoint } = story.view()!;
    const form = story.form("", nodes[3]!, 1, MAIN, "thinking");
    story.replace("", { upto, checkpoint, forms: [[nodes[3]!, form]] }, MAIN, "route");
    expect(undo(story)).toBe("c1");
  });

  const deed = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant("say" as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("compact" as const), share: fc.nat(9) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("prune" as const), share: fc.nat(9) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("undo" as const) }) },
  );

  it("[B9] any sequence of compactions and undos is a stack: each undo shows what stood before its compaction", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40, size: "max" }), (deeds) => {
        const story = new Story();
        const nodes = story.nodes(3, MAIN, { price: 10 });
        const stack: { id: string; before: [number, number][]; nodes: number }[] = [];
        for (const [at, step] of deeds.entries()) {
          const before = { id: `c${at}`, before: shown(story), nodes: nodes.length };
          if (step.do === "say") nodes.push(story.node(MAIN, { price: 10 }));
          else if (step.do === "undo") {
            const top = stack.pop();
            expect(undo(story)).toBe(top?.id);
            if (top !== undefined)
              expect(shown(story)).toEqual([...top.before, ...plain(nodes.slice(top.nodes))]);
          } else {
            const behind = nodes.filter((seq) => seq > (story.view()?.upto ?? 0));
            const target = behind[Math.floor((step.share * behind.length) / 10)];
            if (target === undefined) continue;
            if (step.do === "compact") story.compact(before.id, target, 1);
            else story.prune(before.id, [target], 2);
            stack.push(before);
          }
          const items = surfaceOf(story.log, story.branch().head, story.view());
          const sum = items.reduce((total, item) => plus(total, item.weight), noWeight);
          expect(surfaceWeight(story.log, story.branch().head, story.view())).toEqual(sum);
        }
      }),
      { numRuns: 200 },
    );
  });
});

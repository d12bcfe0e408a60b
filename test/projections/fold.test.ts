/** The log's own rules on compactions: an event that breaks one is refused, and nothing of it stays. Cases of others on brackets in a log, re-based. */
import { describe, expect, it } from "vitest";
import type { Meta } from "../../src/log/events.ts";
import { conversation, refuses, start } from "../support/log-rules.ts";
import { factsOf, MAIN, summaryMeta } from "../support/story.ts";

describe("a claim", () => {
  it("[T4] [DSH-110] is refused while another one is open on the branch", () => {
    const { story } = conversation();
    story.claim("c1");
    refuses(story, () => story.write("compaction/start", MAIN, start("c2")), "still holds");
    story.end("c1");
    story.claim("c2");
    expect(story.log.claims().map(({ id }) => id)).toEqual(["c2"]);
  });

  it("[T4] of one branch does not stand in the way of another branch", () => {
    const { story, nodes } = conversation();
    const side = story.open("side", nodes[1]!);
    story.claim("c1");
    story.claim("c2", side);
    expect([story.branch().claim, story.branch(side).claim]).toEqual(["c1", "c2"]);
  });

  it("[T5] [DSH-120] a summary, a form, a replacement or an end without a claim is refused", () => {
    const { story, nodes } = conversation();
    refuses(story, () => story.summary("c1", 1), "does not hold");
    refuses(story, () => story.form("c1", nodes[0]!, 1), "does not hold");
    refuses(story, () => story.replace("c1", { forms: [] }), "does not hold");
    refuses(story, () => story.end("c1"), "does not hold");
    // The case also refuses a second summary: here an invocation may commit one per round, each with its own replacement.
    story.claim("c1");
    story.replace("c1", { upto: nodes[0]!, checkpoint: story.summary("c1", 1) }, MAIN, "checkpoint");
    story.replace("c1", { upto: nodes[1]!, checkpoint: story.summary("c1", 1) }, MAIN, "checkpoint");
    expect(story.branch().gen).toBe(2);
  });

  it("[T5] [DSH-121] a summary, a form, a replacement or an end under another id is refused, and so is an empty id", () => {
    const { story, nodes } = conversation();
    refuses(story, () => story.write("compaction/start", MAIN, start("")), "without an id");
    story.claim("c1");
    for (const other of ["c2", ""]) {
      refuses(story, () => story.summary(other, 1), "does not hold");
      refuses(story, () => story.form(other, nodes[0]!, 1), "does not hold");
      refuses(story, () => story.replace(other, { forms: [] }), "does not hold");
      refuses(story, () => story.end(other), "does not hold");
    }
    refuses(story, () => story.undo("c1", {}), "while a compaction holds");
    expect(story.branch().claim).toBe("c1");
  });

  it("[T5] is open until its end, and a claim without an end is found by every later look", () => {
    const { story } = conversation();
    story.claim("c1", MAIN, "manual");
    expect(story.log.claims()).toMatchObject([
      { id: "c1", branch: MAIN, trigger: "manual", epoch: "e", deadline: 99 },
    ]);
    story.end("c1", MAIN, { outcome: "interrupted" });
    expect([story.log.claims(), story.branch().claim]).toEqual([[], ""]);
  });
});

describe("a replacement", () => {
  it("[B12] [DSH-122] a summary of nothing, without bytes, without a price or with a negative one is refused", () => {
    const { story } = conversation();
    story.claim("c1");
    const body = new Uint8Array(1);
    const summary = (change: Partial<Meta<"compaction/summary">>, more: object) =>
      story.write("compaction/summary", MAIN, { ...summaryMeta("c1"), ...change }, more);
    const none = { from: 0, to: 0, count: 0, tokens: 0 };
    refuses(story, () => summary({ span: none }, { body, facts: factsOf({}) }), "of nothing");
    refuses(story, () => summary({}, { facts: factsOf({}) }), "without bytes and price");
    refuses(story, () => summary({}, { body }), "without bytes and price");
    refuses(story, () => summary({}, { body, facts: factsOf({ price: -1 }) }), "without bytes and price");
    summary({}, { body, facts: factsOf({ price: 0 }) });
  });

  it("[B12] a form without bytes or price is refused", () => {
    const { story, nodes } = conversation();
    story.claim("c1");
    const meta: Meta<"compaction/prune"> = { compaction: "c1", node: nodes[0]!, kind: "prune", version: 1 };
    refuses(story, () => story.write("compaction/prune", MAIN, meta), "without bytes and price");
    refuses(story, () => story.write("compaction/prune", MAIN, meta, { body: new Uint8Array(1) }));
  });

  it("[B12] whose weight is not what its forms and its checkpoint weigh is refused, in each unit", () => {
    const { story, nodes } = conversation();
    story.claim("c1");
    const form = story.form("c1", nodes[1]!, 3);
    const good = { kind: "prune", ...story.replacement("c1", { forms: [[nodes[1]!, form]] }) } as const;
    for (const unit of ["tokens", "bytes", "images"] as const) {
      for (const part of ["delta", "shadowed", "inserted"] as const) {
        const wrong = { ...good, [part]: { ...good[part], [unit]: good[part][unit] + 1 } };
        refuses(story, () => story.write("surface/replace", MAIN, wrong), `wrong weight in ${unit}`);
      }
    }
    story.write("surface/replace", MAIN, good);
    expect(story.view()?.delta).toEqual({ tokens: -7, bytes: -28, images: 0 });
  });

  it("[B12] that does not add exactly one to the generation is refused", () => {
    const { story, nodes } = conversation();
    story.prune("c1", [nodes[0]!], 1);
    story.claim("c2");
    const good = { kind: "prune", ...story.replacement("c2", {}) } as const;
    for (const generation of [0, 1, 3]) {
      refuses(story, () => story.write("surface/replace", MAIN, { ...good, generation }), "add one");
    }
    story.write("surface/replace", MAIN, good);
    expect(story.branch().gen).toBe(2);
  });

  it("[B12] that names a checkpoint which is none, half a checkpoint, or nodes of another branch is refused", () => {
    const { story, nodes } = conversation();
    const side = story.open("side", nodes[1]!);
    const elsewhere = story.node(side);
    story.claim("c1");
    const checkpoint = story.summary("c1", 1);
    const put = (content: object) => () => story.replace("c1", content, MAIN, "checkpoint");
    refuses(story, put({ upto: nodes[0], checkpoint: nodes[1] }), "without its checkpoint");
    refuses(story, put({ upto: elsewhere, checkpoint }), "another branch");
    const half = { kind: "checkpoint", ...story.replacement("c1", {}) } as const;
    refuses(
      story,
      () => story.write("surface/replace", MAIN, { ...half, upto: nodes[0]! }),
      "without its checkpoint",
    );
    put({ upto: nodes[0], checkpoint })();
  });

  it("[B12] with a form of another node, with what is no form, or with one behind its checkpoint is refused", () => {
    const { story, nodes } = conversation();
    story.claim("c1");
    const form = story.form("c1", nodes[1]!, 1);
    const checkpoint = story.summary("c1", 1);
    const put = (content: object) => () => story.replace("c1", content);
    refuses(story, put({ forms: [[nodes[2]!, form]] }), "none of its node");
    refuses(story, put({ forms: [[nodes[2]!, nodes[1]!]] }), "none of its node");
    refuses(story, put({ upto: nodes[2], checkpoint, forms: [[nodes[1]!, form]] }), "behind its checkpoint");
    put({ forms: [[nodes[1]!, form]] })();
    refuses(story, put({ upto: nodes[2], checkpoint, forms: [[nodes[1]!, form]] }), "behind its checkpoint");
  });
});

/** The log's own rules: an event that breaks one is refused, and nothing of it stays. Cases of others on brackets in a log, re-based. */
import { describe, expect, it } from "vitest";
import { Defect } from "../../src/failure.ts";
import type { EventType, Meta } from "../../src/log/events.ts";
import { breakerKey, paidKey, sessionKey } from "../../src/projections/fold.ts";
import { appendEvents } from "../../src/projections/write.ts";
import { attemptMeta, factsOf, MAIN, Story, summaryMeta } from "../support/story.ts";

/** The event is refused, and the log is what it was. */
function refuses(story: Story, write: () => unknown, why?: string): void {
  const before = story.everything();
  const thrown = (() => {
    try {
      write();
    } catch (error) {
      return error;
    }
    return undefined;
  })();
  expect(thrown).toBeInstanceOf(Defect);
  if (why !== undefined) expect(String(thrown)).toContain(why);
  expect(story.everything()).toEqual(before);
}

function conversation(): { story: Story; nodes: number[] } {
  const story = new Story();
  return { story, nodes: story.nodes(5, MAIN, { price: 10 }) };
}

const start = (compaction: string): Meta<"compaction/start"> => ({
  compaction,
  trigger: "manual",
  span: null,
  generation: 0,
  epoch: "e",
  deadline: 9,
  tokens: 0,
});

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

describe("nodes, branches and steps", () => {
  it("[L17] a node without bytes or price is refused, and so is an event of a branch that is not there", () => {
    const { story } = conversation();
    refuses(story, () => story.write("message/user", MAIN, {}, { body: new Uint8Array(1) }), "without bytes");
    refuses(story, () => story.write("message/user", MAIN, {}, { facts: factsOf({}) }), "without bytes");
    refuses(story, () => story.node(77), "no branch");
    refuses(
      story,
      () => story.write("request/header", 77, { envelope: "h", price: 1, bytes: 1 }),
      "no branch",
    );
  });

  it("[L17] a session is created by its first event and by no other", () => {
    const { story } = conversation();
    const again = { dialect: "anthropic", version: 1 } as const;
    refuses(story, () => story.write("session/created", 0, again), "not the first");
  });

  it("[L17] events that are written together land together or not at all", () => {
    const { story } = conversation();
    const good = {
      type: "request/header",
      at: 1,
      branch: MAIN,
      meta: { envelope: "h", price: 1, bytes: 1 },
    } as const;
    const bad = { type: "step/end", at: 1, branch: MAIN, meta: { step: 5 } } as const;
    refuses(story, () => appendEvents(story.log, [good, good, bad]), "not in progress");
  });

  it("[B13] a fork under a taken name, at a node of another branch, or with a view it does not inherit is refused", () => {
    const { story, nodes } = conversation();
    story.compact("c1", nodes[1]!, 1);
    const { seq } = story.view()!;
    const side = story.open("side", nodes[3]!);
    const elsewhere = story.node(side);
    refuses(story, () => story.open("side", nodes[3]!), "taken");
    refuses(story, () => story.open("x", elsewhere, MAIN, { view: seq, generation: 1 }), "another branch");
    refuses(story, () => story.open("x", nodes[3]!, MAIN, { view: 0, generation: 0 }), "than it inherits");
    refuses(story, () => story.open("x", nodes[3]!, MAIN, { view: seq, generation: 2 }), "than it inherits");
    refuses(story, () => story.open("x", nodes[0]!, MAIN, { view: seq, generation: 1 }), "than it inherits");
    story.open("x", nodes[3]!, MAIN, { view: seq, generation: 1 });
  });

  const step = (deadline: number): Meta<"step/start"> => ({
    route: "p/m",
    envelope: "",
    view: 0,
    generation: 0,
    maxOutput: null,
    deadline,
  });

  it("[T6] a step is closed once, by its own end, and a second one needs the first to be closed", () => {
    const { story } = conversation();
    const first = story.write("step/start", MAIN, step(50));
    expect(story.branch()).toMatchObject({
      step: first,
      stepDeadline: 50,
      steps: 1,
      route: "p/m",
      resends: 0,
    });
    refuses(story, () => story.write("step/start", MAIN, step(60)), "still in progress");
    const closes: [EventType, object][] = [
      ["step/end", {}],
      ["step/aborted", { reason: "client" }],
      ["step/cancelled", {}],
      ["step/failed", { reason: "x", resend: false }],
    ];
    for (const [type, meta] of closes) {
      refuses(story, () => story.write(type, MAIN, { step: first + 1, ...meta } as never), "not in progress");
    }
    story.write("step/failed", MAIN, { step: first, reason: "overflow", resend: true });
    expect(story.branch()).toMatchObject({ step: first, resends: 1 });
    story.write("step/end", MAIN, { step: first });
    expect(story.branch()).toMatchObject({ step: 0, stepDeadline: 0, resends: 0, steps: 1 });
    refuses(story, () => story.write("step/end", MAIN, { step: first }), "not in progress");
    story.write("step/start", MAIN, step(60));
    expect(story.branch().steps).toBe(2);
  });
});

describe("settings and bounds", () => {
  it("[L18] the newest settings are in force whole, with the seq that they were made at", () => {
    const story = new Story();
    const settings = { route: "p/m", capacity: { window: 9 }, policy: {}, metadata: { a: 1 }, effective: {} };
    story.write("session/configured", MAIN, settings);
    const seq = story.write("session/configured", MAIN, { ...settings, route: null, capacity: {} });
    expect(story.log.state(sessionKey)).toEqual({
      ...settings,
      dialect: "anthropic",
      route: null,
      capacity: {},
      configured: seq,
    });
  });

  const paid = (story: Story) => (story.log.state(paidKey) as unknown[] | undefined)?.length ?? 0;

  it("[T7] an automatic invocation counts once against the budget of paid summaries, however often it calls", () => {
    const { story } = conversation();
    story.claim("c1");
    story.write("compaction/attempt", MAIN, attemptMeta("c1"));
    story.write("compaction/attempt", MAIN, attemptMeta("c1", { outcome: "ok" }));
    story.end("c1");
    expect(paid(story)).toBe(1);
  });

  it("[T7] neither a manual invocation nor one of code alone counts", () => {
    const { story } = conversation();
    story.claim("c1", MAIN, "manual");
    story.write("compaction/attempt", MAIN, attemptMeta("c1"));
    story.end("c1", MAIN, { trigger: "manual", outcome: "cancelled" });
    story.write("compaction/attempt", MAIN, attemptMeta("c1", { reason: "late" }));
    story.claim("c2");
    story.write("compaction/attempt", MAIN, attemptMeta("c2", { shape: "extractive", outcome: "ok" }));
    story.end("c2");
    expect(paid(story)).toBe(0);
  });

  it("[T7] a call that was broken off counts although its evidence never came, so that no crash loop can bill", () => {
    const { story } = conversation();
    for (const [id, outcome] of [
      ["c1", "interrupted"],
      ["c2", "cancelled"],
    ] as const) {
      story.claim(id, MAIN, "overflow");
      story.end(id, MAIN, { trigger: "overflow", outcome, progress: false });
      story.write("compaction/attempt", MAIN, attemptMeta(id, { reason: "late" }));
    }
    expect(paid(story)).toBe(2);
  });

  it("[T8] only a pressure invocation that came to its own end moves the breaker", () => {
    const { story } = conversation();
    const failed = { outcome: "failed", progress: false } as const;
    const failures = () =>
      (story.log.state(breakerKey(MAIN)) as { failures: number } | undefined)?.failures ?? 0;
    const invoke = (
      id: string,
      trigger: "pressure" | "overflow" | "manual",
      end: Partial<Meta<"compaction/end">>,
    ) => {
      story.claim(id, MAIN, trigger);
      story.end(id, MAIN, { trigger, ...failed, ...end });
    };
    invoke("a", "overflow", {});
    invoke("b", "manual", {});
    invoke("c", "pressure", { outcome: "interrupted" });
    invoke("d", "pressure", { outcome: "cancelled" });
    expect(failures()).toBe(0);
    invoke("e", "pressure", {});
    invoke("f", "pressure", {});
    expect(failures()).toBe(2);
    invoke("g", "pressure", { outcome: "done", progress: true });
    expect(failures()).toBe(0);
  });
});

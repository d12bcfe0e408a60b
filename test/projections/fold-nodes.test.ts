/** The log's own rules on nodes, branches, steps and settings: an event that breaks one is refused, and nothing of it stays. */
import { describe, expect, it } from "vitest";
import type { EventType, Meta } from "../../src/log/events.ts";
import { breakerKey, paidKey, sessionKey } from "../../src/projections/fold.ts";
import { appendEvents } from "../../src/projections/write.ts";
import { conversation, refuses } from "../support/log-rules.ts";
import { attemptMeta, factsOf, MAIN, Story } from "../support/story.ts";

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

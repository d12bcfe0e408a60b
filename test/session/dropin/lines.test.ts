/** Where re-sent lists go on: the same line, a fork, a new root, a stretch; and what a refused message leaves behind. */
import { expect, it } from "vitest";
import { audit } from "../../../src/session/audit.ts";
import { calls, Lines, result, said, user } from "./lines.ts";

async function sound(lines: Lines): Promise<void> {
  expect(await audit(lines.core.log, undefined, () => Promise.resolve())).toMatchObject({
    ok: true,
    drift: [],
  });
}

it("[G41] a list that goes on from the head stays on its branch, and each message is stored once", async () => {
  const lines = new Lines();
  const list: object[] = [user("one")];
  for (let step = 0; step < 5; step++) {
    expect(await lines.step(list, calls(`c${step}`))).toBe("main");
    list.push(calls(`c${step}`), result(`c${step}`));
  }
  expect(lines.nodes()).toBe(10);
  expect(lines.shown("main")).toEqual(list.slice(0, -1));
  await sound(lines);
});

it("[G41] a list that nobody knows is a new root; a known one is found again behind it", async () => {
  const lines = new Lines();
  const main = [user("main"), said("m1"), user("go on")];
  expect(await lines.step(main.slice(0, 1), said("m1"))).toBe("main");
  const title = await lines.step([user("A title for this?")], said("Title"));
  expect(title).not.toBe("main");
  expect(await lines.step(main, said("m2"))).toBe("main");
  expect(lines.shown("main")).toEqual([...main, said("m2")]);
  expect(lines.shown(title)).toEqual([user("A title for this?"), said("Title")]);
  await sound(lines);
});

it("[G42] a rewind is a fork at the last message that is the same; the old line stays as it was", async () => {
  const lines = new Lines();
  await lines.step([user("a")], said("A"));
  await lines.step([user("a"), said("A"), user("b")], said("B"));
  const fork = await lines.step([user("a"), said("A"), user("other")], said("O"));
  expect(fork).not.toBe("main");
  expect(lines.shown("main")).toEqual([user("a"), said("A"), user("b"), said("B")]);
  expect(lines.shown(fork)).toEqual([user("a"), said("A"), user("other"), said("O")]);
  // And the main line goes on where it was.
  expect(await lines.step([user("a"), said("A"), user("b"), said("B"), user("c")], said("C"))).toBe("main");
  await sound(lines);
});

it("[G43] a past that is told for the first time is accepted up to its last reply", async () => {
  const lines = new Lines();
  const list = [user("a"), calls("x", "y"), result("x"), result("y"), said("A"), user("b"), user("c")];
  const placed = await lines.start(list);
  const { head, tip } = lines.core.log.branch(placed.branch)!;
  expect(lines.core.log.event(head)?.type).toBe("message/assistant");
  expect(tip).toBeGreaterThan(head);
  expect(placed.raws.length).toBe(2);
  lines.reply(placed, said("C"));
  expect(lines.shown("main")).toEqual([...list, said("C")]);
  await sound(lines);
});

it("[G44] a refused message stands on no branch; sent again it is the node that it was; left out, the line goes on", async () => {
  const lines = new Lines();
  await lines.step([user("a")], said("A"));
  const list = [user("a"), said("A"), user("bad")];
  for (let attempt = 0; attempt < 3; attempt++) {
    lines.refuse(await lines.start(list));
    expect(lines.shown("main")).toEqual([user("a"), said("A")]);
  }
  expect(lines.nodes()).toBe(3);
  expect(await lines.step([user("a"), said("A"), user("good")], said("G"))).toBe("main");
  expect(lines.shown("main")).toEqual([user("a"), said("A"), user("good"), said("G")]);
  await sound(lines);
});

it("[G44] a message that was refused may be accepted the next time", async () => {
  const lines = new Lines();
  lines.refuse(await lines.start([user("a")]));
  expect(await lines.step([user("a")], said("A"))).toBe("main");
  expect(lines.nodes()).toBe(2);
  await sound(lines);
});

it("[G45] requests that go on from one node run side by side, and each is a line", async () => {
  const lines = new Lines();
  await lines.step([user("a")], said("A"));
  const first = await lines.start([user("a"), said("A"), user("b")]);
  const second = await lines.start([user("a"), said("A"), user("b")]);
  expect(second.branch).not.toBe(first.branch);
  lines.reply(second, said("B2"));
  lines.reply(first, said("B1"));
  expect(lines.shown("main").at(-1)).toEqual(said("B1"));
  const other = lines.core.log.branch(second.branch)!.name;
  expect(await lines.step([user("a"), said("A"), user("b"), said("B2"), user("c")], said("C"))).toBe(other);
  // The second one's entering message was the first one's node.
  expect(lines.nodes()).toBe(7);
  await sound(lines);
});

it("[G46] of several choices the one that is sent again becomes the line", async () => {
  const lines = new Lines();
  await lines.step([user("a")], said("A1"), said("A2"), said("A3"));
  expect(lines.shown("main")).toEqual([user("a")]);
  expect(await lines.step([user("a"), said("A2"), user("b")], said("B"))).toBe("main");
  expect(lines.shown("main")).toEqual([user("a"), said("A2"), user("b"), said("B")]);
  await sound(lines);
});

it("[G47] a client that sends its newest messages only stores only the new ones, and they are what it sees", async () => {
  const lines = new Lines();
  const list: object[] = [user("start")];
  for (let step = 0; step < 60; step++) {
    // Cut in front of a call, as a client that cares does.
    const window = list.slice(-10);
    expect(await lines.step(window, calls(`c${step}`))).toBe("main");
    expect(lines.shown("main")).toEqual([...window, calls(`c${step}`)]);
    list.push(calls(`c${step}`), result(`c${step}`));
  }
  expect(lines.nodes()).toBe(120);
  expect(() => lines.arrive(list.slice(-9))).toThrow();
  // Sent whole again, it is shown whole again.
  const whole = list;
  expect(await lines.step(whole, said("end"))).toBe("main");
  expect(lines.shown("main")).toEqual([...whole, said("end")]);
  await sound(lines);
});

it("[G47] its last fifty for a thousand steps: what is stored grows by the new messages alone", async () => {
  const lines = new Lines();
  const list: object[] = [user("start")];
  const stored = () =>
    lines.core.log
      .read(0, { limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER })
      .reduce((sum, row) => sum + row.size, 0);
  const steps: number[] = [];
  for (let step = 0; step < 1_000; step++) {
    const before = step % 250 === 0 ? stored() : 0;
    await lines.step(list.slice(-50), calls(`c${step}`));
    if (step % 250 === 0) steps.push(stored() - before);
    list.push(calls(`c${step}`), result(`c${step}`));
  }
  const said = list.slice(0, -1).map((message) => JSON.stringify(message).length);
  expect(lines.nodes()).toBe(2_000);
  expect(stored()).toBe(said.reduce((sum, length) => sum + length, 0));
  // A later step stores no more than an early one, but for the digits of its ids.
  expect(Math.max(...steps) - steps[1]!).toBeLessThan(20);
});

it("[G48] what breaks the order is refused before anything is written", async () => {
  const lines = new Lines();
  await lines.step([user("a")], calls("x"));
  const end = lines.core.log.end();
  const bad = [
    [user("a"), calls("x"), user("no result")],
    [user("a"), calls("x"), result("y")],
    [user("z"), calls("x")],
    [result("x")],
  ];
  for (const list of bad) expect(() => lines.arrive(list)).toThrow();
  expect(lines.core.log.end()).toBe(end);
  expect(lines.core.held.size).toBe(0);
  expect(await lines.step([user("a"), calls("x"), result("x")], said("A"))).toBe("main");
  await sound(lines);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { READ_BYTES } from "../../src/live/protocol.ts";
import { type Client, World } from "./feed-model.ts";

const pick = fc.nat();
const size = fc.oneof(
  fc.nat(400),
  fc.nat(400),
  fc.integer({ min: 20_000, max: 65_000 }),
  fc.constant(90_000),
);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("commit"), sizes: fc.array(size, { maxLength: 6, size: "max" }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("skip"), sizes: fc.array(size, { maxLength: 2 }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("publish") }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("join"), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave"), pick }) },
);
type Step = { do: string; sizes?: number[]; pick?: number };

function choose(world: World, n: number): Client | undefined {
  const open = world.open();
  return open[n % Math.max(1, open.length)];
}

/** An object that is evicted after a commit is one that does not publish it: all else lives in attachments. */
function take(world: World, action: Step): void {
  const client = choose(world, action.pick ?? 0);
  if (action.do === "commit") world.commit(action.sizes ?? []);
  else if (action.do === "skip") world.commit(action.sizes ?? [], 3);
  else if (action.do === "publish") world.publish();
  else if (action.do === "join") world.join((action.pick ?? 0) % (world.log.end() + 1));
  else client?.close(1000, "done");
}

/** Nothing twice, nothing out of order, nothing left out on the way. */
function check(world: World): void {
  for (const { after, seen, said, closed } of world.clients) {
    const due = world.log.seqsAfter(after);
    if (!seen.every((seq, index) => seq === due[index])) expect(seen).toEqual(due.slice(0, seen.length));
    expect(said.filter((type) => type === "ready").length).toBe(1);
    expect(closed?.code ?? 1000).toBe(1000);
  }
}

it("[W2] whatever is appended, published late, never published and left, every socket gets every seq once and in order", () => {
  const totals = { events: 0, reads: 0, atOnce: 0, gone: 0 };
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: "max" }), (steps) => {
      const world = new World();
      for (const action of steps) take(world, action);
      check(world);
      // The next commit carries along whatever was not published.
      world.commit([1]);
      world.publish();
      check(world);
      for (const client of world.open()) expect(client.seen).toEqual(world.log.seqsAfter(client.after));
      expect(world.log.mostRead).toBeLessThanOrEqual(READ_BYTES);
      totals.events += world.log.events.length;
      totals.reads += world.log.reads;
      totals.gone += world.clients.length - world.open().length;
      totals.atOnce = Math.max(totals.atOnce, world.open().length);
    }),
    { numRuns: Number(process.env.RUNS ?? 150) },
  );
  // Without company and without replays of several reads the property would say little.
  expect(totals.atOnce).toBeGreaterThan(3);
  expect(totals.gone).toBeGreaterThan(20);
  expect(totals.reads).toBeGreaterThan(500);
});

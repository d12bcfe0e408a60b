import fc from "fast-check";
import { expect, it } from "vitest";
import { PAGE_BYTES, WINDOW_BYTES } from "../../src/live/protocol.ts";
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
  { weight: 3, arbitrary: fc.record({ do: fc.constant("join"), pick }) },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant("read"), pick, times: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("repeat"), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("evict") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave"), pick }) },
);
type Step = { do: string; sizes?: number[]; pick?: number; times?: number };

function choose(world: World, n: number): Client | undefined {
  const open = world.open();
  return open[n % Math.max(1, open.length)];
}

function take(world: World, action: Step): void {
  const client = choose(world, action.pick ?? 0);
  if (action.do === "commit") world.commit(action.sizes ?? []);
  else if (action.do === "skip") world.commit(action.sizes ?? [], 3);
  else if (action.do === "publish") world.publishNext();
  // What was committed and not yet published is lost to memory; sockets keep their attachments, which are
  // text.
  else if (action.do === "evict") world.forget();
  else if (action.do === "join") world.join((action.pick ?? 0) % (world.log.end() + 1));
  else if (client === undefined) return;
  else if (action.do === "read") for (let i = 0; i < (action.times ?? 1); i++) world.step(client);
  else if (action.do === "leave") client.close(1000, "done");
  else world.say(client, JSON.stringify({ type: "more", after: client.seen.at(-1) ?? client.after }));
}

function check(world: World): void {
  for (const client of world.clients) {
    expect(client.seen).toEqual(world.log.seqsAfter(client.after).slice(0, client.seen.length));
    expect(client.unread()).toBeLessThanOrEqual(WINDOW_BYTES + 2 * PAGE_BYTES);
    expect(client.closed?.code ?? 1000).toBe(1000);
  }
}

it("[W2] whatever is appended, asked, repeated, published late or forgotten, every socket reads every seq once and in order", () => {
  const totals = { events: 0, clients: 0, pages: 0 };
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: "max" }), (steps) => {
      const world = new World();
      for (const action of steps) {
        take(world, action);
        check(world);
      }
      world.publishAll();
      // The next commit carries along whatever a forgetful object did not publish.
      world.commit([1]);
      world.publishAll();
      for (const client of world.open()) {
        world.drain(client);
        expect(client.seen).toEqual(world.log.seqsAfter(client.after));
        expect(client.said.at(-1)).toMatch(/^(event|ready)$/);
        totals.pages += client.asks;
      }
      totals.events += world.log.events.length;
      totals.clients += world.clients.length;
    }),
    { numRuns: Number(process.env.RUNS ?? 150) },
  );
  // Without pages the property would say little.
  expect(totals.pages).toBeGreaterThan(20);
});

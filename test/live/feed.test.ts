import { expect, it } from "vitest";
import { closeFeed, type FeedSource, openFeed, reap, receive } from "../../src/live/feed.ts";
import { MAX_BODY_BYTES, READ_BYTES } from "../../src/live/protocol.ts";
import { MAX_LIFE_MS } from "../../src/live/subscriber.ts";
import { World } from "./feed-model.ts";

function worldWith(count: number, size: number): World {
  const world = new World();
  world.commit(Array.from({ length: count }, () => size));
  return world;
}

it("[W3] a replay goes out at once and whole, however long, read from the log at most 256 KiB at a time", () => {
  const world = worldWith(100, 50_000);
  const client = world.join(3);
  expect(client.seen).toEqual(world.log.seqsAfter(3));
  expect(client.frames.at(-1)).toBe('{"type":"ready","seq":100}');
  expect(world.log.reads).toBe(Math.ceil(97 / 5));
  expect(world.log.mostRead).toBeLessThanOrEqual(READ_BYTES);
});

it("[W3] live events are never held back: a client owes nothing for them", () => {
  const world = worldWith(1, 10);
  const client = world.join(0);
  for (let i = 0; i < 60; i++) {
    world.commit([50_000]);
    world.publish();
    expect(client.seen.length).toBe(i + 2);
  }
  expect(client.said.filter((type) => type !== "event")).toEqual(["ready"]);
});

it("[W3] what is committed is read once for all sockets that are at the same place", () => {
  const world = worldWith(1, 10);
  const clients = [0, 1, 1, 0].map((after) => world.join(after));
  const before = world.log.reads;
  world.commit([10, 20]);
  world.publish();
  expect(world.log.reads).toBe(before + 1);
  expect(clients.map((client) => client.seen.slice(-2))).toEqual(Array(4).fill([2, 3]));
});

it("[W2] what is committed before a socket is ready and published after reaches it once", () => {
  const world = worldWith(2, 1);
  const client = world.join(0);
  world.publish();
  expect(client.said).toEqual(["event", "event", "ready"]);
});

it("[W2] sockets that missed publications get what each of them lacks with the next", () => {
  const world = worldWith(1, 10);
  const old = world.join(0);
  world.commit([1, 2]);
  const young = world.join(3);
  world.commit([3]);
  world.publish();
  expect(old.seen).toEqual([1, 2, 3, 4]);
  expect(young.seen).toEqual([4]);
});

it("[W2] a replay that the object did not live to end is ended by the next publication, with its ready", () => {
  const world = worldWith(3, 10);
  const client = world.join(3);
  client.attachment = { ...(client.attachment as object), cursor: 1, phase: "replay" };
  world.publish();
  expect(client.seen).toEqual([2, 3]);
  expect(client.said).toEqual(["ready", "event", "event", "ready"]);
});

it("[W5] the body's own text goes out, up to 64 KiB of bytes; beyond, its seq and size", () => {
  const world = new World();
  const event = world.log.append(0);
  event.body = '{"big":12345678901234567890,"b":1,"a":"\\ud800"}';
  world.log.append(MAX_BODY_BYTES - 2);
  world.log.append(MAX_BODY_BYTES - 1);
  const wide = world.log.append(0);
  wide.body = `"${"ü".repeat(MAX_BODY_BYTES / 2)}"`;
  const referred = world.log.append(0);
  referred.body = { bodyRef: referred.seq, bytes: 9_000_000 };
  const client = world.join(0);
  expect(client.frames[0]).toContain(`"body":${event.body}}`);
  const bodies = client.frames.slice(1, 5).map((text) => JSON.parse(text).event.body);
  expect(bodies[0]).toHaveLength(MAX_BODY_BYTES - 2);
  expect(bodies[1]).toEqual({ bodyRef: 3, bytes: MAX_BODY_BYTES + 1 });
  expect(bodies[2]).toEqual({ bodyRef: 4, bytes: MAX_BODY_BYTES + 2 });
  expect(bodies[3]).toEqual({ bodyRef: 5, bytes: 9_000_000 });
});

it("[W6] a frame of the client closes its socket", () => {
  const client = worldWith(1, 1).join(0);
  receive(client);
  expect(client.closed).toEqual({ code: 4400, reason: "bad-message" });
});

it("[W6] a socket whose right has ended gets nothing more", () => {
  const world = worldWith(1, 1);
  const client = world.join(0);
  world.now += MAX_LIFE_MS - 1;
  world.commit([1]);
  world.publish();
  expect(client.closed).toBeUndefined();
  world.now += 1;
  world.commit([1]);
  world.publish();
  expect(client.closed).toEqual({ code: 4401, reason: "expired" });
  expect(client.seen).toEqual([1, 2]);
});

it("[W6] when places are short the sockets whose right has ended lose theirs", () => {
  const world = worldWith(1, 1);
  const old = world.join(0);
  world.now += MAX_LIFE_MS;
  const young = world.join(0);
  reap(world.open(), world.now);
  expect(old.closed).toEqual({ code: 4401, reason: "expired" });
  expect(young.closed).toBeUndefined();
});

it("[W6] a socket that breaks, and one of which nothing is known, are closed and keep nobody else from the events", () => {
  const world = worldWith(1, 1);
  const broken = world.join(0);
  const sound = world.join(0);
  const strange = world.join(0);
  broken.broken = true;
  strange.attachment = { phase: "live", cursor: 1 };
  world.commit([1, 1]);
  world.publish();
  expect(broken.closed).toEqual({ code: 1011, reason: "internal" });
  expect(strange.closed).toEqual({ code: 1011, reason: "internal" });
  expect(sound.seen).toEqual([1, 2, 3]);
});

it("[W6] a log whose end can not be read closes the sockets instead of skipping what is missing", () => {
  const world = worldWith(1, 1);
  const client = world.join(0);
  const source: FeedSource = { end: () => 3, read: () => [] };
  openFeed(client, source, { tenant: "acme", after: 0, now: 0 });
  expect(client.closed?.code).toBe(1011);
});

it("[W8] closing says why on every socket", () => {
  const world = worldWith(1, 1);
  const clients = [world.join(0), world.join(1)];
  closeFeed(clients, "erased");
  expect(clients.map((client) => client.closed)).toEqual(Array(2).fill({ code: 4410, reason: "erased" }));
});

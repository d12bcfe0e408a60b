import { expect, it } from "vitest";
import { closeFeed, type FeedSource, openFeed, reap } from "../../src/live/feed.ts";
import { MAX_BODY_BYTES, PAGE_BYTES, WINDOW_BYTES } from "../../src/live/protocol.ts";
import { MAX_LIFE_MS, PATIENCE_MS } from "../../src/live/subscriber.ts";
import { type Client, World } from "./feed-model.ts";

function worldWith(count: number, size: number): World {
  const world = new World();
  world.commit(Array.from({ length: count }, () => size));
  world.publishAll();
  return world;
}

const more = (after: number) => JSON.stringify({ type: "more", after });
const last = (client: Client) => JSON.parse(client.inbox.at(-1) ?? "{}");

it("[W3] a page holds at most 256 KiB of frames and ends by saying where; the next one waits for more", () => {
  const world = worldWith(20, 50_000);
  const client = world.join(0);
  const page = client.inbox.slice(0, -1);
  expect(page.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(PAGE_BYTES);
  expect(page.length).toBe(5);
  expect(last(client)).toEqual({ type: "page", after: 5, end: 20 });
  world.commit([10]);
  world.publishAll();
  expect(client.inbox.length).toBe(6);
  world.say(client, more(5));
  expect(last(client)).toEqual({ type: "page", after: 10, end: 21 });
});

it("[W3] a repeated or old more gives nothing, one for what was never sent closes the socket", () => {
  const world = worldWith(20, 50_000);
  const client = world.join(0);
  world.say(client, more(5));
  const sent = client.inbox.length;
  world.say(client, more(5));
  world.say(client, more(0));
  expect(client.inbox.length).toBe(sent);
  world.say(client, more(11));
  expect(client.closed).toEqual({ code: 4400, reason: "bad-message" });
});

it("[W3] a live socket that never asks is paused after 1 MiB and reads the rest from the log when it asks", () => {
  const world = worldWith(1, 10);
  const client = world.join(0);
  for (let i = 0; i < 40; i++) {
    world.commit([50_000]);
    world.publishAll();
  }
  expect(client.unread()).toBeLessThan(WINDOW_BYTES + 100);
  expect(last(client)).toMatchObject({ type: "page", end: 22 });
  world.drain(client);
  expect(client.seen).toEqual(world.log.seqsAfter(0));
});

it("[W3] a live client that keeps asking for more at its place is never paused", () => {
  const world = worldWith(1, 10);
  const client = world.join(0);
  for (let i = 0; i < 60; i++) {
    world.commit([50_000]);
    world.publishAll();
    world.drain(client);
    world.say(client, more(client.seen.at(-1) ?? 0));
  }
  expect(client.said.filter((type) => type === "page")).toEqual([]);
  expect(client.seen.length).toBe(61);
});

it("[W2] what is committed before a socket is ready and published after reaches it once", () => {
  const world = new World();
  world.commit([1, 1]);
  const client = world.join(0);
  world.publishAll();
  world.drain(client);
  expect(client.seen).toEqual([1, 2]);
  expect(client.said).toEqual(["event", "event", "ready"]);
});

it("[W2] a live socket that missed a publication reads what it missed from the log", () => {
  const world = worldWith(1, 10);
  const client = world.join(0);
  world.commit([1, 2]);
  world.forget();
  world.commit([3]);
  world.publishAll();
  world.drain(client);
  expect(client.seen).toEqual([1, 2, 3, 4]);
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
  expect(client.inbox[0]).toContain(`"body":${event.body}}`);
  const bodies = client.inbox.slice(1, 5).map((text) => JSON.parse(text).event.body);
  expect(bodies[0]).toHaveLength(MAX_BODY_BYTES - 2);
  expect(bodies[1]).toEqual({ bodyRef: 3, bytes: MAX_BODY_BYTES + 1 });
  expect(bodies[2]).toEqual({ bodyRef: 4, bytes: MAX_BODY_BYTES + 2 });
  expect(bodies[3]).toEqual({ bodyRef: 5, bytes: 9_000_000 });
});

it.each([
  ["no JSON", "{"],
  ["another type", '{"type":"subscribe","after":0}'],
  ["a missing member", '{"type":"more"}'],
  ["a fraction", '{"type":"more","after":0.5}'],
  ["a negative seq", '{"type":"more","after":-1}'],
  ["an unknown member", '{"type":"more","after":0,"branch":"main"}'],
  ["too long a frame", `{"type":"more","after":0${" ".repeat(1024)}}`],
])("[W6] closes on %s", (_, text) => {
  const world = worldWith(1, 1);
  const client = world.join(0);
  world.say(client, text);
  expect(client.closed).toEqual({ code: 4400, reason: "bad-message" });
});

it("[W6] a socket whose right has ended gets nothing more", () => {
  const world = worldWith(1, 1);
  const quiet = world.join(0);
  const asking = world.join(0);
  world.now += MAX_LIFE_MS;
  world.say(asking, more(1));
  expect(asking.closed).toEqual({ code: 4401, reason: "expired" });
  world.commit([1]);
  world.publishAll();
  expect(quiet.closed).toEqual({ code: 4401, reason: "expired" });
  expect(quiet.inbox).toHaveLength(2);
});

it("[W6] a socket that owes a more for over five minutes is closed at the next commit, but served if it asks before", () => {
  const world = worldWith(20, 50_000);
  const slow = world.join(0);
  const late = world.join(0);
  world.now += PATIENCE_MS + 1;
  world.say(late, more(5));
  world.commit([1]);
  world.publishAll();
  expect(slow.closed).toEqual({ code: 4408, reason: "too-slow" });
  expect(late.closed).toBeUndefined();
  world.now += PATIENCE_MS + 1;
  reap(world.open(), world.now);
  expect(late.closed?.code).toBe(4408);
});

it("[W6] a socket that breaks is closed and keeps nobody else from the events", () => {
  const world = worldWith(1, 1);
  const broken = world.join(0);
  const sound = world.join(0);
  const strange = world.join(0);
  broken.broken = true;
  strange.attachment = { phase: "live", cursor: 1 };
  world.commit([1]);
  world.publishAll();
  expect(broken.closed).toEqual({ code: 1011, reason: "internal" });
  expect(strange.closed).toEqual({ code: 1011, reason: "internal" });
  world.drain(sound);
  expect(sound.seen).toEqual([1, 2]);
});

it("[W6] a log whose end can not be read closes the socket instead of skipping what is missing", () => {
  const world = new World();
  const source: FeedSource = { end: () => 3, read: () => [] };
  const client = world.join(0);
  openFeed(client, source, { tenant: "acme", after: 0, now: 0 });
  expect(client.closed?.code).toBe(1011);
});

it("[W8] closing says why on every socket", () => {
  const world = worldWith(1, 1);
  const clients = [world.join(0), world.join(1)];
  closeFeed(clients, "erased");
  expect(clients.map((client) => client.closed)).toEqual(Array(2).fill({ code: 4410, reason: "erased" }));
});

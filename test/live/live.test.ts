/**
 * The socket through the whole Worker, in workerd: upgrade, replay, live, eviction. What the feed decides
 * is tested in feed.test.ts.
 */
import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { type LiveClient, type SessionClient, sessionClient } from "../support/client.ts";

const isReady = (frame: { type: string }) => frame.type === "ready";
const say = (text: string) => ({ type: "message", message: { role: "user", content: text } });

async function opened(): Promise<SessionClient> {
  const session = sessionClient();
  await session.expect(201, "PUT", "/", { dialect: "openai-chat" });
  return session;
}

async function logOf(session: SessionClient): Promise<{ seq: number; type: string; body: unknown }[]> {
  const page = await session.expect<{ events: { seq: number; type: string; body: unknown }[] }>(
    200,
    "GET",
    "/events",
  );
  return page.events;
}

it("[W1] replays the log in the shape of GET /events, says ready with its end, and goes on live", async () => {
  const session = await opened();
  await session.expect(200, "POST", "/events", { items: [say("one")] });
  const socket = await session.live("?after=0");
  const before = await logOf(session);
  const ready = await socket.until(isReady);
  expect(ready).toEqual({ type: "ready", seq: before.at(-1)?.seq });
  expect(socket.frames.slice(0, -1).map((frame) => frame.event)).toEqual(before);

  const answer = await session.expect<{ seqs: number[] }>(200, "POST", "/events", { items: [say("two")] });
  const frame = await socket.until((candidate) => candidate.seq === answer.seqs[0]);
  expect(frame).toMatchObject({ type: "event", branch: "main", event: { type: "message/user" } });
  const after = await logOf(session);
  await expect.poll(() => socket.seqs()).toEqual(after.map((event) => event.seq));
  socket.close();
});

it("[W1] begins behind the seq that the client names, and at the log's start when it names none", async () => {
  const session = await opened();
  await session.expect(200, "POST", "/events", { items: [say("one")] });
  const all = (await logOf(session)).map((event) => event.seq);
  const fromStart = await session.live();
  await fromStart.until(isReady);
  expect(fromStart.seqs()).toEqual(all);
  const fromEnd = await session.live(`?after=${all.at(-1)}`);
  await fromEnd.until(isReady);
  expect(fromEnd.seqs()).toEqual([]);
  const fromSecond = await session.live(`?after=${all[0]}`);
  await fromSecond.until(isReady);
  expect(fromSecond.seqs()).toEqual(all.slice(1));
});

it("[W10] tells the pressure of the newest event's branch when it has changed, beside the log", async () => {
  const session = await opened();
  const socket = await session.live();
  await socket.until(isReady);
  await session.expect(200, "POST", "/events", { items: [say("one")] });
  const isPressure = (frame: { type: string }) => frame.type === "pressure";
  const told = await socket.until(isPressure);
  const { pressure } = await session.expect<{ pressure: object }>(200, "GET", "/pressure");
  expect(told).toEqual({ type: "pressure", branch: "main", generation: 0, pressure });
  await session.expect(200, "PUT", "/", { metadata: { about: "nothing that weighs" } });
  await session.expect(200, "POST", "/events", { items: [say("two")] });
  await socket.until((frame) => frame.seq === 5);
  await expect.poll(() => socket.frames.filter(isPressure)).toHaveLength(2);
  // Who comes later gets the log, and no pressure of the past.
  const later = await session.live();
  await later.until(isReady);
  expect(later.frames.filter(isPressure)).toEqual([]);
  socket.close();
});

it("[W3] a client that says nothing gets a replay of any length, and the events committed behind it", async () => {
  const session = await opened();
  const long = "x".repeat(40_000);
  const items = Array.from({ length: 20 }, (_, i) => say(`${i} ${long}`));
  await session.expect(200, "POST", "/events", { items });
  const socket = await session.live();
  const answer = await session.expect<{ seqs: number[] }>(200, "POST", "/events", { items: [say("new")] });
  await socket.until((frame) => frame.seq === answer.seqs[0]);
  const all = (await logOf(session)).map((event) => event.seq);
  expect(socket.seqs()).toEqual(all);
  expect(socket.frames.filter(isReady)).toEqual([{ type: "ready", seq: all.at(-2) }]);
});

it("[W2] more events than one read holds, committed at once, all go out at once", async () => {
  const session = await opened();
  const socket = await session.live();
  const items = Array.from({ length: 1_200 }, (_, i) => say(`message ${i}`));
  const { seqs } = await session.expect<{ seqs: number[] }>(200, "POST", "/events", { items });
  await expect.poll(() => socket.seqs().slice(-1_200)).toEqual(seqs);
});

it("[W4] goes on where it was after the object was evicted", async () => {
  const session = await opened();
  const socket = await session.live();
  await socket.until(isReady);
  for (const text of ["one", "two"]) {
    await evictDurableObject(session.stub());
    const answer = await session.expect<{ seqs: number[] }>(200, "POST", "/events", { items: [say(text)] });
    await socket.until((frame) => frame.seq === answer.seqs[0]);
  }
  const all = (await logOf(session)).map((event) => event.seq);
  expect(socket.seqs()).toEqual(all);
});

it("[W5] a body over 64 KiB goes as a reference that GET /events resolves", async () => {
  const session = await opened();
  const text = "ü".repeat(40_000);
  const { seqs } = await session.expect<{ seqs: number[] }>(200, "POST", "/events", { items: [say(text)] });
  const socket = await session.live(`?after=${(seqs[0] ?? 0) - 1}`);
  const frame = await socket.until((candidate) => candidate.seq === seqs[0]);
  expect(frame.event?.body).toEqual({ bodyRef: seqs[0], bytes: expect.any(Number) });
  const page = await session.expect<{ events: { body: unknown }[] }>(
    200,
    "GET",
    `/events?after=${(seqs[0] ?? 0) - 1}&limit=1`,
  );
  expect(JSON.stringify(page.events[0]?.body)).toContain(text);
});

it("[W6] answers ping with pong and closes on anything else", async () => {
  const session = await opened();
  const socket = await session.live();
  await socket.until(isReady);
  socket.send("ping");
  await expect.poll(() => socket.texts.at(-1)).toBe("pong");
  for (const text of ["Ping", '{"type":"more","after":0}', ""]) {
    const other = await session.live();
    other.send(text);
    expect(await other.closed).toEqual({ code: 4400, reason: "bad-message" });
  }
});

it("[W7] refuses a session that is not there, a request without upgrade and a place that the log has not reached", async () => {
  const upgrade = { upgrade: "websocket" };
  const absent = await sessionClient().request("GET", "/live", undefined, upgrade);
  expect(absent.status).toBe(404);
  expect(await absent.json()).toMatchObject({ code: "unknown-session" });
  const session = await opened();
  const plain = await session.request("GET", "/live");
  expect([plain.status, (await plain.json<{ at: string }>()).at]).toEqual([400, "upgrade"]);
  for (const after of ["9999", "-1", "1.5", "x", ""]) {
    const refused = await session.request("GET", `/live?after=${after}`, undefined, upgrade);
    expect([refused.status, (await refused.json<{ at: string }>()).at]).toEqual([400, "after"]);
  }
});

it("[W7] takes 32 sockets at a time, and one more when one has gone", async () => {
  const session = await opened();
  const sockets: LiveClient[] = [];
  for (let i = 0; i < 32; i++) sockets.push(await session.live());
  const refused = await session.request("GET", "/live", undefined, { upgrade: "websocket" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
  sockets[5]?.close(1000);
  await expect
    .poll(async () => {
      const response = await session.request("GET", "/live", undefined, { upgrade: "websocket" });
      response.webSocket?.accept();
      return response.status;
    })
    .toBe(101);
});

it("[W9] a close by the client is agreed to, with or without a code", async () => {
  const session = await opened();
  for (const [given, answered] of [
    [undefined, 1000],
    [1000, 1000],
    [3001, 3001],
  ]) {
    const socket = await session.live();
    await socket.until(isReady);
    socket.close(given);
    expect((await socket.closed).code).toBe(answered);
  }
});

it("[W8] erasing the session closes its sockets", async () => {
  const session = await opened();
  const socket = await session.live();
  await socket.until(isReady);
  await session.expect(204, "DELETE", "/");
  expect(await socket.closed).toEqual({ code: 4410, reason: "erased" });
});

import fc from "fast-check";
import { expect, it, vi } from "vitest";
import {
  Gauge,
  LEASE_MS,
  MAX_BODY_BYTES,
  MAX_IN_FLIGHT_BYTES,
  type Reservation,
} from "../../src/gateway/admission.ts";
import { chunked, codeOf, fakeGateway, type Handler, readAll } from "./fake-sessions.ts";

const MiB = 1024 * 1024;
const url = "/v1/sessions/s/events";
/**
 * A body whose length is declared, as a real client's is (a made-up `Request` has no such header of its
 * own).
 */
const declared = (bytes: number) => ({ headers: withLength(bytes), body: new Uint8Array(bytes) });
const withLength = (length: number | string) => ({
  authorization: "Bearer secret",
  "content-length": `${length}`,
});

it("[G5] a declared length over 32 MiB is 413 at once: no object is named, nothing is read", async () => {
  const gateway = fakeGateway();
  const body = chunked(1, 10);
  const answer = await gateway.send("POST", url, {
    headers: withLength(MAX_BODY_BYTES + 1),
    body: body.stream,
  });
  expect([answer.status, await codeOf(answer)]).toEqual([413, "too-large"]);
  expect([gateway.named, body.taken()]).toEqual([[], 0]);
});

it("[G5] a declared length of exactly 32 MiB is admitted", async () => {
  const gateway = fakeGateway();
  const answer = await gateway.send("POST", url, declared(MAX_BODY_BYTES));
  expect(await answer.json()).toEqual({ length: MAX_BODY_BYTES });
});

it.each(["-1", "1.5", "1e3", "12, 12", "abc", ""])("[G5] the length %j is refused", async (length) => {
  const gateway = fakeGateway();
  const answer = await gateway.send("POST", url, { headers: withLength(length), body: "{}" });
  expect([answer.status, await codeOf(answer)]).toEqual([400, "bad-request"]);
});

it("[G5] a body without length is cut after 32 MiB, and the answer is 413 whatever the object made of the rest", async () => {
  const swallow: Handler = async ({ request }) => {
    const read = await request.text().catch(() => "cut");
    return Response.json({ read }, { status: read === "cut" ? 400 : 200 });
  };
  for (const handler of [readAll, swallow]) {
    const gauge = new Gauge();
    const gateway = fakeGateway(handler, { gauge });
    const body = chunked(100, MiB);
    const answer = await gateway.send("POST", url, { body: body.stream });
    expect([answer.status, await codeOf(answer)]).toEqual([413, "too-large"]);
    expect(body.taken()).toBeLessThanOrEqual(35);
    expect(gauge.taken).toBe(0);
  }
});

it("[G5] a body without length of exactly 32 MiB goes through", async () => {
  const gateway = fakeGateway();
  const answer = await gateway.send("POST", url, { body: chunked(32, MiB).stream });
  expect(await answer.json()).toEqual({ length: MAX_BODY_BYTES });
});

it("[G6] 48 MiB of declared bodies are under way at a time; the next is 503 with Retry-After until one is answered", async () => {
  const gauge = new Gauge();
  let answerAll = () => {};
  const wait = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  const gateway = fakeGateway(
    async () => {
      await wait;
      return new Response("done");
    },
    { gauge },
  );
  const first = gateway.send("POST", url, declared(30 * MiB));
  const second = gateway.send("POST", url, declared(18 * MiB));
  const third = await gateway.send("POST", url, declared(1));
  expect([third.status, third.headers.get("retry-after"), await codeOf(third)]).toEqual([
    503,
    "2",
    "overloaded",
  ]);
  expect(gateway.named).toHaveLength(2);
  const reading = gateway.send("GET", url);
  answerAll();
  expect((await Promise.all([first, second, reading])).map((answer) => answer.status)).toEqual([
    200, 200, 200,
  ]);
  expect(gauge.taken).toBe(0);
  expect((await gateway.send("POST", url, declared(1))).status).toBe(200);
});

it("[G6] bodies without length weigh what has come of them; one that no longer fits is cut with 503", async () => {
  const gauge = new Gauge(3 * MiB);
  const other = gauge.reserve(MiB, Date.now());
  const gateway = fakeGateway(readAll, { gauge });
  const fits = await gateway.send("POST", url, { body: chunked(2, MiB).stream });
  expect(fits.status).toBe(200);
  expect(gauge.taken).toBe(MiB);
  const cut = await gateway.send("POST", url, { body: chunked(3, MiB).stream });
  expect([cut.status, await codeOf(cut)]).toEqual([503, "overloaded"]);
  expect(gauge.taken).toBe(MiB);
  other?.release();
  expect(gauge.taken).toBe(0);
});

it("[G6] what a request took is given back whether the object answers, refuses, throws or the body breaks", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const broken = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(1000));
      },
      pull(controller) {
        controller.error(new Error("the client went away"));
      },
    });
  const cases: [Handler, BodyInit, number][] = [
    [readAll, new Uint8Array(1000), 200],
    [() => new Response(null, { status: 409 }), "x".repeat(1000), 409],
    [() => Promise.reject(new Error("dead")), "x".repeat(1000), 500],
    [() => Promise.reject(Object.assign(new Error(), { overloaded: true })), "x".repeat(1000), 503],
    [readAll, broken(), 500],
  ];
  for (const [handler, body, status] of cases) {
    const gauge = new Gauge();
    const gateway = fakeGateway(handler, { gauge });
    const init = typeof body === "string" ? { body, headers: withLength(body.length) } : { body };
    expect((await gateway.send("POST", url, init)).status).toBe(status);
    expect(gauge.taken).toBe(0);
  }
  vi.restoreAllMocks();
});

it("[G6] a reservation that nobody gave back ends after 15 minutes and is not given back twice", () => {
  const gauge = new Gauge(100);
  const lost = gauge.reserve(90, 0);
  expect(gauge.reserve(20, LEASE_MS - 1)).toBeUndefined();
  expect(gauge.reserve(20, LEASE_MS)).toBeDefined();
  expect(gauge.taken).toBe(20);
  lost?.release();
  expect([gauge.taken, lost?.grow(1)]).toEqual([20, false]);
});

it("[G6] in any order of taking, growing and giving back, the gauge shows exactly what is out and never passes its limit", () => {
  const action = fc.record({
    do: fc.constantFrom("reserve", "grow", "release"),
    bytes: fc.nat(40),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(action, { size: "max", maxLength: 60 }), (actions) => {
      const gauge = new Gauge(100);
      const all: { reservation: Reservation; bytes: number }[] = [];
      for (const { do: what, bytes, pick } of actions) {
        const chosen = all[pick % Math.max(1, all.length)];
        if (what === "reserve") {
          const reservation = gauge.reserve(bytes, 0);
          if (reservation !== undefined) all.push({ reservation, bytes });
        } else if (what === "grow" && chosen?.reservation.grow(bytes)) chosen.bytes += bytes;
        else if (what === "release" && chosen !== undefined) {
          chosen.reservation.release();
          chosen.bytes = 0;
          expect(chosen.reservation.grow(1)).toBe(false);
        }
        expect(gauge.taken).toBe(all.reduce((sum, one) => sum + one.bytes, 0));
        expect(gauge.taken).toBeLessThanOrEqual(100);
      }
    }),
  );
});

it("[G6] the limit of the gauge is 48 MiB", () => {
  const gauge = new Gauge();
  expect(gauge.reserve(MAX_IN_FLIGHT_BYTES, 0)).toBeDefined();
  expect(gauge.reserve(1, 0)).toBeUndefined();
  expect(MAX_IN_FLIGHT_BYTES).toBe(48 * MiB);
});

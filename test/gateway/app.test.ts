import { expect, it, vi } from "vitest";
import { Refusal } from "../../src/failure.ts";
import { methodsOf, nativeRoutes } from "../../src/gateway/routes.ts";
import { chunked, codeOf, fakeGateway, readAll } from "./fake-sessions.ts";

const longest = `a${"b".repeat(127)}`;

it.each(["a", "A.b_c-d", "0", longest, "a%2Eb", "%61bc"])("[G3] the id %s is taken", async (id) => {
  const gateway = fakeGateway();
  expect((await gateway.send("GET", `/v1/sessions/${id}`)).status).toBe(200);
  expect(gateway.named).toEqual([`acme:${decodeURIComponent(id)}`]);
});

it.each([
  "-a",
  ".a",
  "_a",
  `${longest}c`,
  "a%20b",
  "a%2Fb",
  "a:b",
  "a%00",
  "a%0A",
  "%C3%BC",
  "%E0%A4%A",
  "%2e%2e%2fx",
  "~",
])("[G3] the id %s is refused before an object is named", async (id) => {
  const gateway = fakeGateway();
  const refused = await gateway.send("PUT", `/v1/sessions/${id}/`, { body: "{}" });
  expect([refused.status, await codeOf(refused)]).toEqual([400, "bad-id"]);
  expect(gateway.named).toEqual([]);
});

it("[G4] every native route goes on to the object with its path below the session, its query and its body", async () => {
  for (const [path, methods] of Object.entries(nativeRoutes)) {
    for (const method of methods) {
      const gateway = fakeGateway();
      const tail = path === "/" ? "" : path.replace("{seq}", "17");
      const body = method === "GET" ? {} : { body: '{"ü":1}' };
      const answer = await gateway.send(method, `/v1/sessions/s1${tail}?after=3&branch=x%20y`, body);
      expect([path, method, answer.status]).toEqual([path, method, 200]);
      const { request, name, text } = gateway.reached[0] ?? {};
      expect([name, request?.method, text]).toEqual(["acme:s1", method, method === "GET" ? "" : '{"ü":1}']);
      const url = new URL(request?.url ?? "");
      expect([url.pathname, url.search]).toEqual([tail === "" ? "/" : tail, "?after=3&branch=x%20y"]);
    }
  }
});

it.each([
  "/v1/sessions/s/steps/1",
  "/v1/sessions/s/notes",
  "/v1/sessions/s/live-ticket",
  "/v1/sessions/s/recall",
  "/v1/sessions/s/events/",
  "/v1/sessions/s//",
  "/v1/sessions/s/checkpoints/1/2",
  "/v1/sessions/s/toString",
  "/v1/sessions/",
  "/v1/sessions",
  "/openaiv1/chat/completions",
  "/groq/v1/chat/completions",
  "/",
  "/nowhere",
])("[G4] %s is 404 not-found", async (path) => {
  const gateway = fakeGateway();
  const answer = await gateway.send("POST", path, { body: "{}" });
  expect([answer.status, await codeOf(answer)]).toEqual([404, "not-found"]);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(gateway.named).toEqual([]);
});

it("[G4] a wrong method is 405 with the right ones in Allow", async () => {
  const gateway = fakeGateway();
  for (const path of Object.keys(nativeRoutes)) {
    const tail = path === "/" ? "" : path.replace("{seq}", "17");
    const allowed: readonly string[] = methodsOf(tail === "" ? "/" : tail) ?? [];
    for (const method of ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"]) {
      if (allowed.includes(method)) continue;
      const answer = await gateway.send(method, `/v1/sessions/s${tail}`);
      expect([path, method, answer.status]).toEqual([path, method, 405]);
      expect(answer.headers.get("allow")).toBe(allowed.join(", "));
    }
  }
  const own = await gateway.send("POST", "/healthz", { body: "" });
  expect([own.status, own.headers.get("allow")]).toEqual([405, "GET"]);
  expect(gateway.named).toEqual([]);
});

it("[G4] HEAD asks like GET and gets no body", async () => {
  const gateway = fakeGateway(() => new Response("body", { headers: { "x-answer": "1" } }));
  const answer = await gateway.send("HEAD", "/v1/sessions/s");
  expect([answer.status, await answer.text()]).toEqual([200, ""]);
  expect(gateway.reached[0]?.request.method).toBe("GET");
});

it("[G7] credentials stay at the gateway, everything else goes on", async () => {
  const gateway = fakeGateway();
  await gateway.send("POST", "/v1/sessions/s/events", {
    headers: {
      authorization: "Bearer secret",
      "x-api-key": "secret",
      "proxy-authorization": "Basic c2VjcmV0",
      cookie: "session=secret",
      "PLIMSOLL-ANYTHING": "secret",
      "content-type": "application/json",
      "idempotency-key": "k1",
      "x-other": "kept",
    },
    body: "{}",
  });
  const headers = Object.fromEntries(gateway.reached[0]?.request.headers ?? []);
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "idempotency-key": "k1",
    "x-other": "kept",
    "plimsoll-tenant": "acme",
    "plimsoll-session": "s",
  });
  expect(JSON.stringify(headers)).not.toContain("secret");
  expect(Object.keys(headers).filter((name) => name.startsWith("plimsoll-"))).toHaveLength(2);
});

it("[G8] what the object answers comes back as it is: status, headers, bytes, problem documents", async () => {
  const headers = { "content-type": "application/problem+json", "x-own": "1" };
  const gateway = fakeGateway(() => new Response('{"code":"stale-head" }', { status: 409, headers }));
  const answer = await gateway.send("POST", "/v1/sessions/s/events", { body: "{}" });
  expect([answer.status, answer.headers.get("x-own")]).toEqual([409, "1"]);
  expect(await answer.text()).toBe('{"code":"stale-head" }');
});

it("[G8] an unexpected exception is a bare 500: neither its message nor its properties reach client or log", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const gateway = fakeGateway(() => {
    throw Object.assign(new Error('Unexpected token in "sk-secret"'), { durableObjectId: "0123abcd" });
  });
  const answer = await gateway.send("POST", "/v1/sessions/s/events", { body: "{}" });
  const text = await answer.text();
  expect([answer.status, answer.headers.get("content-type")]).toEqual([500, "application/problem+json"]);
  expect(JSON.parse(text)).toMatchObject({
    code: "internal",
    status: 500,
    type: "urn:plimsoll:problem:internal",
  });
  expect(gateway.reached).toHaveLength(1);
  expect(log).toHaveBeenCalledTimes(1);
  expect(text + log.mock.calls.join()).not.toMatch(/sk-secret|0123abcd|Unexpected/);
  log.mockRestore();
});

const flagged = (flags: object) => Object.assign(new Error("lost"), flags);

it("[G9] a retryable exception is tried once more for GET, with a new stub", async () => {
  const gateway = fakeGateway((_, attempt) => {
    if (attempt === 1) throw flagged({ retryable: true });
    return new Response("second");
  });
  const answer = await gateway.send("GET", "/v1/sessions/s/pressure?branch=b");
  expect(await answer.text()).toBe("second");
  expect(gateway.named).toEqual(["acme:s", "acme:s"]);
  expect(gateway.reached.map(({ request }) => request.url)).toEqual(
    Array(2).fill("https://session/pressure?branch=b"),
  );
});

it.each([
  ["GET that fails twice", "GET", "", { retryable: true }, 500, "internal", 2],
  ["POST, whose effect is unknown", "POST", "/prepare", { retryable: true }, 500, "internal", 1],
  ["GET that is not retryable", "GET", "", {}, 500, "internal", 1],
  ["GET to an overloaded object", "GET", "", { retryable: true, overloaded: true }, 503, "overloaded", 1],
  ["POST to an overloaded object", "POST", "/prepare", { overloaded: true }, 503, "overloaded", 1],
])("[G9] a %s is not tried again", async (_, method, tail, flags, status, code, attempts) => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const gateway = fakeGateway(() => {
    throw flagged(flags);
  });
  const body = method === "POST" ? { body: "{}" } : {};
  const answer = await gateway.send(method, `/v1/sessions/s${tail}`, body);
  expect([answer.status, await codeOf(answer), gateway.reached.length]).toEqual([status, code, attempts]);
  expect(answer.headers.has("retry-after")).toBe(code === "overloaded");
  log.mockRestore();
});

it("[G8] a refusal thrown on the way is its own problem document, with the place of the fault", async () => {
  const gateway = fakeGateway(() => {
    throw new Refusal("busy", "A step is in progress.", { at: "prepareId" });
  });
  const answer = await gateway.send("POST", "/v1/sessions/s/compact", { body: "" });
  expect([answer.status, await answer.json()]).toEqual([
    409,
    {
      type: "urn:plimsoll:problem:busy",
      title: "busy",
      status: 409,
      code: "busy",
      detail: "A step is in progress.",
      at: "prepareId",
    },
  ]);
});

it("[G10] an upgrade passes with its headers, and the socket of the object comes back whole", async () => {
  const gateway = fakeGateway(() => {
    const pair = new WebSocketPair();
    pair[1].accept();
    pair[1].addEventListener("message", ({ data }) => pair[1].send(`echo ${data}`));
    return new Response(null, { status: 101, webSocket: pair[0] });
  });
  const answer = await gateway.send("GET", "/v1/sessions/s/live?after=0", {
    headers: { authorization: "Bearer secret", upgrade: "websocket" },
  });
  expect(answer.status).toBe(101);
  expect(gateway.reached[0]?.request.headers.get("upgrade")).toBe("websocket");
  const socket = answer.webSocket;
  const message = new Promise((resolve) => socket?.addEventListener("message", ({ data }) => resolve(data)));
  socket?.accept();
  socket?.send("hello");
  expect(await message).toBe("echo hello");
  socket?.close();
});

it("[G8] a body that nobody reads to its end is no reason to fail", async () => {
  const gateway = fakeGateway(() => new Response("early"));
  const answer = await gateway.send("POST", "/v1/sessions/s/cancel", { body: chunked(3, 10).stream });
  expect([answer.status, await answer.text()]).toEqual([200, "early"]);
});

it("[G1] healthz and openapi.json need no token", async () => {
  const gateway = fakeGateway(readAll, { gate: { tokens: [], devOpen: false } });
  const health = await gateway.send("GET", "/healthz", { headers: {} });
  expect([health.status, await health.json()]).toEqual([200, { ok: true }]);
  expect((await gateway.send("GET", "/openapi.json", { headers: {} })).status).toBe(200);
});

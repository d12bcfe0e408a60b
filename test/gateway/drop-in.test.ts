import { expect, it } from "vitest";
import { forwardedKey } from "../../src/providers/client-key.ts";
import { body, post } from "./drop-in-requests.ts";
import { type FakeGateway, fakeGateway, readAll } from "./fake-sessions.ts";

const internal = (gateway: FakeGateway, nth = 0) => {
  const { request, text } = gateway.reached[nth] ?? {};
  const headers = Object.fromEntries(request?.headers ?? []);
  return {
    path: new URL(request?.url ?? "https://none").pathname,
    search: new URL(request?.url ?? "https://none").search,
    headers,
    text,
  };
};

it.each([
  ["/openai/v1/chat/completions", "/dropin/openai-chat", "chat", "openai-chat"],
  ["/openai/v1/responses", "/dropin/openai-responses", "responses", "openai-responses"],
  ["/anthropic/v1/messages", "/dropin/anthropic", "messages", "anthropic"],
  ["/anthropic/v1/messages/count_tokens", "/dropin/anthropic/count_tokens", "count_tokens", "anthropic"],
])(
  "[G30] POST %s reaches its session's object, with path, header or derived name",
  async (path, tail, endpoint, dialect) => {
    const gateway = fakeGateway();
    await post(gateway, `/v1/sessions/s1${path}?beta=true`);
    await post(gateway, path, { "plimsoll-session": "s2" });
    const derived = await post(gateway, path);
    expect(gateway.named.slice(0, 2)).toEqual(["acme:s1", "acme:s2"]);
    expect(gateway.named[2]).toBe(`acme:${derived.headers.get("plimsoll-session")}`);
    for (const nth of [0, 1, 2]) {
      const reached = internal(gateway, nth);
      expect([reached.path, reached.text]).toEqual([tail, body]);
      expect(reached.headers).toMatchObject({
        "plimsoll-tenant": "acme",
        "plimsoll-session": gateway.named[nth]?.slice("acme:".length),
        "plimsoll-endpoint": endpoint,
        "plimsoll-dialect": dialect,
      });
    }
    expect(internal(gateway).search).toBe("?beta=true");
  },
);

it("[G32] what the client's library says goes on; its credentials and its plimsoll headers do not", async () => {
  const gateway = fakeGateway();
  const kept = {
    "idempotency-key": "k",
    "x-stainless-retry-count": "1",
    "anthropic-beta": "a,b",
    "anthropic-version": "2023-06-01",
    "openai-organization": "o",
    "openai-project": "p",
    "openai-beta": "r",
    "user-agent": "sdk/1",
    "content-type": "application/json",
  };
  await post(gateway, "/v1/sessions/s/anthropic/v1/messages", {
    ...kept,
    cookie: "c=secret",
    "x-api-key": "secret-of-vendor",
    "plimsoll-tenant": "globex",
    "plimsoll-session": "other",
    "plimsoll-endpoint": "chat",
    "plimsoll-dialect": "openai-chat",
    "plimsoll-forwarded-authorization": "Bearer secret-smuggled",
    "plimsoll-forwarded-x-api-key": "secret-smuggled",
    "plimsoll-anything": "secret",
    "plimsoll-count": "full",
  });
  const { headers } = internal(gateway);
  expect(headers).toMatchObject(kept);
  const ours = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("plimsoll-")));
  expect(ours).toEqual({
    "plimsoll-tenant": "acme",
    "plimsoll-session": "s",
    "plimsoll-endpoint": "messages",
    "plimsoll-dialect": "anthropic",
    "plimsoll-count": "full",
  });
  expect(JSON.stringify(headers)).not.toContain("secret");
});

it("[G32] two tenants with one conversation, one header or one path have two sessions", async () => {
  const gate = {
    tokens: [
      { name: "acme", token: "a" },
      { name: "globex", token: "g" },
    ],
    devOpen: false,
  };
  const gateway = fakeGateway(readAll, { gate });
  for (const headers of [{}, { "plimsoll-session": "s" }, { "session-id": "c" }]) {
    for (const token of ["a", "g"]) {
      await post(gateway, "/openai/v1/chat/completions", { authorization: `Bearer ${token}`, ...headers });
    }
  }
  expect(new Set(gateway.named).size).toBe(6);
  expect(gateway.named.map((name) => name.split(":")[0])).toEqual([
    "acme",
    "globex",
    "acme",
    "globex",
    "acme",
    "globex",
  ]);
  expect(gateway.named.slice(2)).toEqual(["acme:s", "globex:s", "acme:c", "globex:c"]);
});

const forwarding = { PROVIDERS: JSON.stringify({ anthropic: { auth: "forward" } }) };

it.each([
  ["authorization", { authorization: "Bearer sk-vendor" }],
  ["x-api-key", { "x-api-key": "sk-vendor" }],
])("[G33] a forwarding provider's key reaches the object as the client sent it: %s", async (_, key) => {
  const gateway = fakeGateway(readAll, { env: forwarding });
  const headers = { "plimsoll-token": "secret", ...key };
  await gateway.send("POST", "/anthropic/v1/messages", { headers, body });
  const { request } = gateway.reached[0]!;
  expect(forwardedKey(request.headers)).toEqual(key);
  expect(request.headers.has("plimsoll-token")).toBe(false);
  expect(request.headers.has("authorization")).toBe(false);
  expect(request.headers.has("x-api-key")).toBe(false);
});

it.each([
  ["a bare model of a provider with a secret", "gpt-5", false],
  ["another provider with a secret", "groq/llama", false],
  ["the forwarding provider by name", "anthropic/claude-opus-5", true],
  ["an unknown provider", "nobody/m", false],
])(
  "[G33] on another endpoint the key travels for the forwarding provider's models alone: %s",
  async (_, model, travels) => {
    const gateway = fakeGateway(readAll, { env: forwarding });
    const headers = {
      "plimsoll-token": "secret",
      authorization: "Bearer sk-vendor",
      "plimsoll-session": "s",
    };
    const text = JSON.stringify({ messages: [], model });
    await gateway.send("POST", "/openai/v1/chat/completions", { headers, body: text });
    expect(forwardedKey(gateway.reached[0]!.request.headers) !== undefined).toBe(travels);
    expect(gateway.reached[0]?.text).toBe(text);
  },
);

it("[G33] a token of Plimsoll never travels as a provider's key", async () => {
  const gateway = fakeGateway(readAll, { env: forwarding });
  const send = (headers: Record<string, string>) =>
    gateway.send("POST", "/anthropic/v1/messages", { headers, body });
  await send({ authorization: "Bearer secret" });
  await send({ "x-api-key": "secret" });
  await send({ "plimsoll-token": "secret", authorization: "bearer  secret" });
  await send({ "plimsoll-token": "secret", "x-api-key": "secret", authorization: "Bearer sk-vendor" });
  expect(gateway.reached).toHaveLength(4);
  for (const { request } of gateway.reached) expect(forwardedKey(request.headers)).toBeUndefined();
});

it("[G33] where no token is needed, what a client shows is the provider's", async () => {
  const gateway = fakeGateway(readAll, { env: forwarding, gate: { tokens: [], devOpen: true } });
  const headers = { "x-api-key": "sk-vendor" };
  await gateway.send("POST", "http://localhost:8787/anthropic/v1/messages", { headers, body });
  expect(forwardedKey(gateway.reached[0]!.request.headers)).toEqual(headers);
});

it("[G30] a stream of the object comes through event by event", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const gateway = fakeGateway(
    () => new Response(readable, { headers: { "content-type": "text/event-stream" } }),
  );
  const answer = await post(gateway, "/v1/sessions/s/anthropic/v1/messages");
  const [writer, reader] = [writable.getWriter(), answer.body!.getReader()];
  for (const event of ["event: ping\n\n", "event: message_stop\n\n"]) {
    const read = reader.read();
    await writer.write(new TextEncoder().encode(event));
    expect(new TextDecoder().decode((await read).value)).toBe(event);
  }
  await writer.close();
  expect((await reader.read()).done).toBe(true);
});

it("[G2] an open development gateway lets drop-in requests in over loopback alone", async () => {
  const gateway = fakeGateway(readAll, { gate: { tokens: [], devOpen: true } });
  const send = async (url: string, headers: Record<string, string> = {}) =>
    (await gateway.send("POST", `${url}/openai/v1/responses`, { headers, body })).status;
  expect(await send("http://localhost:8787")).toBe(200);
  expect(await send("http://localhost:8787", { origin: "https://elsewhere.example" })).toBe(503);
  expect(await send("https://plimsoll.test")).toBe(503);
  expect(gateway.named.map((name) => name.split(":")[0])).toEqual(["dev"]);
});

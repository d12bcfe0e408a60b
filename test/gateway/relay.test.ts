import { expect, it, vi } from "vitest";
import { chunked, fakeGateway, readAll } from "./fake-sessions.ts";

interface Called {
  url: string;
  init: RequestInit;
  headers: Record<string, string>;
  text: string;
}

type Answer = (called: Called) => Response | Promise<Response>;

const keys = { OPENAI_API_KEY: "sk-openai", ANTHROPIC_API_KEY: "sk-anthropic" };

/** A gateway whose network is a function that remembers what it was asked. */
function relaying(answer: Answer = () => new Response("answer"), env: Record<string, string> = keys) {
  const called: Called[] = [];
  const network: typeof fetch = async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const text = init.body == null ? "" : await new Response(init.body as BodyInit).text();
    const one = {
      url,
      init: init as RequestInit,
      headers: Object.fromEntries(new Headers(init.headers)),
      text,
    };
    called.push(one);
    return await answer(one);
  };
  return { called, gateway: fakeGateway(readAll, { env, fetch: network }) };
}

const gatewayUrl = "https://gateway.ai.cloudflare.com/v1/account/name";
const providers = (entries: object) => ({ ...keys, PROVIDERS: JSON.stringify(entries) });
const good = { baseUrl: "https://llm.example/v1", secret: "OPENAI_API_KEY" };
const auth = { authorization: "Bearer secret" };

it.each([
  ["POST", "/openai/v1/embeddings?x=1&y=%20", "https://api.openai.com/v1/embeddings?x=1&y=%20"],
  ["POST", "/openai/embeddings", "https://api.openai.com/v1/embeddings"],
  ["GET", "/openai/v1/files/file-1/content", "https://api.openai.com/v1/files/file-1/content"],
  ["DELETE", "/openai/v1/responses/resp_1", "https://api.openai.com/v1/responses/resp_1"],
  [
    "POST",
    "/v1/sessions/s/openai/v1/responses/resp_1/cancel",
    "https://api.openai.com/v1/responses/resp_1/cancel",
  ],
  ["POST", "/anthropic/v1/messages/batches", "https://api.anthropic.com/v1/messages/batches"],
  ["GET", "/anthropic/v1/files?limit=2", "https://api.anthropic.com/v1/files?limit=2"],
])("[G35] %s %s goes on as it is", async (method, path, url) => {
  const { called, gateway } = relaying();
  const body = method === "POST" ? "raw \u0000 bytes" : null;
  const answer = await gateway.send(method, path, { headers: auth, body });
  expect([answer.status, await answer.text(), answer.headers.get("plimsoll-managed")]).toEqual([
    200,
    "answer",
    "0",
  ]);
  expect(called.map(({ url }) => url)).toEqual([url]);
  expect([called[0]?.init.method, called[0]?.text, called[0]?.init.redirect]).toEqual([
    method,
    body ?? "",
    "manual",
  ]);
  expect(gateway.named).toEqual([]);
});

it("[G35] the provider's key is put on; nothing of the client's credentials, cookies, place or connection goes along", async () => {
  const { called, gateway } = relaying();
  const headers = {
    ...auth,
    "x-api-key": "secret",
    cookie: "c=secret",
    "proxy-authorization": "secret",
    "plimsoll-tenant": "secret",
    "cf-connecting-ip": "1.2.3.4",
    "cf-aig-authorization": "secret",
    "x-forwarded-for": "1.2.3.4",
    "keep-alive": "secret",
    te: "secret",
    "content-type": "multipart/form-data; boundary=b",
    "anthropic-beta": "files-api",
    "anthropic-version": "2023-06-01",
    "user-agent": "sdk/1",
  };
  await gateway.send("POST", "/anthropic/v1/files", { headers, body: "x" });
  expect(called[0]?.headers).toEqual({
    "x-api-key": "sk-anthropic",
    "content-type": "multipart/form-data; boundary=b",
    "anthropic-beta": "files-api",
    "anthropic-version": "2023-06-01",
    "user-agent": "sdk/1",
  });
  await gateway.send("POST", "/openai/v1/files", { headers: auth, body: "x" });
  expect(called[1]?.headers.authorization).toBe("Bearer sk-openai");
});

it("[G35] status, headers and bytes of the provider come back, without cookies and hop-by-hop headers", async () => {
  const sent = new Headers({
    "x-request-id": "r1",
    "retry-after": "7",
    connection: "close",
    "plimsoll-generation": "9",
    "content-type": "application/x",
  });
  sent.append("set-cookie", "a=1");
  const { gateway } = relaying(
    () => new Response(new Uint8Array([0, 255, 10]), { status: 429, headers: sent }),
  );
  const answer = await gateway.send("GET", "/openai/v1/files/f/content", { headers: auth });
  expect(answer.status).toBe(429);
  expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([0, 255, 10]);
  expect(Object.fromEntries(answer.headers)).toEqual({
    "content-type": "application/x",
    "plimsoll-managed": "0",
    "retry-after": "7",
    "x-request-id": "r1",
  });
});

it("[G35] an answer without a body stays one, and a redirect comes back unfollowed", async () => {
  const empty = relaying(() => new Response(null, { status: 204 }));
  expect((await empty.gateway.send("DELETE", "/openai/v1/files/f", { headers: auth })).status).toBe(204);
  const moved = relaying(
    () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example/" } }),
  );
  const answer = await moved.gateway.send("GET", "/openai/v1/files/f/content", { headers: auth });
  expect([answer.status, moved.called.length]).toEqual([302, 1]);
});

it.each([
  "/openai/v1/..%2f..%2f..%2felsewhere.example/x",
  "/openai/v1//elsewhere.example/x",
  "/openai/v1/@elsewhere.example/x",
  "/openai/v1/x?base=https://elsewhere.example&host=elsewhere.example",
  "/openai/v1/%5C%5Celsewhere.example/x",
  "/openai/v1/https://elsewhere.example/x",
  "/openai/v1/:80/x",
  "/anthropic/.elsewhere.example/x",
])("[G35] %s can not leave the configured host and base", async (path) => {
  const { called, gateway } = relaying();
  const headers = { ...auth, host: "elsewhere.example", "x-forwarded-host": "elsewhere.example" };
  await gateway.send("POST", path, { headers, body: '{"base_url":"https://elsewhere.example"}' });
  for (const { url } of called) {
    const { origin, pathname } = new URL(url);
    expect(["https://api.openai.com", "https://api.anthropic.com"]).toContain(origin);
    expect(pathname.startsWith("/v1/")).toBe(true);
  }
  expect(called).toHaveLength(1);
});

it("[G36] an AI Gateway is a base URL: its token goes beside the provider's key, or alone where the gateway has it", async () => {
  const env = {
    ...providers({
      openai: { baseUrl: `${gatewayUrl}/openai`, secret: "OPENAI_API_KEY", gatewaySecret: "AIG_TOKEN" },
      anthropic: { baseUrl: `${gatewayUrl}/anthropic`, gatewaySecret: "AIG_TOKEN" },
    }),
    AIG_TOKEN: "aig",
  };
  const { called, gateway } = relaying(undefined, env);
  await gateway.send("POST", "/openai/v1/embeddings", { headers: auth, body: "{}" });
  await gateway.send("POST", "/anthropic/v1/messages/batches", { headers: auth, body: "{}" });
  expect(called.map(({ url }) => url)).toEqual([
    `${gatewayUrl}/openai/embeddings`,
    `${gatewayUrl}/anthropic/v1/messages/batches`,
  ]);
  expect(called[0]?.headers).toMatchObject({
    authorization: "Bearer sk-openai",
    "cf-aig-authorization": "Bearer aig",
  });
  expect(called[1]?.headers["cf-aig-authorization"]).toBe("Bearer aig");
  expect(called[1]?.headers["x-api-key"]).toBeUndefined();
});

it("[G33] forward: the client's own key goes to that provider, without it the request is refused", async () => {
  const { called, gateway } = relaying(undefined, providers({ openai: { auth: "forward" } }));
  const send = (path: string, headers: Record<string, string>) =>
    gateway.send("POST", path, { headers, body: "{}" });
  await send("/openai/v1/embeddings", { "plimsoll-token": "secret", authorization: "Bearer sk-mine" });
  await send("/anthropic/v1/files", { "plimsoll-token": "secret", "x-api-key": "sk-mine" });
  expect(called.map(({ headers }) => [headers.authorization, headers["x-api-key"]])).toEqual([
    ["Bearer sk-mine", undefined],
    [undefined, "sk-anthropic"],
  ]);
  const without = await send("/openai/v1/embeddings", auth);
  const { error } = await without.json<{ error: { message: string } }>();
  expect([without.status, called.length]).toEqual([401, 2]);
  expect(error.message).toContain("plimsoll-token");
});

it("[G33] a forwarded key reaches no log and no answer, not even when the network quotes it", async () => {
  const written = (["error", "warn", "log", "info"] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  );
  const { gateway } = relaying(
    () => {
      throw new Error("could not send Bearer sk-mine");
    },
    providers({ openai: { auth: "forward" } }),
  );
  const headers = { "plimsoll-token": "secret", authorization: "Bearer sk-mine" };
  const answer = await gateway.send("POST", "/openai/v1/embeddings", { headers, body: "{}" });
  const text = await answer.text();
  expect([answer.status, JSON.parse(text).error.code]).toEqual([502, "unreachable"]);
  expect(
    text + JSON.stringify([...answer.headers]) + written.map((spy) => spy.mock.calls.join()).join(),
  ).not.toContain("sk-mine");
  for (const spy of written) spy.mockRestore();
});

it.each([
  ["no key", {}, "OPENAI_API_KEY"],
  ["another language", { ...providers({ openai: { ...good, dialects: ["anthropic"] } }) }, "dialect"],
  ["no token for the gateway", providers({ openai: { baseUrl: gatewayUrl, gatewaySecret: "AIG" } }), "AIG"],
])("[G35] a provider that can not be called is 503 and names what it needs: %s", async (_, env, names) => {
  const { called, gateway } = relaying(undefined, env);
  const answer = await gateway.send("POST", "/openai/v1/embeddings", { headers: auth, body: "{}" });
  const { error } = await answer.json<{ error: { message: string; code: string } }>();
  expect([answer.status, error.code, answer.headers.get("x-should-retry"), called.length]).toEqual([
    503,
    "not-configured",
    "false",
    0,
  ]);
  expect(error.message).toContain(names);
});

const hasty = (timeouts: object) => providers({ openai: { timeouts } });

it("[G35] a provider that does not answer in its time is 504, one that falls silent is let go", async () => {
  const aborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  const slow = relaying(({ init }) => aborted(init.signal!), hasty({ firstByteMs: 20 }));
  const late = await slow.gateway.send("GET", "/openai/v1/batches", { headers: auth });
  expect([late.status, (await late.json<{ error: { code: string } }>()).error.code]).toEqual([
    504,
    "timeout",
  ]);
  let struck = false;
  const silent = relaying(
    ({ init }) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      writer.write(new Uint8Array(3)).catch(() => undefined);
      init.signal?.addEventListener("abort", () => {
        struck = true;
        writer.abort(new Error("aborted")).catch(() => undefined);
      });
      return new Response(readable);
    },
    hasty({ idleMs: 20 }),
  );
  const answer = await silent.gateway.send("GET", "/openai/v1/batches", { headers: auth });
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(struck).toBe(true);
});

it("[G35] an upload larger than a step's body streams through", async () => {
  const { called, gateway } = relaying(({ text }) => new Response(String(text.length)));
  const answer = await gateway.send("POST", "/openai/v1/files", {
    headers: auth,
    body: chunked(40, 1 << 20).stream,
  });
  expect([answer.status, await answer.text(), called.length]).toEqual([200, String(40 << 20), 1]);
});

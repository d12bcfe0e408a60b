import { expect, it } from "vitest";
import { Gauge, MAX_BODY_BYTES, MAX_IN_FLIGHT_BYTES } from "../../src/gateway/admission.ts";
import { bearer, body, post } from "./drop-in-requests.ts";
import { chunked, fakeGateway, readAll } from "./fake-sessions.ts";

const shapes = [
  ["/openai/v1/chat/completions", "openai"],
  ["/openai/v1/responses", "openai"],
  ["/openai/v1/embeddings", "openai"],
  ["/anthropic/v1/messages", "anthropic"],
  ["/v1/sessions/s/anthropic/v1/messages", "anthropic"],
] as const;

/** Type and code of a refusal, read as the vendor's library reads it. */
async function told(answer: Response, vendor: "openai" | "anthropic") {
  expect(answer.headers.get("content-type")).toBe("application/json");
  const shown = await answer.json<{ type?: string; error: Record<string, unknown> }>();
  expect(shown.type).toBe(vendor === "anthropic" ? "error" : undefined);
  expect(typeof shown.error.message).toBe("string");
  return [answer.status, shown.error.type, shown.error.code];
}

it.each(shapes)(
  "[G34] who may not enter is told so in the vendor's shape, and names no object: %s",
  async (path, vendor) => {
    const gateway = fakeGateway();
    const type = vendor === "anthropic" ? "authentication_error" : "invalid_request_error";
    for (const headers of [{}, { authorization: "Bearer wrong" }]) {
      const answer = await gateway.send("POST", path, { headers, body });
      expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="plimsoll"');
      expect(answer.headers.get("x-should-retry")).toBe("false");
      expect(await told(answer, vendor)).toEqual([401, type, "unauthorized"]);
    }
    const closed = fakeGateway(readAll, { gate: { tokens: [], devOpen: false } });
    const answer = await closed.send("POST", path, { headers: bearer, body });
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(await told(answer, vendor)).toEqual([
      503,
      vendor === "anthropic" ? "overloaded_error" : "server_error",
      "not-configured",
    ]);
    expect([...gateway.named, ...closed.named]).toEqual([]);
  },
);

it("[G34] bad ids, bodies and places are told in the vendor's shape", async () => {
  const gateway = fakeGateway();
  const bad = "invalid_request_error";
  const ask = async (path: string, headers: Record<string, string> = {}, text: BodyInit = body) =>
    await told(await post(gateway, path, headers, text), path.includes("anthropic") ? "anthropic" : "openai");
  expect(await ask("/v1/sessions/-x/openai/v1/responses")).toEqual([400, bad, "bad-id"]);
  expect(await ask("/v1/sessions/-x/anthropic/v1/files")).toEqual([400, bad, "bad-id"]);
  expect(await ask("/anthropic/v1/messages", { "plimsoll-session": "a b" })).toEqual([400, bad, "bad-id"]);
  expect(await ask("/openai/v1/chat/completions", {}, "{")).toEqual([400, bad, "bad-json"]);
  expect(await ask("/anthropic/v1/messages", { "content-encoding": "zstd" })).toEqual([
    400,
    bad,
    "bad-request",
  ]);
  expect(await ask("/openai/v1")).toEqual([404, bad, "not-found"]);
  expect(await ask("/v1/sessions/s/anthropic")).toEqual([404, "not_found_error", "not-found"]);
  expect(gateway.named).toEqual([]);
});

it.each([
  ["declared", false],
  ["counted", true],
])(
  "[G34] a body over 32 MiB is 413, a full gauge 503 with Retry-After, and nothing is held afterwards: %s",
  async (_, stream) => {
    const gauge = new Gauge();
    const gateway = fakeGateway(readAll, { gauge });
    const MiB = 1 << 20;
    const big = () => (stream ? chunked(33, MiB).stream : new Uint8Array(MAX_BODY_BYTES + 1));
    for (const headers of [{}, { "plimsoll-session": "s" }]) {
      const answer = await post(gateway, "/anthropic/v1/messages", headers, big());
      expect(await told(answer, "anthropic")).toEqual([413, "request_too_large", "too-large"]);
      expect(gauge.taken).toBe(0);
    }
    const full = gauge.reserve(MAX_IN_FLIGHT_BYTES - 10, Date.now());
    const small = () => (stream ? chunked(1, 100).stream : new Uint8Array(100));
    const answer = await post(gateway, "/openai/v1/chat/completions", {}, small());
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.headers.has("x-should-retry")).toBe(false);
    expect(await told(answer, "openai")).toEqual([503, "server_error", "overloaded"]);
    full?.release();
    expect(gauge.taken).toBe(0);
  },
);

it("[G34] a problem document of the object is told in the vendor's shape, with its place; other answers pass", async () => {
  const problem = fakeGateway(() =>
    Response.json(
      { code: "irreducible", detail: "It can not fit.", at: "messages[2]" },
      { status: 409, headers: { "content-type": "application/problem+json", "x-own": "1" } },
    ),
  );
  const answer = await post(problem, "/v1/sessions/s/openai/v1/chat/completions");
  expect([answer.headers.get("x-own"), answer.headers.get("plimsoll-session")]).toEqual(["1", "s"]);
  expect([answer.status, answer.headers.get("x-should-retry"), await answer.json()]).toEqual([
    409,
    "false",
    {
      error: {
        message: "It can not fit.",
        type: "invalid_request_error",
        param: "messages[2]",
        code: "irreducible",
      },
    },
  ]);
  const vendor = fakeGateway(
    () => new Response('{"error" :1}', { status: 400, headers: { "plimsoll-session": "told" } }),
  );
  const passed = await post(vendor, "/openai/v1/responses");
  expect([passed.status, passed.headers.get("plimsoll-session"), await passed.text()]).toEqual([
    400,
    "told",
    '{"error" :1}',
  ]);
});

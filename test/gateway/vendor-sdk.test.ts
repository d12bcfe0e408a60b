/** The vendors' own clients, pointed at the gateway by their base URL alone. */
import Anthropic, { type APIError as AnthropicError } from "@anthropic-ai/sdk";
import OpenAI, { type APIError as OpenAIError } from "openai";
import { expect, it } from "vitest";
import { type FakeGateway, fakeGateway, type Handler, readAll } from "./fake-sessions.ts";

const env = { OPENAI_API_KEY: "k1", ANTHROPIC_API_KEY: "k2" };

/** A network in which only the gateway listens. */
function through(gateway: FakeGateway): typeof fetch {
  return async (input, init) => {
    const request = new Request(input as RequestInfo, init as RequestInit);
    const body = request.body === null ? null : await request.text();
    return await gateway.send(request.method, request.url, {
      headers: Object.fromEntries(request.headers),
      body,
    });
  };
}

const base = "https://plimsoll.test";

function clients(handler: Handler = readAll, { apiKey = "secret", prefix = "" } = {}) {
  const gateway = fakeGateway(handler, { env });
  const options = { apiKey, maxRetries: 0, fetch: through(gateway) };
  return {
    gateway,
    openai: new OpenAI({ ...options, baseURL: `${base}${prefix}/openai/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: `${base}${prefix}/anthropic` }),
  };
}

const hello = [{ role: "user" as const, content: "hello" }];
const failure = (call: PromiseLike<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

it("[G38] the clients find their endpoints, and both name one derived session", async () => {
  const { gateway, openai, anthropic } = clients(() =>
    Response.json({ id: "x", choices: [], content: [], output: [] }),
  );
  await openai.chat.completions.create({ model: "gpt-5", messages: hello });
  await openai.responses.create({ model: "gpt-5", input: "hello" });
  await anthropic.messages.create({ model: "claude-opus-5", max_tokens: 9, messages: hello });
  await anthropic.messages.countTokens({ model: "claude-opus-5", messages: hello });
  expect(gateway.reached.map(({ request }) => new URL(request.url).pathname)).toEqual([
    "/dropin/openai-chat",
    "/dropin/openai-responses",
    "/dropin/anthropic",
    "/dropin/anthropic/count_tokens",
  ]);
  expect(new Set(gateway.named).size).toBe(1);
});

it("[G38] a client's default header or base URL names the session", async () => {
  const { gateway, openai } = clients(readAll, { prefix: "/v1/sessions/by-path" });
  await openai.chat.completions.create({ model: "gpt-5", messages: hello });
  await openai
    .withOptions({ baseURL: `${base}/openai/v1` })
    .chat.completions.create(
      { model: "gpt-5", messages: hello },
      { headers: { "plimsoll-session": "by-header" } },
    );
  expect(gateway.named).toEqual(["acme:by-path", "acme:by-header"]);
});

it("[G38] OpenAI's client reads refusals and models", async () => {
  const wrong = clients(readAll, { apiKey: "wrong" });
  const refused = await failure(wrong.openai.chat.completions.create({ model: "gpt-5", messages: hello }));
  expect(refused).toBeInstanceOf(OpenAI.AuthenticationError);
  expect(refused).toMatchObject({ status: 401, code: "unauthorized", type: "invalid_request_error" });
  const { openai } = clients();
  const { data } = await openai.models.list();
  expect(data.find(({ id }) => id === "gpt-5")).toMatchObject({ context_window: 400_000 });
  expect((await openai.models.retrieve("gpt-5")).owned_by).toBe("openai");
  const unknown = await failure(openai.models.retrieve("gpt-99"));
  expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
  expect((unknown as InstanceType<typeof OpenAIError>).code).toBe("unknown-model");
  const unreachable = await failure(openai.embeddings.create({ model: "e", input: "x" }));
  expect(unreachable).toMatchObject({ status: 502, code: "unreachable" });
});

it("[G38] Anthropic's client reads refusals and models", async () => {
  const wrong = clients(readAll, { apiKey: "wrong" });
  const refused = await failure(
    wrong.anthropic.messages.create({ model: "m", max_tokens: 1, messages: hello }),
  );
  expect(refused).toBeInstanceOf(Anthropic.AuthenticationError);
  expect((refused as InstanceType<typeof AnthropicError>).error).toMatchObject({
    error: { type: "authentication_error" },
  });
  const { anthropic } = clients();
  const ids: string[] = [];
  for await (const model of anthropic.models.list({ limit: 4 })) ids.push(model.id);
  expect(ids.length).toBeGreaterThan(10);
  expect(new Set(ids).size).toBe(ids.length);
  const opus = await anthropic.models.retrieve("claude-opus-4-5");
  expect([opus.max_input_tokens, opus.max_tokens]).toEqual([200_000, 64_000]);
  expect(await failure(anthropic.models.retrieve("claude-none"))).toBeInstanceOf(Anthropic.NotFoundError);
});

it("[G38] a client does not repeat what can not help", async () => {
  let asked = 0;
  const gateway = fakeGateway(readAll, { env: {}, gate: { tokens: [], devOpen: false } });
  const counting: typeof fetch = (input, init) => {
    asked++;
    return through(gateway)(input, init);
  };
  const openai = new OpenAI({ apiKey: "x", baseURL: `${base}/openai/v1`, maxRetries: 3, fetch: counting });
  expect(await failure(openai.models.list())).toMatchObject({ status: 503, code: "not-configured" });
  expect(asked).toBe(1);
});

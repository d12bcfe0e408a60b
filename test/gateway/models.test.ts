import { expect, it } from "vitest";
import { parseEnv } from "../../src/env.ts";
import { Refusal } from "../../src/failure.ts";
import { builtinProviders } from "../../src/providers/builtin-providers.ts";
import { keptLists } from "../../src/providers/kept-lists.ts";
import { routeOfModel } from "../../src/providers/model-name.ts";
import { fakeGateway, readAll } from "./fake-sessions.ts";

const env = {
  OPENAI_API_KEY: "k1",
  ANTHROPIC_API_KEY: "k2",
  DEEPSEEK_API_KEY: "k3",
  PROVIDERS: JSON.stringify({ mine: { baseUrl: "https://llm.example/v1", dialects: ["openai-chat"] } }),
  ROUTES: JSON.stringify({
    "mine/org/m": { window: 32_000, maxOutput: 4_000 },
    "mine/blank": {},
    "gone/m": { window: 1_000 },
    "openai/gpt-5": { window: 300_000, inputLimit: 250_000 },
  }),
};

const auth = { authorization: "Bearer secret" };
type Entry = Record<string, unknown> & { id: string };

async function list(path: string, variables: Record<string, string> = env) {
  const gateway = fakeGateway(readAll, { env: variables });
  const answer = await gateway.send("GET", path, { headers: auth });
  expect([answer.status, gateway.named]).toEqual([200, []]);
  return await answer.json<{
    data: Entry[];
    object?: string;
    has_more?: boolean;
    first_id?: unknown;
    last_id?: unknown;
  }>();
}

it.each(["/openai/v1/models", "/v1/sessions/s/openai/v1/models", "/openai/models/"])(
  "[G37] %s lists what can be called in OpenAI's language, with windows",
  async (path) => {
    const { object, data } = await list(path);
    expect(object).toBe("list");
    const byId = new Map(data.map((entry) => [entry.id, entry]));
    expect(byId.get("mine/org/m")).toEqual({
      id: "mine/org/m",
      object: "model",
      created: 0,
      owned_by: "mine",
      context_window: 32_000,
      max_output_tokens: 4_000,
    });
    expect(byId.get("mine/blank")).toMatchObject({ context_window: null, max_output_tokens: null });
    expect(byId.get("gpt-5")).toMatchObject({
      owned_by: "openai",
      context_window: 300_000,
      max_output_tokens: 128_000,
    });
    expect(byId.get("deepseek/deepseek-chat")).toMatchObject({ context_window: 1_000_000 });
    expect(byId.size).toBe(data.length);
    // No key, no such provider, another language.
    for (const id of ["xai/grok-4", "gone/m", "anthropic/claude-opus-5"]) expect(byId.has(id)).toBe(false);
  },
);

it("[G37] Anthropic's list has its shape and its pages", async () => {
  const whole = await list("/anthropic/v1/models");
  const ids = whole.data.map(({ id }) => id);
  expect(whole).toMatchObject({ has_more: false, first_id: ids[0], last_id: ids.at(-1) });
  expect(whole.data.find(({ id }) => id === "claude-opus-4-5")).toMatchObject({
    type: "model",
    display_name: "claude-opus-4-5",
    max_input_tokens: 200_000,
    max_tokens: 64_000,
  });
  expect(ids).toContain("deepseek/deepseek-chat");
  expect(ids).not.toContain("gpt-5");
  const first = await list("/anthropic/v1/models?limit=3");
  expect([first.data.map(({ id }) => id), first.has_more]).toEqual([ids.slice(0, 3), true]);
  const next = await list(`/anthropic/v1/models?limit=3&after_id=${ids[2]}`);
  expect([next.data.map(({ id }) => id), next.has_more]).toEqual([ids.slice(3, 6), true]);
  const back = await list(`/anthropic/v1/models?limit=3&before_id=${ids[3]}`);
  expect([back.data.map(({ id }) => id), back.has_more]).toEqual([ids.slice(0, 3), false]);
  const end = await list(`/anthropic/v1/models?limit=1000&after_id=${ids.at(-1)}`);
  expect(end).toEqual({ data: [], has_more: false, first_id: null, last_id: null });
});

it("[G37] tells what a provider's own list states, for the routes that stand here and as far as it is known", async () => {
  const variables = {
    PROVIDERS: JSON.stringify({ told: { baseUrl: "https://told.example/v1", dialects: ["openai-chat"] } }),
    ROUTES: JSON.stringify({ "told/m": {}, "told/own": { window: 7_000 } }),
  };
  const data = ["m", "own", "unlisted"].map((id) => ({
    id,
    context_length: 9_000,
    max_completion_tokens: 500,
  }));
  await keptLists.refresh("told/m", {
    config: parseEnv(variables),
    secrets: {},
    fetch: async () => Response.json({ data }),
    now: Date.now,
  });
  expect((await list("/openai/v1/models", variables)).data).toMatchObject([
    { id: "told/m", context_window: 9_000, max_output_tokens: 500 },
    { id: "told/own", context_window: 7_000, max_output_tokens: 500 },
  ]);
  const one = async (id: string) => {
    const gateway = fakeGateway(readAll, { env: variables });
    const answer = await gateway.send("GET", `/openai/v1/models/${id}`, { headers: auth });
    return [answer.status, (await answer.json<Entry>()).context_window];
  };
  expect([await one("told/m"), await one("told/unlisted")]).toEqual([
    [200, 9_000],
    [404, undefined],
  ]);
});

it("[G37] without any key nothing is listed", async () => {
  expect((await list("/openai/v1/models", {})).data).toEqual([]);
});

it.each([
  ["/openai/v1/models/gpt-5", "gpt-5"],
  ["/openai/v1/models/openai%2Fgpt-5", "gpt-5"],
  ["/openai/v1/models/mine/org/m", "mine/org/m"],
  ["/openai/v1/models/mine%2Fblank", "mine/blank"],
  ["/anthropic/v1/models/claude-opus-4-5-20251101", "claude-opus-4-5-20251101"],
])("[G37] one model: %s", async (path, id) => {
  const gateway = fakeGateway(readAll, { env });
  const answer = await gateway.send("GET", path, { headers: auth });
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ id })]);
});

it.each([
  ["/openai/v1/models/gpt-99", "gpt-5"],
  ["/openai/v1/models/nobody%2Fm", "mine"],
  ["/openai/v1/models/xai%2Fgrok-4", "gpt-5"],
  ["/openai/v1/models/claude-opus-5", "gpt-5"],
  ["/anthropic/v1/models/gpt-5", "claude-opus-5"],
])("[G34] %s is 404 in the vendor's shape and names what is configured", async (path, named) => {
  const gateway = fakeGateway(readAll, { env });
  const answer = await gateway.send("GET", path, { headers: auth });
  const { error } = await answer.json<{ error: { code: string; message: string } }>();
  expect([answer.status, error.code]).toEqual([404, "unknown-model"]);
  expect(error.message).toContain(named);
});

it("[G34] a model is provider/model, or bare at its own endpoint; anything else is refused", () => {
  const catalogue = { providers: new Map(Object.entries(builtinProviders)) };
  expect(routeOfModel("gpt-5", "openai", catalogue)).toBe("openai/gpt-5");
  expect(routeOfModel("claude-opus-5", "anthropic", catalogue)).toBe("anthropic/claude-opus-5");
  expect(routeOfModel("groq/openai/gpt-oss-20b", "openai", catalogue)).toBe("groq/openai/gpt-oss-20b");
  for (const model of ["", "/", "nobody/m", "groq/", "a b", "https://elsewhere.example/v1"]) {
    expect(() => routeOfModel(model, "openai", catalogue)).toThrow(Refusal);
  }
});

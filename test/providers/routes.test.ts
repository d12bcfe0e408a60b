import { describe, expect, it } from "vitest";
import { parseEnv } from "../../src/env.ts";
import { Refusal } from "../../src/failure.ts";
import { priorRatio } from "../../src/meter/ratio.ts";
import { parseRouteName } from "../../src/providers/route-name.ts";
import { endpointOf, modelsEndpointOf, resolveRoute, upstreamOf } from "../../src/providers/routes.ts";

const empty = parseEnv({});
const withRoutes = (routes: object) => parseEnv({ ROUTES: JSON.stringify(routes) });

describe("a route's name", () => {
  it("[V5] is split at its first slash", () => {
    expect(parseRouteName("openrouter/anthropic/claude-x:beta")).toEqual({
      provider: "openrouter",
      model: "anthropic/claude-x:beta",
    });
    expect(parseRouteName("workers-ai/@cf/meta/llama")).toEqual({
      provider: "workers-ai",
      model: "@cf/meta/llama",
    });
  });

  it.each([
    "",
    "openai",
    "/gpt-5",
    "openai/",
    "open ai/x",
    "openai/a b",
    "-x/y",
    `a/${"x".repeat(257)}`,
    "a/\u00e9",
  ])("[V5] %j is refused everywhere", (name) => {
    expect(parseRouteName(name)).toBeUndefined();
    expect(() => resolveRoute(name, empty)).toThrow(Refusal);
    expect(() => upstreamOf(name, empty, {})).toThrow(Refusal);
  });
});

describe("the capacity of a route", () => {
  it("[V6] comes from the table where the route is known", () => {
    expect(resolveRoute("openai/gpt-5", empty)).toMatchObject({
      capacity: { window: 400_000, inputLimit: 272_000, maxOutput: 128_000 },
      capacitySource: "table",
    });
    expect(resolveRoute("anthropic/claude-sonnet-4-5", empty).capacity).toEqual({
      window: 200_000,
      maxOutput: 64_000,
      maxRequestBytes: 32_000_000,
      maxImages: 100,
    });
  });

  it("[V6] of a dated snapshot is that of its model, unless the snapshot has its own", () => {
    const known = (name: string) => resolveRoute(name, empty).capacity;
    expect(known("anthropic/claude-sonnet-4-5-20250929")).toEqual(known("anthropic/claude-sonnet-4-5"));
    expect(known("openai/gpt-4o-2024-11-20")).toEqual(known("openai/gpt-4o"));
    expect(known("openai/gpt-4o-2024-05-13")).toEqual({ window: 128_000, maxOutput: 4_096 });
  });

  it.each([
    "openai/gpt-5-turbo",
    "openai/toString",
    "constructor/gpt-5",
    "mine/gpt-5",
    "openrouter/openai/gpt-5",
  ])("[V6] [DSH-005] stays unknown where nobody stated it: %s", (name) => {
    const route = resolveRoute(name, empty);
    expect(route.capacity).toEqual({});
    expect(route.capacitySource).toBe("unknown");
  });

  it("[V6] configured numbers win one by one, a configured window retires the table's input limit", () => {
    expect(resolveRoute("openai/gpt-5", withRoutes({ "openai/gpt-5": { maxOutput: 9 } }))).toMatchObject({
      capacity: { window: 400_000, inputLimit: 272_000, maxOutput: 9 },
      capacitySource: "table",
    });
    const own = resolveRoute("openai/gpt-5", withRoutes({ "openai/gpt-5": { window: 500_000 } }));
    expect(own.capacity).toEqual({ window: 500_000, maxOutput: 128_000 });
    expect(own.capacitySource).toBe("config");
    const both = withRoutes({ "openai/gpt-5": { window: 500_000, inputLimit: 300_000 } });
    expect(resolveRoute("openai/gpt-5", both).capacity.inputLimit).toBe(300_000);
  });

  it("[V6] what the provider's list states stands between the two, and its own window keeps the table's input limit", () => {
    const gpt = (listed: object, routes: object = {}) =>
      resolveRoute("openai/gpt-5", withRoutes({ "openai/gpt-5": routes }), listed);
    expect(gpt({ window: 300_000, maxOutput: 9_000 })).toMatchObject({
      capacity: { window: 300_000, maxOutput: 9_000 },
      capacitySource: "provider",
    });
    expect(gpt({ window: 300_000 }).capacity.inputLimit).toBeUndefined();
    expect(gpt({ window: 400_000 }).capacity).toEqual({
      window: 400_000,
      inputLimit: 272_000,
      maxOutput: 128_000,
    });
    expect(gpt({ maxOutput: 9_000 })).toMatchObject({
      capacity: { window: 400_000, inputLimit: 272_000, maxOutput: 9_000 },
      capacitySource: "table",
    });
    const both = gpt({ window: 300_000, inputLimit: 250_000, maxOutput: 9_000 }, { window: 350_000 });
    expect([both.capacity, both.capacitySource]).toEqual([{ window: 350_000, maxOutput: 9_000 }, "config"]);
    expect(resolveRoute("mine/m", empty, { window: 9_000 })).toMatchObject({
      capacity: { window: 9_000 },
      capacitySource: "provider",
    });
    expect(resolveRoute("mine/m", empty, { maxOutput: 9_000 }).capacitySource).toBe("unknown");
    const claude = resolveRoute("anthropic/claude-opus-4-5", empty, { window: 180_000 });
    expect(claude.capacity).toMatchObject({ window: 180_000, maxOutput: 64_000, maxImages: 100 });
  });

  it("[V6] [DSH-005] configuration is for the exact provider and model", () => {
    const config = withRoutes({ "small/shared": { window: 1_000, policy: { thresholdRatio: 0.5 } } });
    expect(resolveRoute("small/shared", config).capacity.window).toBe(1_000);
    expect(resolveRoute("large/shared", config).capacity).toEqual({});
    expect(config.routes.get("large/shared")).toBeUndefined();
  });

  it("[V6] a route with nothing but a policy stays as known as it was", () => {
    const config = withRoutes({ "mine/m": { policy: { maxContextTokens: 9_000 } } });
    expect(resolveRoute("mine/m", config)).toMatchObject({ capacity: {}, capacitySource: "unknown" });
  });
});

describe("the address of a provider's list", () => {
  it.each([
    ["openai-chat", "https://a.test/v1/", "https://a.test/v1/models"],
    ["openai-responses", "https://a.test/v1", "https://a.test/v1/models"],
    ["anthropic", "https://a.test", "https://a.test/v1/models?limit=1000"],
    ["anthropic", "https://a.test/v1/", "https://a.test/v1/models?limit=1000"],
  ] as const)("[V48] stands beside its model calls: %s at %s", (dialect, baseUrl, url) => {
    expect(modelsEndpointOf({ dialect, baseUrl })).toBe(url);
  });
});

describe("ratio and binding", () => {
  it("[V7] the ratio is the family's prior unless the route sets its own", () => {
    for (const name of ["anthropic/claude-sonnet-5", "openai/gpt-5", "deepseek/deepseek-chat", "x/y"]) {
      expect(resolveRoute(name, empty).ratio).toBe(priorRatio(name));
    }
    expect(resolveRoute("x/y", withRoutes({ "x/y": { ratio: 0.9 } })).ratio).toBe(0.9);
  });

  it.each([
    ["anthropic/claude-opus-5-5", "prefix"],
    ["anthropic/claude-sonnet-5-5-20261001", "prefix"],
    ["openrouter/anthropic/claude-haiku-5.5", "prefix"],
    ["bedrock/us.anthropic.claude-fable-5-1-v1:0", "prefix"],
    ["anthropic/claude-mythos-5-2", "prefix"],
    ["anthropic/claude-opus-5", "none"],
    ["anthropic/claude-fable-5-20260601", "none"],
    ["anthropic/claude-haiku-4-5", "none"],
    ["openai/gpt-5.5", "none"],
  ] as const)("[V7] thinking of %s is bound: %s", (name, binding) => {
    expect(resolveRoute(name, empty).thinkingBinding).toBe(binding);
    const config = withRoutes({ [name]: { thinkingBinding: "none" } });
    expect(resolveRoute(name, config).thinkingBinding).toBe("none");
  });
});

describe("an upstream", () => {
  it("[V8] is there only with its key", () => {
    expect(upstreamOf("openai/gpt-5", empty, {})).toBeUndefined();
    expect(upstreamOf("openai/gpt-5", empty, { OPENAI_API_KEY: " " })).toBeUndefined();
    expect(upstreamOf("nobody/gpt-5", empty, { OPENAI_API_KEY: "k" })).toBeUndefined();
    expect(upstreamOf("openai/gpt-5", empty, { OPENAI_API_KEY: "k\n" })).toEqual({
      provider: "openai",
      model: "gpt-5",
      baseUrl: "https://api.openai.com/v1",
      dialect: "openai-chat",
      key: "k",
    });
  });

  it("[V8] without a secret in its configuration is called without a key", () => {
    const PROVIDERS = JSON.stringify({
      mine: { baseUrl: "https://x.example/v1", dialects: ["openai-chat"] },
    });
    expect(upstreamOf("mine/m", parseEnv({ PROVIDERS }), {})).toEqual({
      provider: "mine",
      model: "m",
      baseUrl: "https://x.example/v1",
      dialect: "openai-chat",
    });
  });

  it("[V8] speaks the wanted dialect if the provider does, else its own", () => {
    const secrets = { DEEPSEEK_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
    const as = (name: string, dialect?: "anthropic" | "openai-chat") =>
      upstreamOf(name, empty, secrets, dialect);
    expect(as("deepseek/deepseek-chat")?.baseUrl).toBe("https://api.deepseek.com");
    expect(as("deepseek/deepseek-chat", "anthropic")).toMatchObject({
      baseUrl: "https://api.deepseek.com/anthropic",
      dialect: "anthropic",
    });
    expect(as("anthropic/claude-opus-5", "openai-chat")?.dialect).toBe("anthropic");
  });

  it("[V8] refuses a key that no header can carry, without telling it", () => {
    const call = () => upstreamOf("openai/gpt-5", empty, { OPENAI_API_KEY: "top secret\nx: y" });
    expect(call).toThrow("OPENAI_API_KEY");
    expect(call).not.toThrow("top secret");
  });

  it.each([
    ["openai-chat", "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"],
    ["openai-chat", "https://api.z.ai/api/paas/v4/", "https://api.z.ai/api/paas/v4/chat/completions"],
    ["openai-responses", "https://api.openai.com/v1", "https://api.openai.com/v1/responses"],
    ["anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"],
    ["anthropic", "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/messages"],
    ["anthropic", "https://api.deepseek.com/anthropic", "https://api.deepseek.com/anthropic/v1/messages"],
  ] as const)("[V8] %s at %s is called at %s", (dialect, baseUrl, address) => {
    expect(endpointOf({ dialect, baseUrl })).toBe(address);
  });
});

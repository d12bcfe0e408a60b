import { describe, expect, it } from "vitest";
import { configOf, parseEnv } from "../../src/env.ts";
import { type Failure, Refusal } from "../../src/failure.ts";

function failureOf(env: Record<string, unknown>): Failure {
  try {
    parseEnv(env);
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
  throw new Error("the environment was taken");
}

const json = JSON.stringify;
const good = { baseUrl: "https://llm.example/v1", dialects: ["openai-chat"], secret: "MY_KEY" };

describe("an environment", () => {
  it("[V1] without variables gives the built-in providers, no routes, no policy, no tokens, closed", () => {
    const config = parseEnv({});
    expect(config.providers.get("openai")).toEqual({
      baseUrls: {
        "openai-chat": "https://api.openai.com/v1",
        "openai-responses": "https://api.openai.com/v1",
      },
      secret: "OPENAI_API_KEY",
    });
    expect(config.providers.get("anthropic")?.baseUrls.anthropic).toBe("https://api.anthropic.com");
    expect([...config.routes]).toEqual([]);
    expect(config.policy).toEqual({});
    expect(config.tokens).toEqual([]);
    expect(config.devOpen).toBe(false);
  });

  it("[V1] reads every variable, as text or as a JSON binding", () => {
    const routes = { "mine/m": { window: 8_000, policy: { thresholdRatio: 0.5 } } };
    for (const shape of [json, (value: unknown) => value]) {
      const config = parseEnv({
        PROVIDERS: shape({ mine: good }),
        ROUTES: shape(routes),
        POLICY: shape({ auto: false }),
        API_TOKENS: "ann:t1",
        DEV_OPEN: "1",
      });
      expect(config.providers.get("mine")).toEqual({
        baseUrls: { "openai-chat": "https://llm.example/v1" },
        secret: "MY_KEY",
      });
      expect(config.routes.get("mine/m")).toEqual({
        capacity: { window: 8_000 },
        policy: { thresholdRatio: 0.5 },
      });
      expect(config.policy).toEqual({ auto: false });
      expect(config.tokens).toEqual([{ name: "ann", token: "t1" }]);
      expect(config.devOpen).toBe(true);
    }
  });

  it("[V1] is read once, its fault included", () => {
    const env = { DEV_OPEN: "1" };
    expect(configOf(env)).toBe(configOf(env));
    const broken = { POLICY: "{" };
    const faults = [0, 1].map(() => {
      try {
        return configOf(broken);
      } catch (error) {
        return error;
      }
    });
    expect(faults[0]).toBeInstanceOf(Refusal);
    expect(faults[0]).toBe(faults[1]);
  });

  it("[V1] treats a blank variable as absent", () => {
    expect(parseEnv({ PROVIDERS: " ", ROUTES: "", POLICY: "\n", API_TOKENS: "", DEV_OPEN: "" })).toEqual(
      parseEnv({}),
    );
  });
});

describe("a misconfiguration", () => {
  const secret = "s3cr3t-value";
  const cases: [what: string, env: Record<string, unknown>, variable: string, key: string][] = [
    ["text that is not JSON", { PROVIDERS: `{"a": ${secret}` }, "PROVIDERS", "not valid JSON"],
    ["a list instead of an object", { ROUTES: json([secret]) }, "ROUTES", "expected record"],
    ["a variable that is no text", { API_TOKENS: 5 }, "API_TOKENS", "text"],
    [
      "an unknown key of a provider",
      { PROVIDERS: json({ a: { ...good, baseURL: secret } }) },
      "PROVIDERS",
      "baseURL",
    ],
    [
      "a provider without a base URL",
      { PROVIDERS: json({ a: { dialects: ["anthropic"] } }) },
      "PROVIDERS",
      "a.baseUrl",
    ],
    [
      "a provider without dialects",
      { PROVIDERS: json({ a: { baseUrl: "https://x.example" } }) },
      "PROVIDERS",
      "a.dialects",
    ],
    ["no dialect", { PROVIDERS: json({ a: { ...good, dialects: [] } }) }, "PROVIDERS", "a.dialects"],
    [
      "an unknown dialect",
      { PROVIDERS: json({ a: { ...good, dialects: [secret] } }) },
      "PROVIDERS",
      "a.dialects.0",
    ],
    [
      "a dialect that a built-in provider does not speak",
      { PROVIDERS: json({ openai: { dialects: ["anthropic"] } }) },
      "PROVIDERS",
      "openai.dialects",
    ],
    [
      "a way to prove oneself that nobody knows",
      { PROVIDERS: json({ a: { ...good, auth: "basic" } }) },
      "PROVIDERS",
      "a.auth",
    ],
    [
      "a key in the place of its name",
      { PROVIDERS: json({ a: { ...good, secret: `sk-${secret}` } }) },
      "PROVIDERS",
      "a.secret",
    ],
    [
      "our own tokens as a key",
      { PROVIDERS: json({ a: { ...good, secret: "API_TOKENS" } }) },
      "PROVIDERS",
      "a.secret",
    ],
    ["a provider's name with a slash", { PROVIDERS: json({ "a/b": good }) }, "PROVIDERS", "a/b"],
    [
      "an address that is no URL",
      { PROVIDERS: json({ a: { ...good, baseUrl: secret } }) },
      "PROVIDERS",
      "a.baseUrl",
    ],
    [
      "plain http",
      { PROVIDERS: json({ a: { ...good, baseUrl: "http://x.example" } }) },
      "PROVIDERS",
      "a.baseUrl",
    ],
    [
      "another scheme",
      { PROVIDERS: json({ a: { ...good, baseUrl: "file:///etc" } }) },
      "PROVIDERS",
      "a.baseUrl",
    ],
    [
      "credentials in a URL",
      { PROVIDERS: json({ a: { ...good, baseUrl: `https://u:${secret}@x.example` } }) },
      "PROVIDERS",
      "a.baseUrl",
    ],
    [
      "a query in a URL",
      { PROVIDERS: json({ a: { ...good, baseUrl: `https://x.example?key=${secret}` } }) },
      "PROVIDERS",
      "a.baseUrl",
    ],
    ["an unknown key of a route", { ROUTES: json({ "a/b": { windw: 5 } }) }, "ROUTES", "windw"],
    [
      "[DSH-016] a misspelled key of a policy",
      { POLICY: json({ thresholdRato: 0.5 }) },
      "POLICY",
      "thresholdRato",
    ],
    [
      "[DSH-016] a misspelled key of a route's policy",
      { ROUTES: json({ "a/b": { policy: { models: [] } } }) },
      "ROUTES",
      "models",
    ],
    [
      "[DSH-008] half a summarizer",
      { POLICY: json({ summary: { route: secret } }) },
      "POLICY",
      "summary.route",
    ],
    ["[DSH-013] a negative tail", { POLICY: json({ retainTokens: -1 }) }, "POLICY", "retainTokens"],
    ["[DSH-022] a setting of the meter", { POLICY: json({ contextWindow: 9 }) }, "POLICY", "contextWindow"],
    ["[DSH-009] a policy key of the wrong type", { POLICY: json({ auto: secret }) }, "POLICY", "auto"],
    [
      "[DSH-010] a threshold above the whole",
      { POLICY: json({ thresholdRatio: 1.1 }) },
      "POLICY",
      "thresholdRatio",
    ],
    [
      "[DSH-012] both ways to retain, in a route",
      { ROUTES: json({ "a/b": { policy: { retainRatio: 0.2, retainTokens: 9 } } }) },
      "ROUTES",
      "a/b.policy.retainTokens",
    ],
    ["[DSH-018] a window of 1.5", { ROUTES: json({ "a/b": { window: 1.5 } }) }, "ROUTES", "a/b.window"],
    ["[DSH-018] a window of 0", { ROUTES: json({ "a/b": { window: 0 } }) }, "ROUTES", "a/b.window"],
    ["[DSH-014] a route without a provider", { ROUTES: json({ "/b": {} }) }, "ROUTES", "/b"],
    ["[DSH-014] a route without a model", { ROUTES: json({ "a/": {} }) }, "ROUTES", "a/"],
    ["[DSH-014] a route that is a number", { ROUTES: json({ "a/b": 7 }) }, "ROUTES", "a/b"],
    [
      "[DSH-015] two entries for one route",
      { ROUTES: '{"a/b":{"window":1},"a/\\u0062":{"window":2}}' },
      "ROUTES",
      "a/b",
    ],
    [
      "[DSH-020] a form that would be pruned again",
      { POLICY: json({ prune: { over: 1_000, head: 900, tail: 90 } }) },
      "POLICY",
      "prune.over",
    ],
    [
      "[DSH-020] a contradiction that only deployment and route together make",
      {
        POLICY: json({ prune: { head: 7_000 } }),
        ROUTES: json({ "a/b": { policy: { prune: { tail: 1_100 } } } }),
      },
      "ROUTES",
      "a/b.policy.prune.over",
    ],
    ["tokens without a colon", { API_TOKENS: `ann:x,${secret}` }, "API_TOKENS", "pair 2"],
    ["a token without a name", { API_TOKENS: `:${secret}` }, "API_TOKENS", "pair 1"],
    ["a name out of the pattern", { API_TOKENS: `a b:${secret}` }, "API_TOKENS", "pair 1"],
    ["an empty token", { API_TOKENS: "ann:" }, "API_TOKENS", "pair 1"],
    ["a token that no header can carry", { API_TOKENS: `ann:${secret}\u00e9` }, "API_TOKENS", "pair 1"],
    ["a trailing comma", { API_TOKENS: `ann:${secret},` }, "API_TOKENS", "pair 2"],
    ["one token for two tenants", { API_TOKENS: `ann:${secret},bob:${secret}` }, "API_TOKENS", "share"],
    ["another word than 0 or 1", { DEV_OPEN: "yes" }, "DEV_OPEN", "0 or 1"],
  ];

  it.each(cases)("[V2] names the variable and the key, never the value: %s", (_, env, variable, key) => {
    const failure = failureOf(env);
    expect(failure.code).toBe("not-configured");
    expect(failure.detail.startsWith(`${variable}: `)).toBe(true);
    expect(failure.detail).toContain(key);
    expect(failure.more).toEqual({ variable });
    expect(JSON.stringify(failure)).not.toContain(secret);
  });
});

describe("PROVIDERS", () => {
  it("[V3] takes http on loopback only with DEV_OPEN", () => {
    for (const host of ["localhost:8080", "127.0.0.1:9", "127.9.9.9", "[::1]:1"]) {
      const PROVIDERS = json({ local: { baseUrl: `http://${host}/v1/`, dialects: ["openai-chat"] } });
      expect(parseEnv({ PROVIDERS, DEV_OPEN: "1" }).providers.get("local")).toEqual({
        baseUrls: { "openai-chat": `http://${host}/v1` },
      });
      expect(failureOf({ PROVIDERS }).detail).toContain("DEV_OPEN");
    }
    for (const host of ["127.0.0.1.example", "localhost.example", "10.0.0.1", "0.0.0.0"]) {
      const PROVIDERS = json({ local: { baseUrl: `http://${host}`, dialects: ["openai-chat"] } });
      expect(failureOf({ PROVIDERS, DEV_OPEN: "1" }).detail).toContain("https");
    }
  });

  it("[V3] changes of a built-in provider only what it names", () => {
    const { providers } = parseEnv({ PROVIDERS: json({ openai: { secret: "OTHER" } }) });
    expect(providers.get("openai")).toEqual({
      baseUrls: {
        "openai-chat": "https://api.openai.com/v1",
        "openai-responses": "https://api.openai.com/v1",
      },
      secret: "OTHER",
    });
    expect(providers.get("groq")?.secret).toBe("GROQ_API_KEY");
  });

  it("[V3] never sends a built-in provider's key to another address", () => {
    const { providers } = parseEnv({ PROVIDERS: json({ openai: { baseUrl: "https://proxy.example/v1" } }) });
    const url = "https://proxy.example/v1";
    expect(providers.get("openai")).toEqual({ baseUrls: { "openai-chat": url, "openai-responses": url } });
  });
});

describe("API_TOKENS", () => {
  it("[V4] splits on commas and the first colon, and allows several tokens for one name", () => {
    expect(parseEnv({ API_TOKENS: " ann:one,ann:two:three=,\n bob : four \n" }).tokens).toEqual([
      { name: "ann", token: "one" },
      { name: "ann", token: "two:three=" },
      { name: "bob", token: "four" },
    ]);
  });
});

import { expect, it } from "vitest";
import { parseEnv } from "../../src/env.ts";
import { Refusal } from "../../src/failure.ts";
import { keyHeaders } from "../../src/providers/client-key.ts";
import { endpointOf, upstreamOf } from "../../src/providers/routes.ts";

const gateway = "https://gateway.ai.cloudflare.com/v1/account/name";
const parse = (providers: object) => parseEnv({ PROVIDERS: JSON.stringify(providers) });

it("[V1] a provider may take the client's key, sit behind an AI Gateway, and have its own patience", () => {
  const { providers } = parse({
    anthropic: { auth: "forward" },
    openai: { baseUrl: `${gateway}/openai/`, gatewaySecret: "AIG_TOKEN" },
    groq: { timeouts: { idleMs: 5_000 } },
  });
  expect(providers.get("anthropic")).toEqual({
    baseUrls: { anthropic: "https://api.anthropic.com" },
    forward: true,
  });
  // Behind another address the vendor's own key is not used unless it is named.
  expect(providers.get("openai")?.gatewaySecret).toBe("AIG_TOKEN");
  expect(providers.get("openai")?.secret).toBeUndefined();
  expect(providers.get("groq")).toMatchObject({ secret: "GROQ_API_KEY", timeouts: { idleMs: 5_000 } });
});

const good = { baseUrl: "https://llm.example/v1", dialects: ["openai-chat"] };

it.each([
  ["a secret beside the client's own key", { a: { ...good, auth: "forward", secret: "A_KEY" } }, "a.secret"],
  [
    "a gateway's token without its address",
    { openai: { gatewaySecret: "AIG_TOKEN" } },
    "openai.gatewaySecret",
  ],
  ["our own tokens for the gateway", { a: { ...good, gatewaySecret: "API_TOKENS" } }, "a.gatewaySecret"],
  ["a timeout of nothing", { a: { ...good, timeouts: { idleMs: 0 } } }, "a.timeouts.idleMs"],
  [
    "a timeout beyond what the platform waits",
    { a: { ...good, timeouts: { firstByteMs: 900_001 } } },
    "firstByteMs",
  ],
  ["a timeout by another name", { a: { ...good, timeouts: { connectMs: 5 } } }, "connectMs"],
])("[V1] %s is refused by its key", (_, providers, key) => {
  let failure: Refusal | undefined;
  try {
    parse(providers);
  } catch (error) {
    if (error instanceof Refusal) failure = error;
  }
  expect(failure?.failure.code).toBe("not-configured");
  expect(failure?.failure.detail).toContain(key);
});

it("[G36] a model call through an AI Gateway goes to its address with both proofs", () => {
  const catalogue = parse({
    openai: { baseUrl: `${gateway}/openai`, secret: "OPENAI_API_KEY", gatewaySecret: "AIG_TOKEN" },
    anthropic: { baseUrl: `${gateway}/anthropic`, secret: "ANTHROPIC_API_KEY", gatewaySecret: "AIG_TOKEN" },
  });
  const secrets = { OPENAI_API_KEY: "k1", ANTHROPIC_API_KEY: "k2", AIG_TOKEN: "t" };
  const openai = upstreamOf("openai/gpt-5", catalogue, secrets)!;
  expect(endpointOf(openai)).toBe(`${gateway}/openai/chat/completions`);
  expect(keyHeaders(openai)).toEqual({ authorization: "Bearer k1", "cf-aig-authorization": "Bearer t" });
  const anthropic = upstreamOf("anthropic/claude-opus-5", catalogue, secrets)!;
  expect(endpointOf(anthropic)).toBe(`${gateway}/anthropic/v1/messages`);
  expect(keyHeaders(anthropic)).toEqual({ "x-api-key": "k2", "cf-aig-authorization": "Bearer t" });
  expect(upstreamOf("openai/gpt-5", catalogue, { OPENAI_API_KEY: "k1" })).toBeUndefined();
});

it("[G33] only a forwarding provider gets the client's key, and none without it", () => {
  const catalogue = parse({ anthropic: { auth: "forward" } });
  const key = { authorization: "Bearer mine" };
  const forwarding = upstreamOf("anthropic/claude-opus-5", catalogue, {})!;
  expect(keyHeaders(forwarding, key)).toEqual(key);
  expect(() => keyHeaders(forwarding)).toThrow(Refusal);
  const own = upstreamOf("openai/gpt-5", catalogue, { OPENAI_API_KEY: "k1" })!;
  expect(keyHeaders(own, key)).toEqual({ authorization: "Bearer k1" });
});

/** Requests over the window, by exact count, in each dialect's own words; the count endpoints; the models. */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { type AgentName, runAgent } from "../../../cli/loop/agent.ts";
import { classifyRefusal } from "../../../src/providers/overflow.ts";
import { errorFor, withProvider } from "./clients.ts";

const text = "The quick brown fox jumps over the lazy dog, twice. ".repeat(40);
const weight = countTokens(text) + 12;
const hi = { role: "user", content: text };

const judged = (error: unknown) => {
  const { status, error: body } = error as { status: number; error: object };
  // OpenAI's client keeps the inner error, Anthropic's the body.
  return classifyRefusal({ status, body: JSON.stringify("error" in body ? body : { error: body }) });
};

describe("a request over the window", () => {
  it("is refused by one token, and taken at the window", async () => {
    await withProvider({ window: weight }, async (clients) => {
      const over = { ...hi, content: `${text} and` };
      expect(judged(await errorFor(clients, "chat", { messages: [over] }))).toMatchObject({
        kind: "overflow",
        limit: weight,
      });
      expect(judged(await errorFor(clients, "responses", { input: [over] }))).toMatchObject({
        kind: "overflow",
      });
      expect(judged(await errorFor(clients, "anthropic", { messages: [over] }))).toMatchObject({
        kind: "overflow",
        limit: weight,
      });
      expect(clients.provider.stats()).toMatchObject({ overflows: 3, refusals: {} });
      expect(await errorFor(clients, "chat", { messages: [hi] })).toBeUndefined();
      expect(await errorFor(clients, "responses", { input: [hi] })).toBeUndefined();
    });
  });

  it("by its cap alone is the dialect's own case", async () => {
    await withProvider({ window: weight + 100 }, async (clients) => {
      const cap = { kind: "overflow", inputTokens: weight, maxTokensOnly: true };
      expect(
        judged(await errorFor(clients, "chat", { messages: [hi], max_completion_tokens: 101 })),
      ).toMatchObject(cap);
      expect(judged(await errorFor(clients, "anthropic", { messages: [hi], max_tokens: 101 }))).toMatchObject(
        cap,
      );
      expect(await errorFor(clients, "responses", { input: [hi], max_output_tokens: 101 })).toBeUndefined();
      expect(await errorFor(clients, "chat", { messages: [hi], max_completion_tokens: 100 })).toBeUndefined();
      expect(clients.provider.stats()).toMatchObject({ overflows: 0, refusals: { cap: 2 } });
    });
  });

  it("is one sooner where the tokens are denser than counted, or the model smaller", async () => {
    await withProvider({ window: Math.ceil(weight * 1.6), density: 1.6 }, async (clients) => {
      expect(await errorFor(clients, "chat", { messages: [hi] })).toBeUndefined();
      expect(
        await errorFor(clients, "chat", { messages: [{ ...hi, content: `${text} and` }] }),
      ).toMatchObject({ status: 400 });
    });
    await withProvider({ models: { small: { window: 100 } } }, async (clients) => {
      expect(await errorFor(clients, "chat", { messages: [hi] })).toBeUndefined();
      expect(await errorFor(clients, "chat", { messages: [hi], model: "small" })).toMatchObject({
        code: "context_length_exceeded",
      });
    });
  });

  it("weighs system, tools, calls, results, thinking and images", async () => {
    await withProvider({}, async ({ anthropic }) => {
      const input = { path: "a b c" };
      const { input_tokens } = await anthropic.messages.countTokens({
        model: "m",
        system: "be brief",
        tools: [{ name: "x", input_schema: { type: "object" } }],
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "look" },
              { type: "image", source: { type: "url", url: "https://a.example/b.png" } },
            ],
          },
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "x", input }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: text }] },
        ],
      });
      const tools = JSON.stringify([{ name: "x", input_schema: { type: "object" } }]);
      const texts = ["be brief", tools, "look", "x", JSON.stringify(input), text];
      const sum = texts.reduce((total, one) => total + countTokens(one), 0);
      expect(input_tokens).toBe(sum + 3 * 12 + 1_600);
    });
  });

  it("tells its models and their windows", async () => {
    await withProvider(
      { models: { small: { window: 16_000 } }, maxOutput: 4_000 },
      async ({ anthropic, openai }) => {
        expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(["small"]);
        expect(await anthropic.models.retrieve("small")).toMatchObject({
          max_input_tokens: 16_000,
          max_tokens: 4_000,
        });
      },
    );
  });
});

describe("a loop at a window of 32k without help", () => {
  const agents: AgentName[] = [
    "openai-chat",
    "openai-responses",
    "openai-responses-stored",
    "anthropic",
    "ai-openai-chat",
    "ai-anthropic",
  ];

  it.each(agents)("%s dies of an overflow", async (agent) => {
    await withProvider({ window: 32_000 }, async ({ provider }) => {
      const baseURL = agent.endsWith("anthropic") ? provider.anthropic : provider.openai;
      const played = await runAgent({ agent, baseURL, rounds: 60, calls: 2, stream: true });
      expect(played.finished).toBe(false);
      expect(played.errors).toHaveLength(1);
      const [error] = played.errors;
      expect(error).toMatchObject({ status: 400, request: played.requests });
      expect(error?.message).toMatch(
        /maximum context length|context window|prompt is too long|exceed context limit/,
      );
      const { overflows, refusals, completions } = provider.stats();
      expect(overflows + (refusals.cap ?? 0)).toBe(1);
      expect(completions).toEqual({});
    });
  });
});

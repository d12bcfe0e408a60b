/** Agent loops over the vendors' own clients, direct, with a window that nothing fills. */
import { describe, expect, it } from "vitest";
import { type AgentName, type AgentOptions, agentNames, runAgent } from "../../../cli/loop/agent.ts";
import type { ProviderOptions } from "../../../cli/loop/provider-options.ts";
import { withProvider } from "./clients.ts";

const isAnthropic = (agent: AgentName) => agent.endsWith("anthropic");

/** One loop of 30 rounds that has to end well; answers the provider's books. */
async function finishes(
  options: Omit<AgentOptions, "baseURL">,
  provided: ProviderOptions = {},
): Promise<void> {
  await withProvider(provided, async ({ provider }) => {
    const baseURL = isAnthropic(options.agent) ? provider.anthropic : provider.openai;
    const played = await runAgent({ ...options, baseURL, rounds: 30 });
    expect(played).toMatchObject({
      finished: true,
      answer: "DONE T1 after 30 rounds",
      requests: 31,
      errors: [],
    });
    const stats = provider.stats();
    expect(stats).toMatchObject({
      requests: 31,
      answered: 31,
      plain: 0,
      refusals: {},
      overflows: 0,
      completions: { "DONE T1 after 30 rounds": 1 },
      rounds: { distinct: 31, repeated: [] },
      billed: { distinct: 31, repeated: [] },
    });
    expect(played.inputs).toHaveLength(31);
    expect(stats.inputTokens).toBe(played.inputs.reduce((sum, one) => sum + one, 0));
    expect(stats.largestInput).toBe(played.inputs.at(-1));
    // An append-only client: all but what is new in each request was in the request before.
    expect(stats.cachedTokens).toBe(played.inputs.slice(0, -1).reduce((sum, one) => sum + one, 0));
    expect(stats.cachedShare).toBeGreaterThan(0.9);
  });
}

const shapes = agentNames.flatMap((agent) =>
  [false, true].flatMap((stream) => [1, 4].map((calls) => [agent, stream, calls] as const)),
);

describe("a loop of 30 rounds ends with its answer", () => {
  it.each(shapes)("%s, stream %s, %i calls at once", async (agent, stream, calls) => {
    await finishes({ agent, stream, calls });
  });

  it.each(["anthropic", "ai-anthropic"] as const)(
    "%s with thinking, bound and not, streaming and not",
    async (agent) => {
      for (const stream of [false, true]) {
        await finishes({ agent, stream, calls: 4, thinking: "manual" });
        await finishes({ agent, stream, thinking: "adaptive" }, { binding: "prefix" });
      }
    },
  );

  it("anthropic with cache marks that move", async () => {
    await finishes(
      { agent: "anthropic", stream: true, thinking: "adaptive", cacheMarks: true },
      { binding: "prefix" },
    );
  });

  it("openai-chat with reasoning that its server wants back, and responses without reasoning", async () => {
    await finishes({ agent: "openai-chat", calls: 4 }, { reasoningContent: true });
    await finishes({ agent: "openai-responses", calls: 4, stream: true }, { reasoning: false });
  });
});

describe("a cache that is told where to keep", () => {
  const shareOf = async (cacheMarks: boolean) => {
    let share = 0;
    await withProvider({ cacheByMarks: true }, async ({ provider }) => {
      const played = await runAgent({
        agent: "anthropic",
        baseURL: provider.anthropic,
        cacheMarks,
        stream: true,
      });
      expect(played.finished).toBe(true);
      const input = played.inputs.reduce((sum, one) => sum + one, 0);
      expect(provider.stats().inputTokens).toBe(input);
      share = provider.stats().cachedShare;
    });
    return share;
  };

  it("keeps what stands in front of the marks, and nothing without them", async () => {
    expect(await shareOf(true)).toBeGreaterThan(0.9);
    expect(await shareOf(false)).toBe(0);
  });
});

describe("the work goes on", () => {
  it.each(["openai-chat", "openai-responses", "anthropic"] as const)(
    "behind a history that lost everything but its last round: %s",
    async (agent) => {
      await withProvider({ window: 32_000 }, async ({ provider }) => {
        const played = await runAgent({
          agent,
          baseURL: isAnthropic(agent) ? provider.anthropic : provider.openai,
          rounds: 40,
          calls: 2,
          // Twelve messages or items are more than two rounds in every dialect.
          onStep: ({ messages }) => void (messages.length > 12 && forget(messages)),
        });
        expect(played).toMatchObject({ finished: true, requests: 41, errors: [] });
        expect(provider.stats()).toMatchObject({
          refusals: {},
          overflows: 0,
          rounds: { distinct: 41, repeated: [] },
        });
      });
    },
  );

  it("and a text is written where one is asked for, with tools at hand", async () => {
    await withProvider({}, async ({ provider, openai }) => {
      const played = await runAgent({
        agent: "openai-chat",
        baseURL: provider.openai,
        rounds: 5,
        abortAfter: 3,
      });
      expect(played).toMatchObject({ finished: false, requests: 3 });
      const messages = [...(played.messages as []), { role: "user" as const, content: "Write the summary." }];
      const tools = [{ type: "function" as const, function: { name: "run", parameters: {} } }];
      const { choices } = await openai.chat.completions.create({ model: "m", messages, tools });
      expect(choices[0]?.message.tool_calls).toBeUndefined();
      const content = choices[0]?.message.content ?? "";
      expect(content).toContain("task T1: 3 of 5 rounds are done");
      expect(content.match(/^- src\/part-\d\/file-0\.ts$/gm)).toHaveLength(3);
      const short = await openai.chat.completions.create({
        model: "m",
        messages,
        tools,
        max_completion_tokens: 200,
      });
      expect(short.choices[0]?.finish_reason).toBe("stop");
      expect(provider.stats().plain).toBe(2);
    });
  });

  it.each(["openai-chat", "openai-responses", "anthropic", "ai-anthropic"] as const)(
    "from a history that was kept, asked on or not: %s",
    async (agent) => {
      await withProvider({}, async ({ provider }) => {
        const baseURL = isAnthropic(agent) ? provider.anthropic : provider.openai;
        const first = await runAgent({ agent, baseURL, rounds: 6, abortAfter: 4 });
        const kept = structuredClone(first.messages);
        const whole = await runAgent({ agent, baseURL, rounds: 6, history: first.messages, ask: false });
        expect(whole).toMatchObject({ finished: true, requests: 3, answer: "DONE T1 after 6 rounds" });
        expect(first.messages).toEqual(kept);
        const next = await runAgent({ agent, baseURL, task: "T2", rounds: 2, history: whole.messages });
        expect(next).toMatchObject({
          finished: true,
          requests: 3,
          answer: "DONE T2 after 2 rounds",
          errors: [],
        });
        expect(provider.stats().rounds).toEqual({ distinct: 10, repeated: [] });
      });
    },
  );

  it("in as many choices as were asked for, each with its own ids", async () => {
    await withProvider({}, async ({ openai }) => {
      const request = {
        model: "m",
        n: 3,
        messages: [{ role: "user" as const, content: "task=A rounds=1 calls=2" }],
      };
      const whole = await openai.chat.completions.create(request);
      const streamed = await openai.chat.completions.stream(request).finalChatCompletion();
      for (const { choices } of [whole, streamed]) {
        const ids = choices.flatMap(({ message }) => (message.tool_calls ?? []).map(({ id }) => id));
        expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
        expect(new Set(ids).size).toBe(6);
      }
    });
  });

  it("and an answer that is asked for twice is seen to be billed twice", async () => {
    await withProvider({}, async ({ provider, openai }) => {
      const request = {
        model: "m",
        messages: [{ role: "user" as const, content: "task=A rounds=1 calls=1" }],
      };
      const ids = [
        await openai.chat.completions.create(request),
        await openai.chat.completions.create(request),
      ];
      expect(ids[0]?.choices[0]?.message).toEqual(ids[1]?.choices[0]?.message);
      const { billed, rounds } = provider.stats();
      expect(billed).toMatchObject({ distinct: 1, repeated: [{ times: 2 }] });
      expect(rounds.repeated).toEqual([{ key: "A#0", times: 2 }]);
    });
  });
});

/** Puts a note in the place of everything in front of the newest reply that called. */
function forget(messages: unknown[]): void {
  const all = messages as { role?: string; type?: string }[];
  const isReply = ({ role, type }: { role?: string; type?: string }) =>
    role === "assistant" || type === "reasoning" || type === "function_call";
  let from = all.findLastIndex(isReply);
  while (from > 0 && isReply(all[from - 1] ?? {})) from--;
  messages.splice(0, from, { role: "user", content: "What happened before is summed up here." });
}

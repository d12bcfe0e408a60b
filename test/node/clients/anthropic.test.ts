/** The `@anthropic-ai/sdk` package, as its users keep a history with it. */
import Anthropic from "@anthropic-ai/sdk";
import type { MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages";
import { describe, expect, it } from "vitest";
import { drive } from "./linked.ts";
import type { Json, Provider } from "./provider.ts";
import { anthropicReplies, question, results, toolParameters, toolUse } from "./said.ts";

const model = "claude-opus-5-5";
const tools: Tool[] = [{ name: "read_file", input_schema: toolParameters as unknown as Tool.InputSchema }];

function clientOf({ url }: Provider): Anthropic {
  return new Anthropic({ baseURL: url.replace(/\/v1$/, ""), apiKey: "key", maxRetries: 0 });
}

/** Moves the one cache mark to the newest block, as the guides for caching do. */
function markNewest(messages: MessageParam[]): void {
  for (const { content } of messages) {
    if (typeof content !== "string")
      for (const block of content) delete (block as { cache_control?: unknown }).cache_control;
  }
  const newest = messages.at(-1)!;
  if (typeof newest.content === "string") newest.content = [{ type: "text", text: newest.content }];
  (newest.content.at(-1) as { cache_control?: unknown }).cache_control = { type: "ephemeral" };
}

async function loop(ask: (messages: MessageParam[]) => Promise<Anthropic.Message>): Promise<void> {
  const messages: MessageParam[] = [{ role: "user", content: question }];
  while (true) {
    const message = await ask(messages);
    messages.push({ role: "assistant", content: message.content });
    const calls = message.content.filter(({ type }) => type === "tool_use") as Anthropic.ToolUseBlock[];
    if (calls.length === 0) break;
    messages.push({
      role: "user",
      content: calls.map(({ id }, i) => ({
        type: "tool_result",
        tool_use_id: id,
        content: results[i] ?? "",
      })),
    });
  }
  messages.push({ role: "user", content: "Thank you" });
  await ask(messages);
}

describe("anthropic", () => {
  it("pushes the content of a message", () =>
    drive("anthropic", anthropicReplies, (provider) => {
      const client = clientOf(provider);
      return loop((messages) => client.messages.create({ model, max_tokens: 1000, messages, tools }));
    }));

  it("pushes the content of a stream's final message, the cache mark on its way", async () => {
    const exchanges = await drive("anthropic", anthropicReplies, (provider) => {
      const client = clientOf(provider);
      return loop((messages) => {
        markNewest(messages);
        return client.messages.stream({ model, max_tokens: 1000, messages, tools }).finalMessage();
      });
    });
    const marks = exchanges.map(({ body }) => JSON.stringify(body).split("cache_control").length - 1);
    expect(marks).toEqual([1, 1, 1, 1]);
  });

  it("drops thinking, empty citations, the caller", () =>
    drive("anthropic", anthropicReplies, (provider) => {
      const client = clientOf(provider);
      return loop(async (messages) => {
        const message = await client.messages.create({ model, max_tokens: 1000, messages, tools });
        const said = message.content.filter(({ type }) => !type.endsWith("thinking"));
        for (const block of said) {
          if (block.type === "text") block.citations = null;
          else delete (block as unknown as Json).caller;
        }
        return { ...message, content: said };
      });
    }));

  it.each([false, true])("runs tools by itself, stream %s", async (stream) => {
    await drive("anthropic", anthropicReplies.slice(0, 3), async (provider) => {
      const messages = [{ role: "user" as const, content: question }];
      const runnable = { ...tools[0]!, run: () => results[0]!, parse: (input: unknown) => input };
      const runner = clientOf(provider).beta.messages.toolRunner({
        model,
        max_tokens: 1000,
        messages,
        tools: [runnable],
        stream,
      } as never);
      for await (const step of runner as AsyncIterable<AsyncIterable<unknown>>) {
        if (stream) for await (const _event of step);
      }
    });
  });

  it("keeps an answer's text as a string, and a call without input", () =>
    drive(
      "anthropic",
      [
        [{ role: "assistant", content: [{ type: "text", text: "Hi", citations: null }] }],
        [{ role: "assistant", content: [toolUse("toolu_a", {})] }],
        [{ role: "assistant", content: [{ type: "text", text: "Done" }] }],
      ],
      async (provider) => {
        const client = clientOf(provider);
        const messages: MessageParam[] = [{ role: "user", content: question }];
        const ask = () => client.messages.stream({ model, max_tokens: 1000, messages, tools }).finalMessage();
        messages.push({
          role: "assistant",
          content: await ask().then(({ content }) => (content[0] as Anthropic.TextBlock).text),
        });
        messages.push({ role: "user", content: "Go on" });
        messages.push({ role: "assistant", content: (await ask()).content });
        messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_a" }] });
        await ask();
      },
    ));
});

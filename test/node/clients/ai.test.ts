/** The `ai` package with its providers for OpenAI and Anthropic: it parses every reply and prints its own request. */
import { describe, it } from "vitest";
import { drive } from "./linked.ts";
import { anthropicReplies, chatReplies, responsesReplies } from "./said.ts";
import { anthropic, loop, openai } from "./with-ai.ts";

describe.each([false, true])("ai, stream %s", (stream) => {
  it("chat completions", async () => {
    await drive("openai-chat", chatReplies, (provider) => loop(openai(provider).chat("gpt-5.5"), { stream }));
  });

  it("responses, which names the items of a stored response by reference", async () => {
    await drive("openai-responses", responsesReplies, (provider) =>
      loop(openai(provider).responses("gpt-5.5"), { stream }),
    );
  });

  it("responses without a store, reasoning sent back", async () => {
    await drive("openai-responses", responsesReplies, (provider) =>
      loop(openai(provider).responses("gpt-5.5"), {
        stream,
        providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
      }),
    );
  });

  it("anthropic", async () => {
    await drive("anthropic", anthropicReplies, (provider) =>
      loop(anthropic(provider)("claude-opus-5-5"), { stream }),
    );
  });
});

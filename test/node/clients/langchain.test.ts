/** LangChain's models for OpenAI and Anthropic: it keeps messages of its own and makes each request from them. */
import { describe, it } from "vitest";
import { drive } from "./linked.ts";
import { anthropicReplies, chatReplies, responsesReplies } from "./said.ts";
import { anthropic, loop, openai } from "./with-langchain.ts";

describe.each([false, true])("langchain, stream %s", (stream) => {
  it("chat completions", async () => {
    await drive("openai-chat", chatReplies, (provider) => loop(openai(provider, false), { stream }));
  });

  it("responses", async () => {
    await drive("openai-responses", responsesReplies, (provider) => loop(openai(provider, true), { stream }));
  });

  it("anthropic", async () => {
    await drive("anthropic", anthropicReplies, (provider) => loop(anthropic(provider), { stream }));
  });
});

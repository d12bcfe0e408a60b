/** The AI SDK reads what we answer: stored replies as JSON and as streams, refusals, error frames, pings. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type LanguageModel, streamText } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WireDialect } from "../../src/dialects/wire.ts";
import { concat } from "../../src/log/json-edit.ts";
import { errorFrame, overflowError, pingFrame } from "../../src/providers/reply/errors.ts";
import type { StoredReply } from "../../src/providers/reply/reply.ts";
import { chatReply, claudeReply, itemsReply, ReplyServer } from "../support/reply-server.ts";

const server = new ReplyServer();
beforeAll(() => server.start());
afterAll(() => server.stop());

describe("the AI SDK", () => {
  const provider = () => createOpenAI({ baseURL: `${server.origin}/v1`, apiKey: "k" });
  const rows: [WireDialect, StoredReply, () => LanguageModel][] = [
    ["openai-chat", chatReply, () => provider().chat("m")],
    ["openai-responses", itemsReply, () => provider().responses("m")],
    ["anthropic", claudeReply, () => createAnthropic({ baseURL: `${server.origin}/v1`, apiKey: "k" })("m")],
  ];
  const calls = (list: readonly { toolName: string; input: unknown }[]) =>
    list.filter(({ toolName }) => toolName === "read").map(({ input }) => input);

  it.each(rows)("reads %s as JSON and as a stream alike", async (dialect, reply, model) => {
    server.replay(dialect, reply, false);
    const whole = await generateText({ model: model(), prompt: "hi", maxRetries: 0 });
    expect(whole.text).toBe("Hello");
    expect(calls(whole.toolCalls)).toContainEqual({ path: "a", n: 1.5 });
    server.replay(dialect, reply, true);
    const errors: unknown[] = [];
    const stream = streamText({
      model: model(),
      prompt: "hi",
      maxRetries: 0,
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    expect(await stream.text).toBe("Hello");
    expect(calls(await stream.toolCalls)).toEqual(calls(whole.toolCalls));
    expect(await stream.finishReason).toBe(whole.finishReason);
    expect(await stream.usage).toEqual(whole.usage);
    expect(errors).toEqual([]);
    expect(whole.usage.inputTokens).toBe(9);
  });

  it.each(rows)("fails on our %s refusal with its status", async (dialect, _, model) => {
    server.refuseSize(dialect);
    await expect(generateText({ model: model(), prompt: "hi", maxRetries: 0 })).rejects.toMatchObject({
      statusCode: 400,
      isRetryable: false,
    });
  });

  it.each(rows)("is told of our %s error frame", async (dialect, _, model) => {
    const said = overflowError(dialect, { tokens: 2, limit: 1 });
    server.give(concat([pingFrame(dialect), errorFrame(dialect, said)]), true);
    const errors: unknown[] = [];
    const stream = streamText({
      model: model(),
      prompt: "hi",
      maxRetries: 0,
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    await stream.consumeStream();
    expect(JSON.stringify(errors) + String(errors)).toContain(said.message);
  });
});

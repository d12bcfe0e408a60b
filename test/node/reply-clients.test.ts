/**
 * The vendors' clients read what we answer: stored replies as JSON and as streams, errors before and inside
 * a stream, pings.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorShape } from "../../src/dialects/error-shape.ts";
import { concat } from "../../src/log/json-edit.ts";
import { errorFrame, overflowError, pingFrame } from "../../src/providers/reply/errors.ts";
import {
  blocks,
  chatMessage,
  chatReply,
  chatUsage,
  claudeReply,
  claudeUsage,
  items,
  itemsReply,
  itemsUsage,
  messages,
  ReplyServer,
  stored,
} from "../support/reply-server.ts";

const server = new ReplyServer();
beforeAll(() => server.start());
afterAll(() => server.stop());

const openai = () => new OpenAI({ baseURL: `${server.origin}/v1`, apiKey: "k" });
const claude = () => new Anthropic({ baseURL: server.origin, apiKey: "k" });

describe("the openai client", () => {
  it("reads a chat reply", async () => {
    server.replay("openai-chat", chatReply, false);
    const reply = await openai().chat.completions.create({ model: "m", messages });
    expect(reply.choices[0]?.message).toEqual(chatMessage);
    expect(reply.choices[0]?.finish_reason).toBe("tool_calls");
    expect(reply.usage).toEqual(chatUsage);
    expect(reply).toMatchObject({ id: "id_1", model: "m-1", created: 7, object: "chat.completion" });
  });

  it("reads a chat stream to the same message", async () => {
    server.replay("openai-chat", chatReply, true);
    const stream = openai().chat.completions.stream({
      model: "m",
      messages,
      stream_options: { include_usage: true },
    });
    const reply = await stream.finalChatCompletion();
    expect(reply.choices[0]?.message).toMatchObject({ role: "assistant", content: "Hello" });
    expect(
      reply.choices[0]?.message.tool_calls?.map((one) => ({
        id: one.id,
        type: one.type,
        function: {
          name: one.type === "function" && one.function.name,
          arguments: one.type === "function" && one.function.arguments,
        },
      })),
    ).toEqual(chatMessage.tool_calls);
    expect(reply.choices[0]?.finish_reason).toBe("tool_calls");
    expect(reply.usage).toEqual(chatUsage);
  });

  it("reads a response and a Responses stream to the same items", async () => {
    server.replay("openai-responses", itemsReply, false);
    const reply = await openai().responses.create({ model: "m", input: "hi" });
    expect(reply.output).toEqual(items);
    expect(reply).toMatchObject({ output_text: "Hello", status: "completed", usage: itemsUsage });
    server.replay("openai-responses", itemsReply, true);
    const stream = openai().responses.stream({ model: "m", input: "hi" });
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    expect(text).toBe("Hello");
    expect(final.output).toMatchObject(items);
    expect(final.usage).toEqual(itemsUsage);
  });

  it("reads why a response is incomplete", async () => {
    server.replay("openai-responses", stored(items.slice(0, 2), { finish: "max_output_tokens" }), false);
    const reply = await openai().responses.create({ model: "m", input: "hi" });
    expect(reply).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
  });

  it.each(["openai-chat", "openai-responses"] as const)("throws our %s refusal once", async (dialect) => {
    server.refuseSize(dialect);
    const before = server.requests;
    const sent =
      dialect === "openai-chat"
        ? openai().chat.completions.create({ model: "m", messages })
        : openai().responses.create({ model: "m", input: "hi" });
    const error = await sent.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({
      status: 400,
      code: "context_length_exceeded",
      type: "invalid_request_error",
    });
    expect((error as Error).message).toContain("maximum context length is 200000 tokens");
    expect(server.requests - before).toBe(1);
  });

  it("does not retry a status that it would, when told so", async () => {
    const body = errorShape("openai-chat", { status: 503, code: "busy", message: "busy" });
    server.refuse(503, body);
    const before = server.requests;
    await expect(openai().chat.completions.create({ model: "m", messages })).rejects.toBeInstanceOf(
      OpenAI.InternalServerError,
    );
    expect(server.requests - before).toBe(1);
  });

  it.each(["openai-chat", "openai-responses"] as const)("throws our %s error frame", async (dialect) => {
    const said = overflowError(dialect, { tokens: 2, limit: 1 });
    server.give(concat([pingFrame(dialect), errorFrame(dialect, said)]), true);
    const read = async (): Promise<void> => {
      const stream =
        dialect === "openai-chat"
          ? await openai().chat.completions.create({ model: "m", messages, stream: true })
          : await openai().responses.create({ model: "m", input: "hi", stream: true });
      for await (const _ of stream) throw new Error("no event was sent");
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({ code: "context_length_exceeded", message: said.message });
  });
});

describe("the Anthropic client", () => {
  it("reads a message", async () => {
    server.replay("anthropic", claudeReply, false);
    const reply = await claude().messages.create({ model: "m", max_tokens: 9, messages });
    expect(reply.content).toEqual(blocks);
    expect(reply).toMatchObject({ id: "id_1", model: "m-1", stop_reason: "tool_use", usage: claudeUsage });
  });

  it("reads a stream to the same message", async () => {
    server.replay("anthropic", claudeReply, true);
    const stream = claude().messages.stream({ model: "m", max_tokens: 9, messages });
    const reply = await stream.finalMessage();
    expect(JSON.parse(JSON.stringify(reply.content))).toEqual(blocks);
    expect(reply).toMatchObject({ id: "id_1", stop_reason: "tool_use", usage: claudeUsage });
  });

  it("throws our refusal once", async () => {
    server.refuseSize("anthropic");
    const before = server.requests;
    const error = await claude()
      .messages.create({ model: "m", max_tokens: 9, messages })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.BadRequestError);
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error" });
    expect((error as Error).message).toContain("prompt is too long: 210000 tokens > 200000 maximum");
    expect(server.requests - before).toBe(1);
  });

  it("throws our error frame", async () => {
    const said = overflowError("anthropic", { tokens: 2, limit: 1 });
    server.give(concat([pingFrame("anthropic"), errorFrame("anthropic", said)]), true);
    const error = await claude()
      .messages.stream({ model: "m", max_tokens: 9, messages })
      .finalMessage()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.APIError);
    expect(error).toMatchObject({ type: "invalid_request_error" });
    expect((error as Error).message).toContain("prompt is too long: 2 tokens > 1 maximum");
  });
});

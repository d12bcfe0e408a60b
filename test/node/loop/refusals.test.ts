/** What the provider over HTTP refuses, seen by the vendors' own clients. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { ProviderOptions } from "../../../cli/loop/provider-options.ts";
import { type Dialect, errorFor, withProvider } from "./clients.ts";

const hi = { role: "user", content: "hi" };
const fn = { tools: [{ type: "function", function: { name: "x", parameters: {} } }] };
const call = (id: string) => ({ id, type: "function", function: { name: "x", arguments: "{}" } });
const calling = (...ids: string[]) => ({ role: "assistant", content: null, tool_calls: ids.map(call) });
const tool = (id: string) => ({ role: "tool", tool_call_id: id, content: "r" });

const chat: [kind: string, fields: object, words: string][] = [
  [
    "call-without-result",
    { messages: [hi, calling("a", "b"), tool("a"), hi], ...fn },
    "must be followed by tool messages",
  ],
  [
    "call-without-result",
    { messages: [hi, calling("a"), hi, tool("a")], ...fn },
    "must be followed by tool messages",
  ],
  ["result-without-call", { messages: [hi, tool("a")] }, "must be a response to a preceeding message"],
  [
    "result-without-call",
    { messages: [hi, calling("a"), tool("a"), tool("a")], ...fn },
    "must be a response to",
  ],
  ["call-id-twice", { messages: [hi, calling("a", "a"), tool("a")], ...fn }, "call-id-twice"],
  ["empty", { messages: [] }, "empty array"],
  ["empty-reply", { messages: [hi, { role: "assistant", content: null }, hi] }, "empty-reply"],
  ["empty-calls", { messages: [hi, { role: "assistant", content: "a", tool_calls: [] }, hi] }, "empty-calls"],
  ["empty-content", { messages: [{ role: "user", content: [] }] }, "empty-content"],
  ["unknown-role", { messages: [{ role: "robot", content: "a" }] }, "unknown-role"],
  ["field", { messages: [hi], plimsoll: true }, "Unrecognized request argument supplied: plimsoll"],
  ["tools", { messages: [hi], tools: [] }, "too short"],
  [
    "part",
    { messages: [hi, calling("a"), { ...tool("a"), content: [{ type: "image_url" }] }], ...fn },
    "'image_url'",
  ],
  ["shape", { messages: [hi], max_tokens: 1, max_completion_tokens: 1 }, "at the same time"],
];

const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "r" });
const item = (call_id: string, more: object = {}) => ({
  type: "function_call",
  call_id,
  name: "x",
  arguments: "{}",
  ...more,
});
const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAforged.sum" };

const responses: [kind: string, fields: object, words: string][] = [
  ["call-without-result", { input: [hi, item("a")] }, "No tool output found for function call a"],
  [
    "result-without-call",
    { input: [hi, output("a")] },
    "No tool call found for function call output with call_id a",
  ],
  ["result-without-call", { input: [hi, output("a"), item("a"), output("a")] }, "No tool call found"],
  ["call-id-twice", { input: [hi, item("a"), item("a"), output("a")] }, "Duplicate function call"],
  [
    "id-twice",
    { input: [hi, item("a", { id: "fc_1_n0" }), item("b", { id: "fc_1_n0" }), output("a"), output("b")] },
    "Duplicate item found with id fc_1_n0",
  ],
  [
    "reasoning-alone",
    { input: [hi, { ...sealed, encrypted_content: "" }] },
    "without its required following item",
  ],
  ["reasoning-alone", { input: [hi, sealed, hi] }, "without its required following item"],
  [
    "reasoning-missing",
    { input: [hi, item("a", { id: "fc_1_r0" }), output("a")] },
    "without its required 'reasoning' item: 'rs_1'",
  ],
  ["reasoning-forged", { input: [hi, sealed, item("a"), output("a")] }, "could not be verified"],
  [
    "reasoning-unknown",
    { input: [hi, { ...sealed, encrypted_content: null }, item("a"), output("a")], store: false },
    "not found",
  ],
  [
    "previous-unknown",
    { input: "hi", previous_response_id: "resp_x" },
    "Previous response with id 'resp_x' not found",
  ],
  ["item-unknown", { input: [hi, { type: "item_reference", id: "fc_9" }] }, "Item with id 'fc_9' not found"],
  ["empty", { input: [] }, "must be provided"],
  ["empty-content", { input: [{ role: "user", content: [] }] }, "empty array"],
  ["unknown-role", { input: [{ role: "robot", content: "a" }] }, "Invalid value: 'robot'"],
  [
    "field",
    { input: [item("a", { parsed_arguments: {} }), output("a")] },
    "Unknown parameter: 'input[0].parsed_arguments'",
  ],
  ["item-id", { input: [item("a", { id: "msg_1" }), output("a")] }, "begins with 'fc'"],
  [
    "part",
    { input: [{ role: "user", content: [{ type: "output_text", text: "a" }] }] },
    "Invalid value: 'output_text'",
  ],
  ["field", { input: "hi", messages: [] }, "Unknown parameter: 'messages'"],
];

const use = (...ids: string[]) => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool_use", id, name: "x", input: {} })),
});
const result = (...ids: string[]) => ({
  role: "user",
  content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "r" })),
});
const x = { tools: [{ name: "x", input_schema: { type: "object" } }] };
const mark = { type: "text", text: "a", cache_control: { type: "ephemeral" } };
const manual = { ...x, max_tokens: 4_000, thinking: { type: "enabled", budget_tokens: 2_000 } };
const foreign = { type: "thinking", thinking: "hm", signature: "foreign" };

const anthropic: [kind: string, fields: object, words: string][] = [
  [
    "call-without-result",
    { messages: [hi, use("a", "b"), result("a")], ...x },
    "`tool_use` ids were found without",
  ],
  [
    "result-without-call",
    { messages: [hi, { role: "assistant", content: "a" }, result("a")], ...x },
    "unexpected `tool_use_id`",
  ],
  [
    "result-behind-other-block",
    {
      messages: [
        hi,
        use("a"),
        { role: "user", content: [{ type: "text", text: "t" }, ...result("a").content] },
      ],
      ...x,
    },
    "messages.2",
  ],
  [
    "call-id-twice",
    { messages: [hi, use("a"), result("a"), use("a"), result("a")], ...x },
    "ids must be unique",
  ],
  ["first-is-not-user", { messages: [{ role: "assistant", content: "a" }] }, "messages.0"],
  ["empty", { messages: [] }, "at least one message"],
  [
    "empty-text",
    { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] },
    "must be non-empty",
  ],
  ["empty-content", { messages: [{ role: "user", content: [] }] }, "empty-content"],
  ["marks", { messages: [{ role: "user", content: [mark, mark, mark, mark, mark] }] }, "maximum of 4 blocks"],
  ["tools", { messages: [hi, use("a"), result("a")] }, "must define tools"],
  [
    "thinking",
    { messages: [hi, use("a"), result("a")], ...manual },
    "Expected `thinking` or `redacted_thinking`",
  ],
  [
    "thinking",
    { messages: [hi], ...manual, max_tokens: 1_500 },
    "must be greater than `thinking.budget_tokens`",
  ],
  ["thinking", { messages: [hi], ...manual, tool_choice: { type: "any" } }, "tool_choice forces tool use"],
  [
    "thinking",
    { messages: [hi, { role: "assistant", content: [foreign, ...use("a").content] }, result("a")], ...x },
    "cannot be modified",
  ],
  ["call-id", { messages: [hi, use("a|b"), result("a|b")], ...x }, "should match pattern"],
  ["field", { messages: [hi], plimsoll: 1 }, "plimsoll: Extra inputs are not permitted"],
  ["field", { messages: [{ ...hi, id: "1" }] }, "messages.0.id: Extra inputs"],
  [
    "field",
    { messages: [hi], thinking: { type: "adaptive", block_binding: {} } },
    "block_binding: Extra inputs",
  ],
  ["shape", { messages: [hi], max_tokens: 0 }, "max_tokens"],
];

const cases: [Dialect, string, object, string][] = [
  ...chat.map((one): [Dialect, string, object, string] => ["chat", ...one]),
  ...responses.map((one): [Dialect, string, object, string] => ["responses", ...one]),
  ...anthropic.map((one): [Dialect, string, object, string] => ["anthropic", ...one]),
];

describe("an illegal request", () => {
  it.each(cases)("%s: %s %#", async (dialect, kind, fields, words) => {
    await withProvider({}, async (clients) => {
      const error = await errorFor(clients, dialect, fields);
      const shape = dialect === "anthropic" ? Anthropic.BadRequestError : OpenAI.BadRequestError;
      expect(error).toBeInstanceOf(shape);
      expect((error as Error).message).toContain(words);
      expect(clients.provider.stats()).toMatchObject({ requests: 1, answered: 0, refusals: { [kind]: 1 } });
    });
  });

  it("is not what these are", async () => {
    await withProvider({}, async (clients) => {
      for (const [dialect, fields] of [
        ["chat", { messages: [hi, calling("a", "b"), tool("b"), tool("a"), hi], ...fn }],
        ["responses", { input: [hi, item("a"), item("b"), output("b"), output("a")], store: false }],
        ["anthropic", { messages: [hi, use("a", "b"), result("b", "a")], ...x }],
        ["anthropic", { messages: [{ role: "user", content: [mark, mark, mark, mark] }] }],
      ] as const)
        expect(await errorFor(clients, dialect, fields)).toBeUndefined();
      expect(clients.provider.stats()).toMatchObject({ answered: 4, refusals: {} });
    });
  });

  it("with the gateway's own headers", async () => {
    await withProvider({}, async ({ provider, openai, anthropic: other }) => {
      const headers = { "plimsoll-session": "s" };
      await expect(
        openai.chat.completions.create(
          { model: "m", messages: [{ role: "user", content: "hi" }] },
          { headers },
        ),
      ).rejects.toThrow("Unexpected header: plimsoll-session");
      await expect(
        other.messages.create(
          { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
          { headers },
        ),
      ).rejects.toThrow("Unexpected header");
      expect(provider.stats().refusals).toEqual({ header: 2 });
    });
  });

  it("with a wrong key or a model that nobody has", async () => {
    const options: ProviderOptions = { key: "right", models: { known: { window: 1_000 } }, onlyModels: true };
    await withProvider({ ...options, key: "key" }, async (clients) => {
      expect(await errorFor(clients, "chat", { messages: [hi] })).toMatchObject({
        status: 404,
        code: "model_not_found",
      });
      expect(await errorFor(clients, "anthropic", { messages: [hi] })).toMatchObject({ status: 404 });
    });
    await withProvider({ key: "right" }, async (clients) => {
      expect(await errorFor(clients, "chat", { messages: [hi] })).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(await errorFor(clients, "anthropic", { messages: [hi] })).toBeInstanceOf(
        Anthropic.AuthenticationError,
      );
    });
  });

  it("in chat without the reasoning that its server wants back", async () => {
    await withProvider({ reasoningContent: true }, async (clients) => {
      const fields = { messages: [hi, calling("a"), tool("a")], ...fn };
      const error = await errorFor(clients, "chat", fields);
      expect((error as Error).message).toContain(
        "reasoning_content is missing in assistant tool call message at index 1",
      );
    });
  });
});

describe("thinking that is bound to its prefix", () => {
  const first = { messages: [hi], thinking: { type: "adaptive" }, max_tokens: 500, model: "m" };

  it("is taken back behind the same prefix, whatever the cache marks, and refused behind another", async () => {
    await withProvider({ binding: "prefix" }, async (clients) => {
      const answer = await clients.anthropic.messages.create(first as never);
      const again = (question: object, system?: string) =>
        errorFor(clients, "anthropic", {
          ...first,
          ...(system === undefined ? {} : { system }),
          messages: [question, { role: "assistant", content: answer.content }, hi],
        });
      expect(answer.content[0]?.type).toBe("thinking");
      expect(await again(hi)).toBeUndefined();
      for (const changed of [await again({ ...hi, content: "ho" }), await again(hi, "new")])
        expect((changed as Error).message).toContain("The block is bound to a different conversation");
      expect(clients.provider.stats().refusals).toEqual({ binding: 2 });
    });
  });

  it("passes with the beta that lets the server drop it", async () => {
    await withProvider({ binding: "prefix" }, async ({ anthropic: client }) => {
      const body = {
        ...first,
        thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
        messages: [hi, { role: "assistant", content: [foreign, { type: "text", text: "a" }] }, hi],
      };
      const headers = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };
      await expect(client.messages.create(body as never, { headers })).resolves.toMatchObject({
        stop_reason: "end_turn",
      });
      await expect(client.messages.create(body as never)).rejects.toThrow("Extra inputs");
    });
  });
});

import { describe, expect, it } from "vitest";
import { dialectNames } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { utf8 } from "../log/json-text.ts";

const user = { role: "user", content: "hi" };
const reply = { role: "assistant", content: "hi" };
const system = { role: "system", content: "hi" };

describe("the strict OpenAI provider", () => {
  const calls = (...ids: string[]) => ({
    role: "assistant",
    content: null,
    tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
  });
  const tool = (id: string) => ({ role: "tool", tool_call_id: id, content: "" });

  it.each<[string, unknown[]]>([
    ["a plain conversation", [system, user, reply, user]],
    ["a reply first", [reply, user]],
    ["results in any order", [user, calls("a", "b"), tool("b"), tool("a"), reply]],
    ["an id used again later", [user, calls("a"), tool("a"), calls("a"), tool("a")]],
    ["a late system message", [user, reply, { role: "developer", content: "x" }]],
    ["a refusal", [user, { role: "assistant", content: null, refusal: "no" }]],
  ])("[P31] takes %s", (_, messages) => {
    expect(violations("openai-chat", messages.map(utf8))).toEqual([]);
  });

  it.each<[string, number, unknown[]]>([
    ["call-without-result", 1, [user, calls("a", "b"), tool("a"), user, tool("b")]],
    ["result-without-call", 4, [user, calls("a", "b"), tool("a"), user, tool("b")]],
    ["call-without-result", 1, [user, calls("a")]],
    ["call-without-result", 1, [user, calls("a"), reply]],
    ["result-without-call", 0, [tool("a"), user]],
    ["result-without-call", 3, [user, calls("a"), tool("a"), tool("a")]],
    ["result-without-call", 2, [user, calls("a"), tool("b")]],
    ["result-without-content", 2, [user, calls("a"), { ...tool("a"), content: null }]],
    ["call-id-twice", 1, [user, calls("a", "a"), tool("a")]],
    ["empty-reply", 1, [user, { role: "assistant", content: "" }]],
    ["empty-reply", 1, [user, { role: "assistant" }]],
    ["empty-calls", 1, [user, { ...reply, tool_calls: [] }]],
    ["empty-calls", 1, [user, { ...reply, tool_calls: null }]],
    ["empty-content", 1, [user, { ...calls("a"), content: [] }, tool("a")]],
    ["empty-content", 0, [{ role: "user", content: "" }]],
    ["unknown-role", 1, [user, { role: "function", content: "x" }]],
  ])("[P31] finds %s at %i", (rule, at, messages) => {
    expect(violations("openai-chat", messages.map(utf8))).toContainEqual({ at, rule });
  });
});

describe("the strict Anthropic provider", () => {
  const use = (...ids: string[]) => ({
    role: "assistant",
    content: ids.map((id) => ({ type: "tool_use", id, name: "f", input: {} })),
  });
  const result = (id: string) => ({ type: "tool_result", tool_use_id: id });
  const results = (...ids: string[]) => ({ role: "user", content: ids.map(result) });
  const note = { type: "text", text: "and" };
  const thought = { type: "thinking", thinking: "", signature: "s" };
  const assistant = (...content: unknown[]) => ({ role: "assistant", content });

  it.each<[string, unknown[]]>([
    ["a plain conversation", [user, reply, user]],
    ["two of a role in a row", [user, user, reply, reply, user]],
    [
      "results with a text behind them",
      [user, use("a", "b"), { role: "user", content: [result("b"), result("a"), note] }],
    ],
    ["results with a user message behind them", [user, use("a"), results("a"), user, reply]],
    ["results over two messages in a row", [user, use("a", "b"), results("a"), results("b")]],
    ["calls over two messages in a row", [user, use("a"), use("b"), results("a", "b")]],
    ["a system message behind results", [user, use("a"), results("a"), system, reply]],
    ["thinking before a call", [user, assistant(thought, ...use("a").content), results("a")]],
    ["an empty result", [user, use("a"), { role: "user", content: [{ ...result("a"), content: "" }] }]],
  ])("[P31] takes %s", (_, messages) => {
    expect(violations("anthropic", messages.map(utf8))).toEqual([]);
  });

  it.each<[string, number, unknown[]]>([
    ["first-is-not-user", 0, [reply, user]],
    ["first-is-not-user", 0, [system, user]],
    ["call-without-result", 1, [user, use("a"), user, reply]],
    ["call-without-result", 1, [user, use("a")]],
    ["call-without-result", 1, [user, use("a", "b"), results("a")]],
    ["call-without-result", 1, [user, use("a"), system, results("a")]],
    ["call-id-twice", 1, [user, use("a", "a"), results("a")]],
    ["result-without-call", 0, [results("a"), reply]],
    ["result-without-call", 2, [user, use("a"), results("b")]],
    ["result-without-call", 2, [user, use("a"), results("a", "a")]],
    ["result-without-call", 4, [user, use("a"), results("a"), reply, results("a")]],
    ["result-behind-other-block", 2, [user, use("a"), { role: "user", content: [note, result("a")] }]],
    ["result-behind-other-block", 3, [user, use("a"), user, results("a")]],
    ["call-outside-assistant", 0, [{ role: "user", content: use("a").content }]],
    ["result-outside-user", 1, [user, assistant(result("a"))]],
    ["empty-content", 1, [user, assistant()]],
    ["empty-content", 0, [{ role: "user", content: "" }]],
    ["no-content", 1, [user, { role: "assistant" }]],
    ["empty-text", 1, [user, assistant({ type: "text", text: " " })]],
    ["empty-text", 1, [user, { role: "assistant", content: "\n" }]],
    [
      "empty-text",
      2,
      [
        user,
        use("a"),
        { role: "user", content: [{ ...result("a"), content: [{ type: "text", text: "" }] }] },
      ],
    ],
    ["ends-in-thinking", 1, [user, assistant(note, thought)]],
    ["system-after-assistant", 2, [user, reply, system]],
    ["user-after-system", 2, [user, system, user]],
    ["unknown-role", 1, [user, { role: "tool", content: "x" }]],
  ])("[P31] finds %s at %i", (rule, at, messages) => {
    expect(violations("anthropic", messages.map(utf8))).toContainEqual({ at, rule });
  });
});

describe("every strict provider", () => {
  it("[P31] finds lists without messages and bytes that are none", () => {
    for (const dialect of dialectNames) {
      expect(violations(dialect, [])).toEqual([{ at: 0, rule: "no-messages" }]);
      const broken = [utf8(user), utf8("{"), utf8("[]"), Uint8Array.of(0x22, 0xff, 0x22), utf8("")];
      expect(violations(dialect, broken).map(({ at, rule }) => `${rule} ${at}`)).toEqual([
        "not-a-message 1",
        "not-a-message 2",
        "not-a-message 3",
        "not-a-message 4",
      ]);
    }
  });
});

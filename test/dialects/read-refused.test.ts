import { describe, expect, it } from "vitest";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { utf8 } from "../log/json-text.ts";
import { call, claude, openai, refusalOf, result, use } from "./native.ts";

describe("a message of another dialect", () => {
  it.each<[DialectName, string, unknown]>([
    ["openai-chat", "content[1].type", { role: "assistant", content: [{ type: "text", text: "a" }, use] }],
    ["openai-chat", "content[0].type", { role: "user", content: [result] }],
    ["openai-chat", "content[0].type", { role: "user", content: [{ type: "image", source: {} }] }],
    [
      "openai-chat",
      "content[0].type",
      { role: "assistant", content: [{ type: "thinking", thinking: "", signature: "s" }] },
    ],
    ["openai-chat", "content[0].type", { role: "assistant", content: [{ type: "web_search_tool_result" }] }],
    ["anthropic", "role", { role: "tool", content: "x" }],
    ["anthropic", "role", { role: "developer", content: "x" }],
    ["anthropic", "tool_calls", { role: "assistant", content: "x", tool_calls: [call] }],
    ["anthropic", "tool_call_id", { role: "user", content: "x", tool_call_id: "call_1" }],
    ["anthropic", "reasoning_content", { role: "assistant", content: "x", reasoning_content: "hm" }],
    [
      "anthropic",
      "content[0].type",
      { role: "user", content: [{ type: "image_url", image_url: { url: "u" } }] },
    ],
  ])("[P21] is refused by %s at %s", (dialect, at, message) => {
    const failure = refusalOf(dialect, message);
    expect(failure).toMatchObject({ code: "bad-message", at: `messages[2].${at}` });
    expect(failure.detail).toMatch(/belongs to the (anthropic|openai-chat) dialect/);
  });

  it("[P21] never echoes what the client sent", () => {
    const secret = "sk-very-secret";
    const cases: [DialectName, unknown][] = [
      ["openai-chat", { role: secret, content: secret }],
      ["openai-chat", { role: "assistant", tool_calls: [{ id: secret, function: { name: secret } }] }],
      ["anthropic", { role: secret, content: secret }],
      ["anthropic", { role: "user", content: [{ type: "tool_result", tool_use_id: `${secret}!` }] }],
      [
        "anthropic",
        {
          role: "assistant",
          content: [
            { ...use, id: secret },
            { ...use, id: secret },
          ],
        },
      ],
    ];
    for (const [dialect, message] of cases)
      expect(JSON.stringify(refusalOf(dialect, message))).not.toContain(secret);
  });
});

describe("a message that is none", () => {
  it.each<[DialectName, string, unknown]>([
    ["openai-chat", "", [1]],
    ["openai-chat", ".role", {}],
    ["openai-chat", ".role", { role: 7 }],
    ["openai-chat", ".role", { role: "function", name: "f", content: "x" }],
    ["openai-chat", ".role", { role: "robot", content: "x" }],
    ["openai-chat", ".content", { role: "user", content: { text: "x" } }],
    ["openai-chat", ".content[0]", { role: "user", content: ["x"] }],
    ["openai-chat", ".content[0].type", { role: "user", content: [{ text: "x" }] }],
    ["openai-chat", ".content[0].text", { role: "user", content: [{ type: "text", text: 1 }] }],
    ["openai-chat", ".function_call", { role: "assistant", content: null, function_call: { name: "f" } }],
    ["openai-chat", ".tool_calls", { role: "assistant", tool_calls: {} }],
    ["openai-chat", ".tool_calls[0]", { role: "assistant", tool_calls: [1] }],
    ["openai-chat", ".tool_calls[0]", { role: "assistant", tool_calls: [{ id: "a", type: "function" }] }],
    [
      "openai-chat",
      ".tool_calls[0].function",
      { role: "assistant", tool_calls: [{ id: "a", function: "f" }] },
    ],
    [
      "openai-chat",
      ".tool_calls[0].function.name",
      { role: "assistant", tool_calls: [{ id: "a", function: {} }] },
    ],
    [
      "openai-chat",
      ".tool_calls[0].function.arguments",
      { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: {} } }] },
    ],
    [
      "openai-chat",
      ".tool_calls[0].custom.input",
      { role: "assistant", tool_calls: [{ id: "a", custom: { name: "f" } }] },
    ],
    ["openai-chat", ".content", { role: "tool", tool_call_id: "a" }],
    [
      "openai-chat",
      ".content[1].type",
      { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "" }, { type: "file" }] },
    ],
    ["anthropic", "", "7"],
    ["anthropic", ".role", { content: "x" }],
    ["anthropic", ".role", { role: "robot", content: "x" }],
    ["anthropic", ".content", { role: "user" }],
    ["anthropic", ".content", { role: "user", content: null }],
    ["anthropic", ".content", { role: "user", content: 7 }],
    ["anthropic", ".content[1]", { role: "user", content: [{ type: "text", text: "a" }, null] }],
    ["anthropic", ".content[0].type", { role: "user", content: [{ type: "" }] }],
    ["anthropic", ".content[0].text", { role: "user", content: [{ type: "text" }] }],
    ["anthropic", ".content[0].type", { role: "user", content: [use] }],
    ["anthropic", ".content[0].type", { role: "assistant", content: [result] }],
    ["anthropic", ".content[0].type", { role: "user", content: [{ type: "thinking", thinking: "x" }] }],
    ["anthropic", ".content[0].type", { role: "system", content: [{ type: "image", source: {} }] }],
    ["anthropic", ".content[0].name", { role: "assistant", content: [{ ...use, name: "" }] }],
    ["anthropic", ".content[0].input", { role: "assistant", content: [{ ...use, input: null }] }],
    ["anthropic", ".content[0].content", { role: "user", content: [{ ...result, content: 7 }] }],
    ["anthropic", ".content[0].content[0]", { role: "user", content: [{ ...result, content: ["x"] }] }],
    ["anthropic", ".content[0].source", { role: "user", content: [{ type: "document", source: "x" }] }],
  ])("[P21] is refused by %s at message%s: %j", (dialect, at, message) => {
    expect(refusalOf(dialect, message)).toMatchObject({ code: "bad-message", at: `messages[2]${at}` });
  });
});

describe("ids", () => {
  it.each<[DialectName, string, unknown]>([
    ["openai-chat", "tool_call_id", { role: "tool", content: "x" }],
    ["openai-chat", "tool_call_id", { role: "tool", content: "x", tool_call_id: "" }],
    ["openai-chat", "tool_calls[0].id", { role: "assistant", tool_calls: [{ ...call, id: null }] }],
    ["openai-chat", "tool_calls[1].id", { role: "assistant", tool_calls: [call, call] }],
    ["anthropic", "content[0].id", { role: "assistant", content: [{ ...use, id: "" }] }],
    ["anthropic", "content[0].id", { role: "assistant", content: [{ ...use, id: "call|1" }] }],
    ["anthropic", "content[1].id", { role: "assistant", content: [use, use] }],
    ["anthropic", "content[0].tool_use_id", { role: "user", content: [{ ...result, tool_use_id: "a b" }] }],
    [
      "anthropic",
      "content[0].tool_use_id",
      { role: "user", content: [{ type: "tool_result", content: "x" }] },
    ],
  ])("[P22] are refused by %s at %s where absent, twice or out of pattern", (dialect, at, message) => {
    expect(refusalOf(dialect, message)).toMatchObject({ code: "bad-message", at: `messages[2].${at}` });
  });

  it("[P22] of any characters are taken in the OpenAI dialect, and long ones in both", () => {
    expect(openai({ role: "tool", tool_call_id: "fc|a b/c", content: "" }).results).toEqual(["fc|a b/c"]);
    const long = "a".repeat(450);
    expect(claude({ role: "assistant", content: [{ ...use, id: long }] }).calls).toEqual([long]);
  });
});

describe("emptiness", () => {
  it.each<[DialectName, string, unknown]>([
    ["openai-chat", "content", { role: "user", content: "" }],
    ["openai-chat", "content", { role: "user", content: [] }],
    ["openai-chat", "content", { role: "user" }],
    ["openai-chat", "content", { role: "user", content: [{ type: "text", text: "" }] }],
    ["anthropic", "content", { role: "user", content: "" }],
    ["anthropic", "content", { role: "user", content: " \n" }],
    ["anthropic", "content", { role: "user", content: [] }],
    ["anthropic", "content", { role: "system", content: "" }],
    [
      "anthropic",
      "content[1].text",
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "" },
        ],
      },
    ],
    ["anthropic", "content[1].text", { role: "user", content: [result, { type: "text", text: "\n" }] }],
  ])("[P23] of a user message is refused by %s at %s: %j", (dialect, at, message) => {
    expect(refusalOf(dialect, message)).toMatchObject({ code: "bad-message", at: `messages[2].${at}` });
  });

  it.each<[boolean, DialectName, unknown]>([
    [true, "openai-chat", { role: "assistant", content: null }],
    [true, "openai-chat", { role: "assistant", content: "" }],
    [true, "openai-chat", { role: "assistant", content: [] }],
    [true, "openai-chat", { role: "assistant", content: [{ type: "text", text: "" }], refusal: "" }],
    [true, "openai-chat", { role: "assistant", reasoning_content: "only thought" }],
    [true, "openai-chat", { role: "assistant", content: "x", tool_calls: [] }],
    [true, "openai-chat", { role: "assistant", content: "x", tool_calls: null }],
    [true, "openai-chat", { role: "assistant", content: [], tool_calls: [call] }],
    [false, "openai-chat", { role: "assistant", content: null, tool_calls: [call] }],
    [false, "openai-chat", { role: "assistant", content: "", tool_calls: [call] }],
    [false, "openai-chat", { role: "assistant", content: null, refusal: "no" }],
    [false, "openai-chat", { role: "assistant", content: " " }],
    [true, "anthropic", { role: "assistant", content: "" }],
    [true, "anthropic", { role: "assistant", content: [] }],
    [true, "anthropic", { role: "assistant", content: [{ type: "text", text: " " }, use] }],
    [
      true,
      "anthropic",
      { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "s" }] },
    ],
    [
      true,
      "anthropic",
      {
        role: "assistant",
        content: [
          { type: "text", text: "x" },
          { type: "redacted_thinking", data: "d" },
        ],
      },
    ],
    [true, "anthropic", { role: "user", content: [{ ...result, content: [{ type: "text", text: "" }] }] }],
    [true, "anthropic", { role: "user", content: [{ type: "text", text: "first" }, result] }],
    [
      false,
      "anthropic",
      {
        role: "user",
        content: [
          { ...result, content: "" },
          { type: "text", text: "then" },
        ],
      },
    ],
    [false, "anthropic", { role: "user", content: [{ ...result, content: [] }] }],
    [false, "anthropic", { role: "assistant", content: [use, { type: "text", text: "x" }] }],
  ])("[P23] that only rendering can mend is marked (%j, %s): %j", (mend, dialect, message) => {
    expect(dialectOf(dialect).read(utf8(message), "m").mend).toBe(mend);
  });
});

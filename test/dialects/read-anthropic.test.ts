import { describe, expect, it } from "vitest";
import { anthropic } from "../../src/dialects/anthropic.ts";
import { type DialectName, startsTurn } from "../../src/dialects/dialect.ts";
import { openAiChat } from "../../src/dialects/openai-chat.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { utf8 } from "../log/json-text.ts";
import { claude, result } from "./native.ts";

describe("an Anthropic message", () => {
  it("[P20] of the user is read into texts and media", () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      { type: "image", source: { type: "url", url: "https://example.com/a.jpg" } },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "AAAA" },
        title: "T",
      },
      { type: "document", source: { type: "file", file_id: "f" } },
      { type: "container_upload", file_id: "f" },
    ];
    expect(claude({ role: "user", content })).toEqual({
      role: "user",
      parts: [
        { type: "text", text: "look" },
        { type: "media", note: "image/png" },
        { type: "media", note: "image" },
        { type: "media", note: "application/pdf" },
        { type: "media", note: "document" },
        { type: "media", note: "file" },
      ],
      calls: [],
      results: [],
      mend: false,
    });
  });

  it("[P20] gives documents and search results as text that nobody typed", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/gif", data: "AA" } };
    const content = [
      {
        type: "document",
        title: "T",
        context: "C",
        source: { type: "text", media_type: "text/plain", data: "body" },
      },
      { type: "document", source: { type: "content", content: [{ type: "text", text: "one" }, image] } },
      { type: "document", source: { type: "content", content: "plain" } },
      { type: "search_result", title: "S", source: "https://s", content: [{ type: "text", text: "hit" }] },
    ];
    const message = claude({ role: "user", content });
    expect(message.parts).toEqual([
      { type: "text", text: "T\nC\nbody", attached: true },
      { type: "text", text: "one", attached: true },
      { type: "media", note: "image/gif" },
      { type: "text", text: "plain", attached: true },
      { type: "text", text: "S\nhttps://s\nhit", attached: true },
    ]);
    expect(anthropic.typedText(message)).toBeUndefined();
    expect(startsTurn(message)).toBe(false);
  });

  it("[P20] of the assistant holds thinking, text and calls with the raw slice of their input", () => {
    const raw =
      '{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"xx"},' +
      '{"type":"text","text":"ok"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"n": 12345678901234567890 , "a":1.0}}]}';
    expect(claude(raw)).toEqual({
      role: "assistant",
      parts: [
        { type: "thinking", text: "hm" },
        { type: "thinking", text: "" },
        { type: "text", text: "ok" },
        { type: "call", id: "toolu_1", name: "f", args: '{"n": 12345678901234567890 , "a":1.0}' },
      ],
      calls: ["toolu_1"],
      results: [],
      mend: false,
    });
  });

  it("[P20] with a result has role tool, and each block of a result is one part", () => {
    const blocks = [
      { type: "text", text: "a" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } },
      { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "d" } },
      { type: "search_result", title: "S", source: "s", content: [{ type: "text", text: "h" }] },
      { type: "tool_reference", tool_name: "grep" },
    ];
    const content = [
      { ...result, content: blocks, is_error: true },
      { type: "tool_result", tool_use_id: "toolu_2" },
      { ...result, tool_use_id: "toolu_3", is_error: false },
      { type: "text", text: "go on" },
    ];
    expect(claude({ role: "user", content })).toEqual({
      role: "tool",
      parts: [
        {
          type: "result",
          call: "toolu_1",
          content: [
            { type: "text", text: "a" },
            { type: "media", note: "image/png" },
            { type: "text", text: "T\nd", attached: true },
            { type: "text", text: "S\ns\nh", attached: true },
            { type: "text", text: '{"type":"tool_reference","tool_name":"grep"}', attached: true },
          ],
          error: true,
        },
        { type: "result", call: "toolu_2", content: [], error: false },
        { type: "result", call: "toolu_3", content: [{ type: "text", text: "done" }], error: false },
        { type: "text", text: "go on" },
      ],
      calls: [],
      results: ["toolu_1", "toolu_2", "toolu_3"],
      mend: false,
    });
  });

  it("[P20] counts what only the server understands as text without its encrypted members, never as a call", () => {
    const content = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [{ type: "web_search_result", url: "u", title: "t", encrypted_content: "zzzz" }],
      },
      {
        type: "web_fetch_tool_result",
        tool_use_id: "srvtoolu_2",
        content: {
          type: "document",
          source: { type: "base64", media_type: "application/pdf", data: "AAAA" },
        },
      },
      { type: "fallback", from: "x", cache_control: { type: "ephemeral" } },
    ];
    const message = claude({ role: "assistant", content });
    expect(message).toMatchObject({ calls: [], results: [], role: "assistant", mend: false });
    expect(message.parts.map((part) => (part.type === "text" ? JSON.parse(part.text) : part))).toEqual([
      content[0],
      { ...content[1], content: [{ type: "web_search_result", url: "u", title: "t" }] },
      { type: "web_fetch_tool_result", tool_use_id: "srvtoolu_2", content: { type: "document" } },
      { type: "media", note: "application/pdf" },
      { type: "fallback", from: "x" },
    ]);
  });

  it("[P20] may be a system message in mid-conversation", () => {
    expect(claude({ role: "system", content: "now in French" })).toMatchObject({
      role: "system",
      parts: [{ type: "text", text: "now in French" }],
    });
  });
});

describe("the text that a user typed", () => {
  it("[P20] is the texts of a user message, a line each, and of nothing else", () => {
    const blocks = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    for (const dialect of [openAiChat, anthropic]) {
      const typed = (message: unknown) => dialect.typedText(dialect.read(utf8(message), "m"));
      expect(typed({ role: "user", content: "hello" })).toBe("hello");
      expect(typed({ role: "user", content: blocks })).toBe("a\nb");
      expect(typed({ role: "assistant", content: "hello" })).toBeUndefined();
      expect(typed({ role: "system", content: "hello" })).toBeUndefined();
    }
    const withResult = claude({ role: "user", content: [result, ...blocks] });
    expect(anthropic.typedText(withResult)).toBeUndefined();
    expect(startsTurn(withResult)).toBe(false);
  });

  it.each<DialectName>(["openai-chat", "anthropic"])(
    "[P20] survives as a message of our own in %s",
    (name) => {
      const dialect = dialectOf(name);
      const text = 'say "hi"\n\ud800 日本';
      const message = dialect.read(dialect.userText(text), "m");
      expect(message).toEqual({
        role: "user",
        parts: [{ type: "text", text }],
        calls: [],
        results: [],
        mend: false,
      });
      const closed = dialect.read(dialect.closedResult("toolu_1", text), "m");
      expect(closed).toEqual({
        role: "tool",
        parts: [
          { type: "result", call: "toolu_1", content: [{ type: "text", text }], error: name === "anthropic" },
        ],
        calls: [],
        results: ["toolu_1"],
        mend: false,
      });
    },
  );
});

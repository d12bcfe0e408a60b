import { describe, expect, it } from "vitest";
import { anthropic } from "../../src/dialects/anthropic.ts";
import { type DialectName, startsTurn } from "../../src/dialects/dialect.ts";
import { openAiChat } from "../../src/dialects/openai-chat.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { Refusal } from "../../src/failure.ts";
import { utf8 } from "../log/json-text.ts";

const openai = (message: unknown) => openAiChat.read(utf8(message), "messages[2]");
const claude = (message: unknown) => anthropic.read(utf8(message), "messages[2]");

function refusalOf(
  dialect: DialectName,
  message: unknown,
): { code: string; at: string | undefined; detail: string } {
  try {
    dialectOf(dialect).read(utf8(message), "messages[2]");
  } catch (error) {
    if (error instanceof Refusal) return { at: undefined, ...error.failure };
    throw error;
  }
  throw new Error("the message was accepted");
}

const call = { id: "call_1", type: "function", function: { name: "read", arguments: '{"path": "a"}' } };
const use = { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } };
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "done" };

describe("an OpenAI message", () => {
  it("[P20] of the user is read into texts and media, one part per block", () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
      { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" } },
      { type: "file", file: { file_id: "file_1" } },
      { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
    ];
    expect(openai({ role: "user", content })).toEqual({
      role: "user",
      parts: [
        { type: "text", text: "look" },
        { type: "media", note: "image/png" },
        { type: "media", note: "image" },
        { type: "media", note: "audio/wav" },
        { type: "media", note: "application/pdf" },
        { type: "media", note: "file" },
        { type: "media", note: "video" },
      ],
      calls: [],
      results: [],
      mend: false,
    });
  });

  it.each(["system", "developer"])("[P20] of role %s is a system message", (role) => {
    expect(openai({ role, content: "be brief" })).toMatchObject({
      role: "system",
      parts: [{ type: "text", text: "be brief" }],
    });
  });

  it("[P20] of the assistant holds thinking, text, refusal and calls of both kinds in that order", () => {
    const message = {
      role: "assistant",
      content: [
        { type: "text", text: "I read it" },
        { type: "refusal", refusal: "not that" },
      ],
      refusal: "no",
      reasoning_content: "hm",
      reasoning: "hm",
      tool_calls: [call, { id: "call_2", type: "custom", custom: { name: "shell", input: "ls -l" } }],
    };
    expect(openai(message)).toEqual({
      role: "assistant",
      parts: [
        { type: "thinking", text: "hm" },
        { type: "text", text: "I read it" },
        { type: "text", text: "not that" },
        { type: "text", text: "no" },
        { type: "call", id: "call_1", name: "read", args: '{"path": "a"}' },
        { type: "call", id: "call_2", name: "shell", args: "ls -l" },
      ],
      calls: ["call_1", "call_2"],
      results: [],
      mend: false,
    });
    expect(openai({ role: "assistant", content: "x", reasoning: "so" }).parts[0]).toEqual({
      type: "thinking",
      text: "so",
    });
    expect(openai({ role: "assistant", content: null, audio: { id: "a" } })).toMatchObject({
      parts: [{ type: "media", note: "audio" }],
      mend: false,
    });
  });

  it("[P20] of a tool is one result of texts, whether string or blocks, and may be empty", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "text", text: "" },
    ];
    expect(openai({ role: "tool", tool_call_id: "call_1", content })).toEqual({
      role: "tool",
      parts: [{ type: "result", call: "call_1", content, error: false }],
      calls: [],
      results: ["call_1"],
      mend: false,
    });
    expect(openai({ role: "tool", tool_call_id: "call_1", content: "" }).parts).toEqual([
      { type: "result", call: "call_1", content: [{ type: "text", text: "" }], error: false },
    ]);
  });

  it("[P20] keeps part types that nobody knows and counts them as their compact JSON", () => {
    expect(openai({ role: "user", content: [{ type: "novel", data: { deep: [1, 2] } }] }).parts).toEqual([
      { type: "text", text: '{"type":"novel","data":{"deep":[1,2]}}', attached: true },
    ]);
    expect(
      openai({ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] })
        .mend,
    ).toBe(false);
  });
});

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

describe("a media note", () => {
  it.each([
    ["data:text/html,<script>", "text/html"],
    ["data:image\\/webp;base64,AA", "image"],
    ["data:image/x\ny;base64,AA", "image"],
    [`data:image/${"a".repeat(200)};base64,AA`, "image"],
    ["data:image/svg+xml;charset=utf-8,x", "image/svg+xml"],
  ])("[P20] is a media type or a plain word for %j", (url, note) => {
    expect(openai({ role: "user", content: [{ type: "image_url", image_url: { url } }] }).parts).toEqual([
      { type: "media", note },
    ]);
  });

  it("[P20] is found where the client escapes its slashes", () => {
    const raw =
      '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image\\/png;base64,AA"}}]}';
    expect(openai(raw).parts).toEqual([{ type: "media", note: "image/png" }]);
  });
});

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

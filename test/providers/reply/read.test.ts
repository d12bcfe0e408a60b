import { describe, expect, it } from "vitest";
import { readReply } from "../../../src/providers/reply/read.ts";
import { text, utf8 } from "../../log/json-text.ts";
import { messagesOf } from "./streams.ts";

const chat = (message: unknown, more: object = {}, finish_reason: string | null = "stop") =>
  readReply(
    "openai-chat",
    utf8({ id: "c", model: "m", choices: [{ index: 0, message, finish_reason }], ...more }),
  );

describe("a chat body", () => {
  it("keeps its message byte for byte", () => {
    const message = '{ "role":"assistant", "content":"\\u00e9", "refusal":null, "n":9007199254740993 }';
    const body = `{"id":"c","created":7,"model":"m","choices":[{"finish_reason":"stop","message":${message}}],"usage":{"prompt_tokens":1}}`;
    const reply = readReply("openai-chat", utf8(body));
    expect(reply?.choices.map(({ messages }) => messages.map(text))).toEqual([[message]]);
    expect(reply).toMatchObject({
      usage: { prompt_tokens: 1 },
      finish: "stop",
      id: "c",
      created: 7,
      model: "m",
      usable: true,
    });
  });

  it.each([
    ["tool calls that are null", { content: "a", tool_calls: null }, { role: "assistant", content: "a" }],
    ["tool calls that are none", { content: "a", tool_calls: [] }, { role: "assistant", content: "a" }],
    [
      "audio data",
      { content: null, audio: { id: "au", data: "AA", transcript: "hi" } },
      { content: null, audio: { id: "au" }, role: "assistant" },
    ],
    [
      "a missing call id",
      { content: null, tool_calls: [{ type: "function", function: { name: "f", arguments: "{}" } }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ type: "function", function: { name: "f", arguments: "{}" }, id: "call_c_0_0" }],
      },
    ],
  ])("is mended only where the API would refuse it: %s", (_, message, expected) => {
    const reply = chat(message);
    expect(JSON.parse(messagesOf(reply!)[0]!)).toEqual(expected);
    expect(reply?.usable).toBe(true);
  });

  it.each([
    ["says nothing", chat({ role: "assistant", content: "" })],
    ["has no finish reason", chat({ role: "assistant", content: "a" }, {}, null)],
    ["broke off", chat({ role: "assistant", content: "a" }, {}, "error")],
    ["has no choices", readReply("openai-chat", utf8({ choices: [] }))],
    [
      "has choices without messages",
      readReply("openai-chat", utf8({ choices: [{ finish_reason: "stop" }, 3] })),
    ],
  ])("that %s is not usable", (_, reply) => {
    expect(reply?.usable).toBe(false);
  });
});

describe("an Anthropic body", () => {
  it("keeps its blocks byte for byte", () => {
    const block = '{"type":"tool_use", "id":"t1","name":"f","input":{"n": 1.50}}';
    const body = `{"id":"m1","model":"c","role":"assistant","content":[ {"type":"text","text":"\\u00e9"} ,${block}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`;
    const reply = readReply("anthropic", utf8(body));
    expect(messagesOf(reply!)).toEqual([
      `{"role":"assistant","content":[{"type":"text","text":"\\u00e9"},${block}]}`,
    ]);
    expect(reply).toMatchObject({ finish: "tool_use", id: "m1", model: "c", usable: true });
  });
});

describe("a body that is no reply", () => {
  it.each([
    ["openai-chat", "no JSON", "<html>"],
    ["openai-chat", "a list", "[]"],
    ["openai-chat", "an error", '{"error":{"message":"x"},"choices":[]}'],
    ["openai-chat", "of another shape", '{"content":[]}'],
    ["anthropic", "an error", '{"type":"error","error":{"type":"api_error"}}'],
    ["openai-responses", "running", '{"status":"in_progress","output":[]}'],
    ["openai-responses", "failed", '{"status":"failed","error":{"code":"x"},"output":[]}'],
    ["openai-responses", "of another shape", '{"choices":[]}'],
  ] as const)("of %s, %s, is none", (dialect, _, body) => {
    expect(readReply(dialect, utf8(body))).toBeUndefined();
  });
});

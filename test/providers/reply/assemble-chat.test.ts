import { describe, expect, it } from "vitest";
import { openAiChat } from "../../../src/dialects/openai-chat.ts";
import { usageOf } from "../../../src/providers/usage.ts";
import { utf8 } from "../../log/json-text.ts";
import { delta, onlyMessage, run, runFrames } from "./streams.ts";

const chat = (values: unknown[], n = 1) => run("openai-chat", values, n);
const calls = (...list: object[]) => delta({ tool_calls: list });
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const usageChunk = { id: "chatcmpl-1", model: "m-1", choices: [], usage };

interface Call {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

describe("a chat stream", () => {
  it("becomes the message that a client re-sends, and each chunk has its meaning", () => {
    const { kinds, meanings, reply, messages } = chat([
      delta({ role: "assistant", content: "", refusal: null }),
      delta({ content: "Hel" }),
      delta({ content: "lo" }),
      delta({}, "stop"),
      usageChunk,
      "[DONE]",
    ]);
    expect(kinds).toEqual(["opening", "content", "content", "terminal", "terminal", "terminal"]);
    expect(meanings[4]).toEqual({ kind: "terminal", usageOnly: true });
    expect(messages).toEqual(['{"role":"assistant","content":"Hello"}']);
    expect(reply).toMatchObject({
      usage,
      finish: "stop",
      model: "m-1",
      id: "chatcmpl-1",
      created: 7,
      usable: true,
    });
    expect(usageOf("openai-chat", reply.usage)).toMatchObject({ input: 5, output: 2 });
  });

  it.each<[string, object[], unknown[]]>([
    [
      "by index, their arguments in pieces",
      [
        calls({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }),
        calls({ index: 1, id: "b", type: "function", function: { name: "g", arguments: "" } }),
        calls({ index: 0, function: { arguments: '{"x": ' } }),
        calls({ index: 1, function: { arguments: "{}" } }),
        calls({ index: 0, function: { arguments: "1.0}" } }),
      ],
      [
        ["a", "f", '{"x": 1.0}'],
        ["b", "g", "{}"],
      ],
    ],
    [
      "whole and without an index",
      [
        calls(
          { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "b", type: "function", function: { name: "f", arguments: "[]" } },
        ),
      ],
      [
        ["a", "f", "{}"],
        ["b", "f", "[]"],
      ],
    ],
    [
      "without an index, in pieces",
      [
        calls({ id: "a", type: "function", function: { name: "f", arguments: "{" } }),
        calls({ function: { arguments: "}" } }),
        calls({ id: "a", function: { arguments: " " } }),
      ],
      [["a", "f", "{} "]],
    ],
    [
      "with empty ids and repeated names in later pieces",
      [
        calls({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{" } }),
        calls({ index: 0, id: "", type: "function", function: { name: "f", arguments: "}" } }),
        calls({ index: 0, id: null, function: { name: "", arguments: null } }),
      ],
      [["a", "f", "{}"]],
    ],
    [
      "all under index 0",
      [
        calls({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } }),
        calls({ index: 0, id: "b", type: "function", function: { name: "g", arguments: "{}" } }),
      ],
      [
        ["a", "f", "{}"],
        ["b", "g", "{}"],
      ],
    ],
    [
      "without ids, with arguments as a value",
      [
        calls({ function: { name: "f", arguments: { x: 1 } } }),
        calls({ function: { name: "g", arguments: "{}" } }),
      ],
      [
        ["call_chatcmpl1_0_0", "f", '{"x":1}'],
        ["call_chatcmpl1_0_1", "g", "{}"],
      ],
    ],
    [
      "cut by the output cap: the API takes any text, and so does the client's result",
      [calls({ index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"x' } })],
      [["a", "f", '{"x']],
    ],
  ])("has its calls %s", (_, deltas, expected) => {
    const found = chat([...deltas, delta({}, "tool_calls")]);
    const message = onlyMessage(found) as { content: unknown; tool_calls: Call[] };
    expect(message.content).toBeNull();
    const shown = message.tool_calls.map(({ id, function: body }) => [id, body.name, body.arguments]);
    expect(shown).toEqual(expected);
    expect(message.tool_calls.every(({ type }) => type === "function")).toBe(true);
    expect(found.kinds[0]).toBe("content");
    expect(found.reply.usable).toBe(true);
  });

  it("keeps custom calls and Gemini's signatures", () => {
    const signature = { google: { thought_signature: "s" } };
    const found = chat([
      calls({ index: 0, id: "a", type: "custom", custom: { name: "sh", input: "l" } }),
      calls({ index: 0, custom: { input: "s" } }),
      calls({ index: 1, id: "b", function: { name: "f", arguments: "{}" }, extra_content: signature }),
      delta({}, "tool_calls"),
    ]);
    expect(onlyMessage(found)).toEqual({
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "a", type: "custom", custom: { name: "sh", input: "ls" } },
        { id: "b", type: "function", function: { name: "f", arguments: "{}" }, extra_content: signature },
      ],
    });
  });

  it.each([
    ["reasoning_content", "a", "b", "ab"],
    ["reasoning", "a", "b", "ab"],
    ["refusal", "I ", "won't", "I won't"],
    ["reasoning_details", [{ type: "reasoning.text", text: "a" }], [{ data: "x" }], undefined],
  ])("keeps %s where it was sent", (key, first, second, expected) => {
    const found = chat([
      delta({ [key]: first }),
      delta({ [key]: second }),
      delta({ content: "c", [key]: null }, "stop"),
    ]);
    expect(onlyMessage(found)).toEqual({
      role: "assistant",
      content: "c",
      [key]: expected ?? [...first, ...second],
    });
    expect(found.kinds).toEqual(["content", "content", "terminal"]);
  });

  it("keeps numbers of reasoning details as they were written", () => {
    const chunk = '{"choices":[{"index":0,"delta":{"content":"a","reasoning_details":[{"n": 1.50}]}}]}';
    const { messages } = chat([chunk, delta({}, "stop")]);
    expect(messages).toEqual(['{"role":"assistant","content":"a","reasoning_details":[{"n": 1.50}]}']);
  });

  it("keeps audio by its id, and answers in parts as parts", () => {
    const audio = chat([delta({ audio: { id: "au_1" } }), delta({ audio: { data: "AA" } }, "stop")]);
    expect(onlyMessage(audio)).toEqual({ role: "assistant", content: null, audio: { id: "au_1" } });
    const thinking = { type: "thinking", thinking: [{ type: "text", text: "hm" }] };
    const parts = chat([
      delta({ content: [thinking] }),
      delta({ content: "a" }),
      delta({ content: [{ type: "text", text: "b" }] }, "stop"),
    ]);
    expect(onlyMessage(parts)).toEqual({
      role: "assistant",
      content: [thinking, { type: "text", text: "ab" }],
    });
  });

  it("of several choices ends with the last of them", () => {
    const { kinds, reply, messages } = chat(
      [
        delta({ content: "a" }, null, 1),
        delta({ content: "b" }, "length", 0),
        delta({ content: "c" }, null, 1),
        delta({}, "stop", 1),
        "[DONE]",
      ],
      2,
    );
    expect(kinds).toEqual(["content", "content", "content", "terminal", "terminal"]);
    expect(messages).toEqual(['{"role":"assistant","content":"b"}', '{"role":"assistant","content":"ac"}']);
    expect(reply.choices.map(({ index, finish }) => [index, finish])).toEqual([
      [0, "length"],
      [1, "stop"],
    ]);
    expect(reply.usable).toBe(true);
  });

  it("that gives fewer choices than asked for is whole all the same", () => {
    const { kinds, reply } = chat([delta({ content: "a" }, "stop"), "[DONE]"], 2);
    expect(kinds).toEqual(["content", "terminal"]);
    expect(reply.usable).toBe(true);
  });

  it("may tell its usage in the last content chunk, before any, or in every one", () => {
    const last = chat([{ ...delta({ content: "a" }), usage }, delta({}, "stop"), "[DONE]"]);
    expect(last.meanings[0]).toEqual({ kind: "content" });
    expect(last.reply.usage).toEqual(usage);
    const early = chat([{ ...usageChunk, usage: { prompt_tokens: 1 } }, delta({ content: "a" }, "stop")]);
    expect(early.meanings[0]).toEqual({ kind: "quiet", usageOnly: true });
  });

  it("begins with what a client does not need", () => {
    const { kinds } = runFrames("openai-chat", [
      utf8(": OPENROUTER PROCESSING\n\n"),
      utf8('data: {"id":"","choices":[],"prompt_filter_results":[]}\n\n'),
    ]);
    expect(kinds).toEqual(["quiet", "opening"]);
  });

  it.each([
    ["no finish reason", [delta({ content: "a" })]],
    ["[DONE] before a finish reason", [delta({ content: "a" }), "[DONE]"]],
    ["nothing", []],
    ["nothing said", [delta({ role: "assistant", content: "" }), delta({}, "stop")]],
    ["reasoning and nothing else", [delta({ reasoning_content: "hm" }), delta({}, "length")]],
    ["garbage in its midst", [delta({ content: "a" }), "{oops", delta({}, "stop")]],
    [
      "a call without a name",
      [calls({ index: 0, id: "a", function: { arguments: "{}" } }), delta({}, "stop")],
    ],
  ])("with %s is not usable", (_, values) => {
    expect(chat(values).reply.usable).toBe(false);
  });

  it.each([["{oops"], ["[1]"], ["1"], ['{"choices":[3]}']])("that says %s is garbage for good", (data) => {
    expect(chat([data, delta({ content: "a" })]).kinds).toEqual(["garbage", "garbage"]);
  });

  it("with the legacy function call is read whole, though the log does not take it", () => {
    const { reply, messages } = chat([
      delta({ function_call: { name: "f", arguments: "{" } }),
      delta({ function_call: { arguments: "}" } }, "function_call"),
    ]);
    expect(messages).toEqual([
      '{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}',
    ]);
    expect(() => openAiChat.read(reply.choices[0]!.messages[0]!, "reply")).toThrow("function_call");
    expect(reply.usable).toBe(false);
  });
});

import { describe, expect, it } from "vitest";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { utf8Bytes } from "../../../src/log/json-edit.ts";
import { createAssembler } from "../../../src/providers/reply/assemble.ts";
import type { Meaning } from "../../../src/providers/reply/reply.ts";

/** What a stream of such events means, one by one, and what comes of it. */
function read(dialect: WireDialect, events: (object | string)[], choices = 1) {
  const assembler = createAssembler(dialect, choices);
  const meanings = events.map((event): Meaning["kind"] => {
    const data = typeof event === "string" ? event : JSON.stringify(event);
    return assembler.push(utf8Bytes(`data: ${data}\n\n`)).kind;
  });
  const reply = assembler.reply();
  const messages = reply.choices.flatMap((choice) =>
    choice.messages.map((bytes) => JSON.parse(new TextDecoder().decode(bytes))),
  );
  return { meanings, reply, messages };
}

const delta = (value: object, finish_reason: string | null = null, index = 0) => ({
  choices: [{ index, delta: value, finish_reason }],
});
const end = [delta({}, "stop"), "[DONE]"];
const call = (value: object) => delta({ tool_calls: [value] });
const whole = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});

describe("calls of a streamed chat", () => {
  const a = whole("a", "read", '{"n":1}');
  const b = whole("b", "write", "{}");
  const piece = (index: number, text: string) => call({ index, function: { arguments: text } });
  it.each([
    [
      "interleaved",
      [
        call({ index: 0, ...whole("a", "read", "") }),
        call({ index: 1, ...whole("b", "write", "") }),
        piece(0, '{"n"'),
        piece(1, "{}"),
        piece(0, ":1}"),
      ],
    ],
    ["whole, without index", [delta({ tool_calls: [a, b] })]],
    ["all of index 0", [call({ index: 0, ...a }), call({ index: 0, ...b })]],
    ["from index 1 on", [call({ index: 1, ...a }), call({ index: 2, ...b })]],
    ["of a far index", [call({ index: 0, ...a }), call({ index: 1e9, ...b })]],
    [
      "with empty later ids, and the name again",
      [
        call({ index: 0, ...whole("a", "read", '{"n"') }),
        call({ index: 0, ...whole("", "read", ":1}") }),
        call({ index: 1, ...b }),
      ],
    ],
    [
      "with pieces of no index",
      [call(whole("a", "read", '{"n"')), call({ function: { arguments: ":1}" } }), call(b)],
    ],
    [
      "with arguments as an object",
      [call({ index: 0, ...a, function: { name: "read", arguments: { n: 1 } } }), call({ index: 1, ...b })],
    ],
  ])("[V32] %s", (_, events) => {
    const { messages, reply } = read("openai-chat", [...events, ...end]);
    expect(messages).toEqual([{ role: "assistant", content: null, tool_calls: [a, b] }]);
    expect(reply.usable).toBe(true);
  });

  it("[V32] custom tools have an input", () => {
    const events = [
      call({ index: 0, id: "c", type: "custom", custom: { name: "patch", input: "a" } }),
      call({ index: 0, custom: { input: "b" } }),
    ];
    const { messages, reply } = read("openai-chat", [...events, ...end]);
    expect(messages[0].tool_calls).toEqual([
      { id: "c", type: "custom", custom: { name: "patch", input: "ab" } },
    ]);
    expect(reply.usable).toBe(true);
  });
});

describe("other parts of a streamed chat", () => {
  it("[V32] an empty finish word ends nothing", () => {
    const { meanings, messages } = read("openai-chat", [
      delta({ role: "assistant", content: "" }, ""),
      delta({ content: "hel" }, ""),
      delta({ content: "lo" }, "stop"),
    ]);
    expect(meanings).toEqual(["opening", "content", "terminal"]);
    expect(messages).toEqual([{ role: "assistant", content: "hello" }]);
  });

  it("[V32] usage before the words ends nothing", () => {
    const usage = { prompt_tokens: 1 };
    const { meanings, reply } = read("openai-chat", [
      { choices: [], usage },
      delta({ content: "a" }),
      ...end,
      { choices: [], usage: { prompt_tokens: 2 } },
    ]);
    expect(meanings).toEqual(["quiet", "content", "terminal", "terminal", "terminal"]);
    expect(reply.usage).toEqual({ prompt_tokens: 2 });
  });

  it("[V32] one choice's end is not that of the others", () => {
    const { meanings, messages, reply } = read(
      "openai-chat",
      [
        delta({ content: "a" }),
        delta({ content: "b" }, null, 1),
        delta({}, "stop"),
        delta({ content: "c" }, null, 1),
        delta({}, "stop", 1),
      ],
      2,
    );
    expect(meanings.slice(0, 4)).not.toContain("terminal");
    expect(meanings.at(-1)).toBe("terminal");
    expect(messages.map(({ content }) => content)).toEqual(["a", "bc"]);
    expect(reply.usable).toBe(true);
  });

  it("[V33] errors and garbage are told as such", () => {
    expect(read("openai-chat", ["{"]).meanings).toEqual(["garbage"]);
    expect(read("openai-chat", [{ error: { message: "m", code: 429 } }]).meanings).toEqual(["error"]);
  });
});

describe("a streamed message", () => {
  const start = (index: number, content_block: object) => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const add = (index: number, value: object) => ({ type: "content_block_delta", index, delta: value });
  const stop = [{ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } }];
  const begin = { type: "message_start", message: { id: "m", usage: { input_tokens: 5, output_tokens: 1 } } };

  it("[V31] has all its blocks, and usage over usage", () => {
    const { messages, reply, meanings } = read("anthropic", [
      begin,
      { type: "ping" },
      start(0, { type: "redacted_thinking", data: "d" }),
      start(1, { type: "text", text: "", citations: null }),
      add(1, { type: "text_delta", text: "hey" }),
      add(1, { type: "citations_delta", citation: { n: 1 } }),
      add(1, { type: "citations_delta", citation: { n: 2 } }),
      start(2, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      add(2, { type: "input_json_delta", partial_json: '{"q":' }),
      add(2, { type: "input_json_delta", partial_json: "1.50}" }),
      start(3, { type: "tool_use", id: "t", name: "none", input: {} }),
      start(4, { type: "text", text: "" }),
      ...stop,
    ]);
    expect(meanings.slice(0, 2)).toEqual(["opening", "quiet"]);
    expect(messages[0].content).toEqual([
      { type: "redacted_thinking", data: "d" },
      { type: "text", text: "hey", citations: [{ n: 1 }, { n: 2 }] },
      { type: "server_tool_use", id: "s", name: "web_search", input: { q: 1.5 } },
      { type: "tool_use", id: "t", name: "none", input: {} },
    ]);
    expect(reply).toMatchObject({ usable: true, usage: { input_tokens: 5, output_tokens: 9 } });
  });

  it("[V33] with a call whose input broke off is not usable", () => {
    const open = [begin, start(0, { type: "tool_use", id: "t", name: "n", input: {} })];
    const broken = [...open, add(0, { type: "input_json_delta", partial_json: '{"q":' }), ...stop];
    expect(read("anthropic", broken).reply.usable).toBe(false);
  });
});

describe("a streamed response", () => {
  const item = { type: "custom_tool_call", call_id: "c", name: "patch", input: "x" };
  const done = { type: "response.output_item.done", output_index: 0, item };

  it("[V32] whose last event repeats no items has those that were done", () => {
    for (const response of [{ status: "completed", output: [] }, { output: [] }]) {
      const { messages, reply } = read("openai-responses", [done, { type: "response.completed", response }]);
      expect(messages).toEqual([item]);
      expect(reply).toMatchObject({ usable: true, finish: "completed" });
    }
  });

  it("[V33] that failed, or never ended, is not usable", () => {
    const failed = { type: "response.failed", response: { error: { code: "server_error", message: "m" } } };
    const { meanings, reply } = read("openai-responses", [done, failed]);
    expect(meanings).toEqual(["content", "error"]);
    expect(reply.usable).toBe(false);
    expect(read("openai-responses", [done, "[DONE]"]).reply.usable).toBe(false);
  });
});

import { describe, expect, it } from "vitest";
import { anthropic } from "../../../src/dialects/anthropic.ts";
import { usageOf } from "../../../src/providers/usage.ts";
import { utf8 } from "../../log/json-text.ts";
import { claudeStream, onlyMessage, run, runFrames, sse } from "./streams.ts";

const claude = (...args: Parameters<typeof claudeStream>) => run("anthropic", claudeStream(...args));
const text = (value: string) => ({ type: "text_delta", text: value });
const json = (partial_json: string) => ({ type: "input_json_delta", partial_json });
const use = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const hello = [{ type: "text", text: "" }, text("Hel"), text("lo")] as const;

describe("an Anthropic stream", () => {
  it("becomes the message that a client re-sends, and each event has its meaning", () => {
    const events = claudeStream([hello]);
    events.splice(1, 0, { type: "ping" });
    const { kinds, reply, messages } = run("anthropic", events);
    expect(kinds).toEqual([
      "opening",
      "quiet",
      "opening",
      "content",
      "content",
      "content",
      "terminal",
      "terminal",
    ]);
    expect(messages).toEqual(['{"role":"assistant","content":[{"type":"text","text":"Hello"}]}']);
    expect(reply).toMatchObject({ finish: "end_turn", model: "c-1", id: "msg_1", usable: true });
    expect(reply.usage).toEqual({ input_tokens: 7, output_tokens: 3 });
    expect(usageOf("anthropic", reply.usage)).toMatchObject({ input: 7, output: 3 });
  });

  it("keeps thinking, server tools, citations and compaction, in order", () => {
    const citation = { type: "web_search_result_location", url: "u" };
    const result = { type: "web_search_tool_result", tool_use_id: "s1", content: [{ title: "t" }] };
    const found = claude([
      [
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "h" },
        { type: "thinking_delta", thinking: "m" },
        { type: "signature_delta", signature: "sig==" },
      ],
      [
        { type: "thinking", thinking: "", signature: "" },
        { type: "signature_delta", signature: "empty==" },
      ],
      [{ type: "redacted_thinking", data: "xx" }],
      [{ type: "server_tool_use", id: "s1", name: "web_search", input: {} }, json('{"q":'), json("1}")],
      [result],
      [
        { type: "text", text: "", citations: [] },
        { type: "citations_delta", citation },
        text("a"),
        { type: "future_delta", x: 1 },
      ],
      [
        { type: "compaction", content: null },
        { type: "compaction_delta", content: "sum", encrypted_content: "e" },
      ],
      [use("t1")],
      [use("t2"), json(""), json('{"n": 1.0}')],
    ]);
    expect(onlyMessage(found)).toEqual({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "sig==" },
        { type: "thinking", thinking: "", signature: "empty==" },
        { type: "redacted_thinking", data: "xx" },
        { type: "server_tool_use", id: "s1", name: "web_search", input: { q: 1 } },
        result,
        { type: "text", text: "a", citations: [citation] },
        { type: "compaction", content: "sum", encrypted_content: "e" },
        { type: "tool_use", id: "t1", name: "read", input: {} },
        { type: "tool_use", id: "t2", name: "read", input: { n: 1 } },
      ],
    });
    expect(found.messages[0]).toContain('"input":{"n": 1.0}');
    const read = anthropic.read(found.reply.choices[0]!.messages[0]!, "reply");
    expect(read.calls).toEqual(["t1", "t2"]);
    expect(read.mend).toBe(false);
  });

  it.each<[string, Parameters<typeof claudeStream>[0], string[]]>([
    ["a call whose input was cut", [hello, [use("t1"), json('{"path": "a')]], ["text"]],
    ["a call whose input is no object", [hello, [use("t1"), json("[1]")]], ["text"]],
    [
      "thinking at its end",
      [
        hello,
        [
          { type: "thinking", thinking: "" },
          { type: "thinking_delta", thinking: "h" },
        ],
      ],
      ["text"],
    ],
    ["blank texts", [[{ type: "text", text: "" }, text(" \n")], [use("t1")]], ["tool_use"]],
    [
      "thinking that a cut call left at the end",
      [hello, [{ type: "redacted_thinking", data: "x" }], [use("t1"), json("{")]],
      ["text"],
    ],
  ])("leaves out what the API would refuse: %s", (_, blocks, kept) => {
    const found = claude(blocks, "max_tokens");
    const { content } = onlyMessage(found) as { content: { type: string }[] };
    expect(content.map(({ type }) => type)).toEqual(kept);
    expect(found.reply.usable).toBe(true);
    expect(anthropic.read(found.reply.choices[0]!.messages[0]!, "reply").mend).toBe(false);
  });

  it.each([
    ["no stop reason", claudeStream([hello]).slice(0, -2)],
    ["nothing", []],
    ["no blocks", claudeStream([])],
    ["a cut call and nothing else", claudeStream([[use("t1"), json("{")]], "max_tokens")],
    [
      "an error after its text",
      [...claudeStream([hello]).slice(0, 4), { type: "error", error: { type: "overloaded_error" } }],
    ],
  ])("with %s is not usable", (_, events) => {
    expect(run("anthropic", events).reply.usable).toBe(false);
  });

  it("that stops without a reason is garbage", () => {
    const events = [...claudeStream([hello]).slice(0, -2), { type: "message_stop" }];
    expect(run("anthropic", events).kinds.at(-1)).toBe("garbage");
  });

  it("is garbage where a block grows that never began", () => {
    const events = [{ type: "content_block_delta", index: 0, delta: text("a") }];
    expect(run("anthropic", events).kinds).toEqual(["garbage"]);
    expect(run("anthropic", [{ type: "content_block_start", index: 0 }]).kinds).toEqual(["garbage"]);
  });

  it("with numbers that are null keeps the earlier ones", () => {
    const events = claudeStream([hello]);
    events[events.length - 2] = {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { input_tokens: null, output_tokens: 9 },
    };
    expect(run("anthropic", events).reply.usage).toEqual({ input_tokens: 7, output_tokens: 9 });
  });

  it("passes over events that are not known, and takes the type from the frame where data has none", () => {
    const frames = [
      sse(claudeStream([])[0]),
      sse({ type: "future_event" }),
      utf8("event: ping\ndata: {}\n\n"),
    ];
    expect(runFrames("anthropic", frames).kinds).toEqual(["opening", "opening", "quiet"]);
  });
});

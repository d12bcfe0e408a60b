import { describe, expect, it } from "vitest";
import { detectFormat, importTranscript } from "../../../cli/import/detect.ts";
import { importOpenAiChat } from "../../../cli/import/openai-chat.ts";
import { importPi } from "../../../cli/import/pi.ts";
import { brief, ccUser, lines, piCall, piHeader, piMessage, piResult, text } from "./samples.ts";

const say = (content: unknown[], more: Record<string, unknown> = {}) =>
  piMessage({ role: "assistant", content, stopReason: "stop", ...more });
const ask = (words: string, more: Record<string, unknown> = {}) =>
  piMessage({ role: "user", content: [text(words)] }, more);

const piCases: [name: string, text: string, messages: string[], skipped: Record<string, number>][] = [
  [
    "messages, calls and results in order",
    lines(
      piHeader(),
      ask("go"),
      say([text("look"), piCall("a"), piCall("b")]),
      piResult("a"),
      piResult("b"),
      say([text("done")]),
    ),
    ["user go", "assistant look a b", "results a", "results b", "assistant done"],
    {},
  ],
  [
    "two objects glued on one line are a broken line",
    lines(
      piHeader(),
      ask("go"),
      `${say([text("lost")])}{"type":"compaction","summary":"s"}`,
      say([text("hi")]),
    ),
    ["user go", "assistant hi"],
    { "broken-line": 1 },
  ],
  [
    "recorded compactions and entries of the interface are skipped",
    lines(
      piHeader(),
      JSON.stringify({ type: "model_change" }),
      ask("go"),
      JSON.stringify({ type: "compaction", summary: "s", firstKeptEntryIndex: 1 }),
      say([text("hi")]),
    ),
    ["user go", "assistant hi"],
    { interface: 1, "recorded-compaction": 1 },
  ],
  [
    "a command that the user ran is a user text, unless it is kept from the model",
    lines(
      piHeader(),
      piMessage({
        role: "bashExecution",
        command: "ls",
        output: "a.ts",
        exitCode: 1,
        cancelled: false,
        truncated: false,
      }),
      piMessage({ role: "bashExecution", command: "secret", output: "", excludeFromContext: true }),
    ),
    ["user The user ran this command: ls\na.ts\n(exit code 1)"],
    { excluded: 1 },
  ],
  [
    "of a reply that broke off only what was said and the calls with results are kept",
    lines(
      piHeader(),
      ask("go"),
      say([], { stopReason: "error" }),
      say([text("half")], { stopReason: "aborted" }),
      ask("again"),
      say([piCall("a"), piCall("b")], { stopReason: "aborted" }),
      piResult("a"),
      ask("more"),
      say([piCall("c")], { stopReason: "aborted" }),
    ),
    ["user go", "assistant half", "user again", "assistant a", "results a", "user more"],
    { empty: 2, "aborted-call": 2 },
  ],
  [
    "a call without a result stays open, and a user text waits for the results",
    lines(piHeader(), ask("go"), say([piCall("a"), piCall("b")]), ask("wait"), piResult("b")),
    ["user go", "assistant a b", "results b", "user wait"],
    {},
  ],
  [
    "an id that is used twice is paired in order",
    lines(
      piHeader(),
      ask("go"),
      say([piCall("a")]),
      piResult("a"),
      say([piCall("a")]),
      piResult("a"),
      piResult("a"),
    ),
    ["user go", "assistant a", "results a", "assistant a", "results a"],
    { "result-without-call": 1 },
  ],
  [
    "the same id twice in one reply is one call",
    lines(piHeader(), ask("go"), say([piCall("a"), piCall("a")]), piResult("a")),
    ["user go", "assistant a", "results a"],
    { "duplicate-call": 1 },
  ],
  [
    "thinking without a signature and empty texts are skipped",
    lines(
      piHeader(),
      ask("go"),
      say([
        { type: "thinking", thinking: "a", thinkingSignature: "s" },
        { type: "thinking", thinking: "b" },
        text(""),
        text("hi"),
      ]),
    ),
    ["user go", "assistant thinking hi"],
    { thinking: 1, empty: 1 },
  ],
  [
    "of a tree only the path to the last entry is played",
    lines(
      piHeader(3),
      ask("go", { id: "1", parentId: null }),
      say([text("dead end")]).replace('"type":"message"', '"type":"message","id":"2","parentId":"1"'),
      say([text("hi")]).replace('"type":"message"', '"type":"message","id":"3","parentId":"1"'),
      JSON.stringify({ type: "branch_summary", id: "4", parentId: "3", summary: "what was tried" }),
      JSON.stringify({ type: "custom_message", id: "5", parentId: "4", content: "mind the tide" }),
    ),
    ["user go", "assistant hi", "user what was tried", "user mind the tide"],
    { "off-branch": 1 },
  ],
];

describe("import of pi sessions", () => {
  it.each(piCases)("%s", (_name, transcript, messages, skipped) => {
    const session = importPi(transcript);
    expect(brief(session.messages)).toEqual(messages);
    expect(session.skipped).toEqual(skipped);
    expect(session.dialect).toBe("anthropic");
  });

  it("writes Anthropic's blocks: images, inputs, errors", () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const session = importPi(
      lines(
        piHeader(),
        ask("go"),
        say([piCall("call_1|fc_2")]),
        piResult("call_1|fc_2", [text("no"), image], true),
      ),
    );
    const source = { type: "base64", media_type: "image/png", data: "AAAA" };
    expect(session.messages.slice(1).map(({ json }) => JSON.parse(json))).toEqual([
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "call_1_fc_2", name: "read", input: { path: "a.ts" } }],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "call_1_fc_2",
            content: [text("no"), { type: "image", source }],
            is_error: true,
          },
        ],
      },
    ]);
  });
});

const chatCall = (id: string) => ({
  id,
  type: "function",
  function: { name: "bash", arguments: '{"command":"ls"}' },
});
const chatLog = (...messages: unknown[]) => JSON.stringify({ info: {}, messages, trajectory_format: "t" });

const chatCases: [name: string, text: string, messages: string[], skipped: Record<string, number>][] = [
  [
    "calls, results and the exit of the logger",
    chatLog(
      { role: "user", content: "go" },
      { role: "assistant", content: "", tool_calls: [chatCall("a"), chatCall("b")] },
      { role: "tool", tool_call_id: "a", content: "done" },
      { role: "user", content: "wait" },
      { role: "tool", tool_call_id: "b", content: "" },
      { role: "assistant", content: "done" },
      { role: "exit", content: "Submitted" },
    ),
    ["user go", "assistant  a b", "results a", "results b", "user wait", "assistant done"],
    { exit: 1 },
  ],
  [
    "results without a call and messages that say nothing",
    chatLog(
      { role: "user", content: "go" },
      { role: "tool", tool_call_id: "x", content: "?" },
      { role: "assistant", content: null },
      { role: "user", content: "" },
      "text",
      { role: "poet" },
    ),
    ["user go"],
    { "result-without-call": 1, empty: 2, unreadable: 2 },
  ],
];

describe("import of Chat Completions logs", () => {
  it.each(chatCases)("%s", (_name, transcript, messages, skipped) => {
    const session = importOpenAiChat(transcript);
    expect(brief(session.messages)).toEqual(messages);
    expect(session.skipped).toEqual(skipped);
  });

  it("takes leading system messages and tools as the envelope, and only the logger's own field away", () => {
    const reply = { role: "assistant", content: "hi", reasoning_content: "hm", function_call: null };
    const session = importOpenAiChat(
      JSON.stringify({
        messages: [
          { role: "system", content: "be kind", extra: 1 },
          { role: "user", content: "go" },
          { ...reply, extra: { raw: 1 } },
        ],
        tools: [{ type: "function", function: { name: "bash" } }],
      }),
    );
    expect(session.system).toEqual([{ role: "system", content: "be kind" }]);
    expect(session.tools).toHaveLength(1);
    expect(session.messages.map(({ json }) => JSON.parse(json))).toEqual([
      { role: "user", content: "go" },
      reply,
    ]);
  });
});

describe("the format of a transcript", () => {
  it.each([
    ["claude-code", lines("// note", JSON.stringify({ type: "summary" }), ccUser("go"))],
    ["pi", lines(piHeader(3), ask("go"))],
    ["openai-chat", chatLog({ role: "user", content: "go" })],
    [
      undefined,
      JSON.stringify({ messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] }] }),
    ],
    [undefined, JSON.stringify({ info: {}, messages: [{ info: { role: "user" }, parts: [] }] })],
    [
      undefined,
      lines(
        JSON.stringify({ type: "session_meta", payload: {} }),
        JSON.stringify({ type: "user", content: "x" }),
      ),
    ],
    [undefined, "just text"],
    [undefined, ""],
  ])("is %s", (format, transcript) => {
    expect(detectFormat(transcript)).toBe(format);
  });

  it("may be forced, and an unknown one is refused with a sentence", () => {
    expect(importTranscript(ccUser("go"), "pi").messages).toEqual([]);
    expect(() => importTranscript("just text")).toThrow("no known transcript format");
  });
});

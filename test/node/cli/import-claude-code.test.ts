import { describe, expect, it } from "vitest";
import { importClaudeCode } from "../../../cli/import/claude-code.ts";
import { brief, ccAssistant, ccUser, lines, result, text, use } from "./samples.ts";

const sidechain = { isSidechain: true };
const boundary = JSON.stringify({
  type: "system",
  subtype: "compact_boundary",
  content: "Conversation compacted",
});
const thinking = (words: string, signature?: string) => ({ type: "thinking", thinking: words, signature });

/** What a transcript becomes, and what is counted as skipped. */
const cases: [name: string, text: string, messages: string[], skipped: Record<string, number>][] = [
  [
    "lines of one message id are one message, also with results between them",
    lines(
      ccUser("go"),
      ccAssistant("m1", [text("both")]),
      ccAssistant("m1", [use("a")]),
      ccUser([result("a")]),
      ccAssistant("m1", [use("b")]),
      ccUser([result("b")]),
    ),
    ["user go", "assistant both a b", "results a", "results b"],
    {},
  ],
  [
    "a message id that comes back after another one is not merged, and its texts are a copy",
    lines(
      ccUser("go"),
      ccAssistant("m1", [text("one")]),
      ccAssistant("m2", [text("two")]),
      ccAssistant("m1", [text("one")]),
      ccAssistant("m1", [use("new")]),
      ccUser([result("new")]),
    ),
    ["user go", "assistant one", "assistant two", "assistant new", "results new"],
    { "resumed-copy": 1 },
  ],
  [
    "a resumed copy is skipped with its results, and its user texts are kept",
    lines(
      ccUser("go"),
      ccAssistant("m1", [use("a")]),
      ccUser([result("a", "first")]),
      ccAssistant("m2", [text("done")]),
      ccUser("go"),
      ccAssistant("m1", [use("a")]),
      ccUser([result("a", "again")]),
      ccAssistant("m2", [text("done")]),
      ccUser("next"),
    ),
    ["user go", "assistant a", "results a", "assistant done", "user go", "user next"],
    { "resumed-copy": 3 },
  ],
  [
    "a call that is played under another id is a copy too",
    lines(
      ccUser("go"),
      ccAssistant("m1", [use("a")]),
      ccUser([result("a")]),
      ccAssistant("m9", [use("a"), text("new")]),
    ),
    ["user go", "assistant a", "results a", "assistant new"],
    { "resumed-copy": 1 },
  ],
  [
    "recorded compactions and their summaries are skipped",
    lines(
      ccUser("go"),
      ccAssistant("m1", [text("hi")]),
      boundary,
      ccUser("This session is being continued", { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
      ccUser("on"),
    ),
    ["user go", "assistant hi", "user on"],
    { "recorded-compaction": 2 },
  ],
  [
    "sidechains are skipped",
    lines(ccUser("go"), ccUser("side", sidechain), ccAssistant("m1", [text("hi")])),
    ["user go", "assistant hi"],
    { sidechain: 1 },
  ],
  [
    "results without a call are skipped",
    lines(ccUser("go"), ccUser([result("nobody")]), ccUser([{ type: "tool_result", content: "no id" }])),
    ["user go"],
    { "result-without-call": 2 },
  ],
  [
    "a call without a result stays open",
    lines(ccUser("go"), ccAssistant("m1", [use("a"), use("b")]), ccUser([result("b")]), ccUser("stop")),
    ["user go", "assistant a b", "results b", "user stop"],
    {},
  ],
  [
    "a user text between a call and its result waits until after the results",
    lines(
      ccUser("go"),
      ccAssistant("m1", [use("a")]),
      ccAssistant("m1", [use("b")]),
      ccUser("wait"),
      ccUser([result("b")]),
      ccUser([result("a"), text("and this")]),
    ),
    ["user go", "assistant a b", "results b", "results a", "user wait", "user and this"],
    {},
  ],
  [
    "a late result goes back behind its call",
    lines(
      ccUser("go"),
      ccAssistant("m1", [use("a")]),
      ccAssistant("m2", [text("meanwhile")]),
      ccUser([result("a")]),
    ),
    ["user go", "assistant a", "results a", "assistant meanwhile"],
    {},
  ],
  [
    "results of one line stay one message, less those that are not played",
    lines(
      ccUser("go"),
      ccAssistant("m1", [use("a"), use("b")]),
      ccUser([result("a"), result("x"), result("b")]),
    ),
    ["user go", "assistant a b", "results a b"],
    { "result-without-call": 1 },
  ],
  [
    "messages of the tool about API errors are skipped",
    lines(
      ccUser("go"),
      ccAssistant("e1", [text("API Error: 529")], { model: "<synthetic>" }),
      ccAssistant("m1", [text("hi")]),
    ),
    ["user go", "assistant hi"],
    { "api-error": 1 },
  ],
  [
    "lines of the interface are skipped, and user texts marked as meta are kept",
    lines(
      JSON.stringify({ type: "summary", summary: "a title" }),
      JSON.stringify({ type: "progress", data: {} }),
      JSON.stringify({ type: "system", subtype: "stop_hook_summary" }),
      JSON.stringify({ type: "attachment", attachment: { type: "todo_reminder" } }),
      ccUser("go", { isMeta: true }),
      ccUser("shown only", { isVisibleInTranscriptOnly: true }),
    ),
    ["user go"],
    { interface: 5 },
  ],
  [
    "a prompt that was queued is a user text",
    lines(
      ccUser("go"),
      ccAssistant("m1", [use("a")]),
      JSON.stringify({ type: "attachment", attachment: { type: "queued_command", prompt: "faster" } }),
      ccUser([result("a")]),
    ),
    ["user go", "assistant a", "results a", "user faster"],
    {},
  ],
  [
    "broken lines are counted and skipped",
    lines(
      "// a comment",
      ccUser("go"),
      '{"type":"user"',
      "42",
      '"text"',
      "",
      JSON.stringify({ type: "user", message: { role: "user" } }),
      JSON.stringify({ silly: true }),
    ),
    ["user go"],
    { "broken-line": 6 },
  ],
  [
    "empty texts are skipped",
    lines(
      ccUser("go"),
      ccUser("  \n"),
      ccUser([]),
      ccUser([text("")]),
      ccAssistant("m1", [text(" "), text("hi")]),
      ccAssistant("m2", [text("")]),
    ),
    ["user go", "assistant hi"],
    { empty: 5 },
  ],
  [
    "thinking is kept with its signature, skipped without it and at the end of a message",
    lines(
      ccUser("go"),
      ccAssistant("m1", [thinking("x", "sig"), thinking("y"), use("a"), thinking("z", "sig")]),
      ccUser([result("a")]),
      ccAssistant("m2", [thinking("alone", "sig")]),
    ),
    ["user go", "assistant thinking a", "results a"],
    { thinking: 3, empty: 1 },
  ],
  [
    "what stands before the first user text is skipped",
    lines(
      ccAssistant("m0", [use("a")]),
      ccUser([result("a")]),
      ccAssistant("m1", [text("hi")]),
      ccUser("go"),
      ccAssistant("m2", [text("yes")]),
    ),
    ["user go", "assistant yes"],
    { "before-first-user": 3 },
  ],
];

describe("import of Claude Code sessions", () => {
  it.each(cases)("%s", (_name, transcript, messages, skipped) => {
    const session = importClaudeCode(transcript);
    expect(brief(session.messages)).toEqual(messages);
    expect(session.skipped).toEqual(skipped);
  });

  it("says which lines are broken, and why", () => {
    const { broken } = importClaudeCode(
      lines(ccUser("go"), "{oops", "[1]", JSON.stringify({ type: "user" })),
    );
    expect(broken).toEqual([
      { line: 2, why: "not one JSON value" },
      { line: 3, why: "not a JSON object" },
      { line: 4, why: "no message" },
    ]);
  });

  it("keeps the fields of blocks, errors and images, and turns strange result blocks into text", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const failed = { ...result("a", [image, { type: "tool_reference", tool_name: "x" }]), is_error: true };
    const { messages } = importClaudeCode(
      lines(ccUser([image]), ccAssistant("m1", [use("a")]), ccUser([failed])),
    );
    expect(messages.map(({ json }) => JSON.parse(json))).toEqual([
      { role: "user", content: [image] },
      { role: "assistant", content: [use("a")] },
      {
        role: "user",
        content: [{ ...failed, content: [image, text('{"type":"tool_reference","tool_name":"x"}')] }],
      },
    ]);
  });

  it("makes ids that the provider takes", () => {
    const { messages } = importClaudeCode(
      lines(ccUser("go"), ccAssistant("m1", [use("a|b c")]), ccUser([result("a|b c")])),
    );
    expect(brief(messages)).toEqual(["user go", "assistant a_b_c", "results a_b_c"]);
  });
});

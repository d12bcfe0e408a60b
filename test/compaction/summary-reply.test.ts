import { describe, expect, it } from "vitest";
import { frameCheckpoint } from "../../src/compaction/checkpoint.ts";
import { checkReply, type Refused } from "../../src/compaction/summary-reply.ts";
import { countTokens as count } from "../../src/meter/vocabulary.ts";
import type { ModelReply } from "../../src/providers/provider.ts";

const limits = { cap: 1_000, spanPrice: 5_000, framePrice: 200, count };
const reply = (text: string, more: Partial<ModelReply> = {}): ModelReply => ({
  text,
  toolCalls: 0,
  finish: "stop",
  finishReason: "stop",
  ...more,
});
const cut = { finish: "length", finishReason: "max_tokens" } as const;

describe("a summary reply", () => {
  it("[C90] [DSH-097] that ended by itself is taken as its text, with its exact tokens", () => {
    expect(checkReply(reply("  ## User's intent\nA boat.\n"), limits)).toEqual({
      ok: true,
      text: "## User's intent\nA boat.",
      tokens: count("## User's intent\nA boat."),
    });
  });

  const refusals: [string, ModelReply, Refused][] = [
    [
      "[DSH-097] [OC-023] [report B37] with a tool call beside the text (re-based: refused, never executed)",
      reply("A fine summary.", { toolCalls: 1 }),
      "tool-call",
    ],
    [
      "[report B37] that stopped for a tool",
      reply("", { finish: "tool", finishReason: "tool_use" }),
      "tool-call",
    ],
    ["that writes a call as JSON", reply('{"name":"bash","arguments":{"command":"ls"}}'), "tool-call"],
    ["[DSH-099] [PI-021] that was cut at the output cap", reply("A fine summary that", cut), "truncated"],
    ["[CLI-013] whose output went into thinking", reply("", cut), "truncated"],
    ["[DSH-100] [KIMI-015] [KIMI-016] [report B36] of thinking alone", reply(""), "empty"],
    ["[KIMI-014] [report B42] of blanks", reply(" \n\t "), "empty"],
    [
      "[DSH-101] of an image alone (re-based: media never reach the text)",
      reply("![](data:image/png;base64,AAAA)"),
      "markup-only",
    ],
    [
      "[report B39] of tool markup",
      reply(
        '<function_calls>\n<invoke name="ls"><parameter name="path">/a</parameter></invoke>\n</function_calls>',
      ),
      "markup-only",
    ],
    [
      "[report B39] of thinking written into the text",
      reply("<think>Let me see what happened.</think>"),
      "markup-only",
    ],
    ["of thinking that never ends", reply("<think>Let me see what"), "markup-only"],
    ["of an empty frame", reply('<compacted-summary by="x">\n</compacted-summary>'), "markup-only"],
    ["of tags and rules", reply("<summary></summary>\n---\n```\n```"), "markup-only"],
    ["that a filter withheld", reply("I", { finish: "filter", finishReason: "refusal" }), "filtered"],
    [
      "that ended for a reason nobody knows",
      reply("A fine summary.", { finish: "other", finishReason: "pause_turn" }),
      "truncated",
    ],
  ];
  it.each(refusals)("[C91] %s is refused", (_, given, refused) => {
    const checked = checkReply(given, limits);
    expect(checked).toMatchObject({ ok: false, refused });
    if (!checked.ok) expect(checked.correction).toMatch(/^It .+\.$/);
  });

  it("[C91] of a server that follows no standard may end in its own words", () => {
    expect(checkReply(reply("Fine.", { finish: "other", finishReason: "eos" }), limits).ok).toBe(true);
  });

  it("[C92] over the cap with its frame is refused, one token under is not", () => {
    const words = "stone ".repeat(799).trim();
    expect(count(words)).toBe(799);
    expect(checkReply(reply(words), { ...limits, cap: 999 }).ok).toBe(true);
    expect(checkReply(reply(words), { ...limits, cap: 998 })).toMatchObject({
      refused: "over-cap",
      correction: expect.stringContaining("at most 399 words"),
    });
  });

  it("[C92] [GEM-012] must cost less with its frame than the span it stands for", () => {
    const words = "stone ".repeat(100).trim();
    expect(checkReply(reply(words), { ...limits, spanPrice: 301 }).ok).toBe(true);
    expect(checkReply(reply(words), { ...limits, spanPrice: 300 })).toMatchObject({ refused: "not-smaller" });
    expect(checkReply(reply(words), { ...limits, spanPrice: 100 })).toMatchObject({ refused: "not-smaller" });
  });

  it("[C92] that is far over the cap is refused without being counted", () => {
    const counting = (): number => {
      throw new Error("counted");
    };
    expect(checkReply(reply("x".repeat(700_000)), { ...limits, count: counting })).toMatchObject({
      refused: "over-cap",
    });
  });

  const wrapped: [string, string][] = [
    ["thinking in front of it", "<thinking>\nhm </b>\n</thinking>\n\nThe boat floats."],
    ["a code fence", "```markdown\nThe boat floats.\n```"],
    ["a summary element", "<summary>\nThe boat floats.\n</summary>"],
    [
      "our own frame",
      '<compacted-summary by="x" from="1" to="2" messages="2">\nThe boat floats.\n</compacted-summary>',
    ],
    ["an unclosed frame", "<compacted-summary>\nThe boat floats."],
    [
      "all of them",
      "<think>x</think>```\n<compacted-summary>\n<summary>The boat floats.</summary>\n</compacted-summary>\n```",
    ],
  ];
  it.each(wrapped)("[C93] loses %s", (_, text) => {
    expect(checkReply(reply(text), limits)).toMatchObject({ ok: true, text: "The boat floats." });
  });

  it("[C93] [DSH-127] that copies an older checkpoint loses its note and its requests, which the frame states itself", () => {
    const label = { by: "a/b", from: 1, to: 9, messages: 9 };
    const { text } = frameCheckpoint({
      text: "The boat floats.",
      firstRequest: "build",
      newestRequest: "paint",
      cap: 900,
      count,
      label,
    });
    expect(checkReply(reply(text), limits)).toMatchObject({ ok: true, text: "The boat floats." });
  });

  it("[C93] keeps tags, fences and JSON that are part of the summary", () => {
    for (const text of [
      "Use `<tool_call>` here.\n```ts\nx\n```\nDone",
      "```ts\na\n```\nand\n```ts\nb\n```",
      '{"boat": "floats"}',
      "<b>Bold</b> claim",
    ]) {
      expect(checkReply(reply(text), limits)).toMatchObject({ ok: true, text });
    }
  });
});

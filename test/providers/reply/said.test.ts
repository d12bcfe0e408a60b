import { describe, expect, it } from "vitest";
import { utf8Bytes } from "../../../src/log/json-edit.ts";
import { saidIn } from "../../../src/providers/reply/said.ts";

const frame = (data: unknown, event?: string) =>
  utf8Bytes(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
const chunk = (delta: object, index = 0) => frame({ choices: [{ index, delta, finish_reason: null }] });
const block = (delta: object) => frame({ type: "content_block_delta", index: 0, delta });

describe("[W11] what a frame says", () => {
  it.each([
    ["openai-chat", "its text", chunk({ content: "Hé" }), "Hé"],
    ["openai-chat", "nothing for a call", chunk({ tool_calls: [{ index: 0 }] }), ""],
    ["openai-chat", "nothing for null", chunk({ content: null }), ""],
    ["openai-chat", "nothing of another choice", chunk({ content: "b" }, 1), ""],
    ["openai-chat", "nothing at its end", utf8Bytes("data: [DONE]\n\n"), ""],
    ["openai-chat", "nothing with usage alone", frame({ choices: [], usage: {} }), ""],
    ["anthropic", "its text", block({ type: "text_delta", text: "a" }), "a"],
    ["anthropic", "no thinking", block({ type: "thinking_delta", thinking: "t" }), ""],
    ["anthropic", "no arguments", block({ type: "input_json_delta", partial_json: "{" }), ""],
    ["anthropic", "nothing for a ping", frame({ type: "ping" }, "ping"), ""],
    ["openai-responses", "its text", frame({ type: "response.output_text.delta", delta: "r" }), "r"],
    [
      "openai-responses",
      "no arguments",
      frame({ type: "response.function_call_arguments.delta", delta: "{" }),
      "",
    ],
    ["openai-responses", "nothing for a comment", utf8Bytes(": keep\n\n"), ""],
    ["openai-responses", "nothing for garbage", new Uint8Array([0xff, 0x0a, 0x0a]), ""],
    ["openai-chat", "nothing where a list is none", frame({ choices: {} }), ""],
    ["openai-chat", "nothing for null alone", frame(null), ""],
  ] as const)("%s: %s", (dialect, _, bytes, said) => {
    expect(saidIn(dialect, bytes)).toBe(said);
  });
});

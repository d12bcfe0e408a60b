import { anthropic } from "../../src/dialects/anthropic.ts";
import type { Dialect, DialectName, NativeMessage } from "../../src/dialects/dialect.ts";
import { openAiChat } from "../../src/dialects/openai-chat.ts";
import { openAiResponses } from "../../src/dialects/openai-responses.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { Refusal } from "../../src/failure.ts";
import { text, utf8 } from "../log/json-text.ts";

/** Every dialect with its name, as rows for `it.each`. */
export const every: [string, Dialect][] = [
  ["openai-chat", openAiChat],
  ["anthropic", anthropic],
  ["openai-responses", openAiResponses],
];

export const openai = (message: unknown): NativeMessage => openAiChat.read(utf8(message), "messages[2]");
export const item = (value: unknown): NativeMessage => openAiResponses.read(utf8(value), "input[2]");
export const claude = (message: unknown): NativeMessage => anthropic.read(utf8(message), "messages[2]");

/** How a dialect refuses to read a message. */
export function refusalOf(
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

export const call = {
  id: "call_1",
  type: "function",
  function: { name: "read", arguments: '{"path": "a"}' },
};
export const use = { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } };
export const result = { type: "tool_result", tool_use_id: "toolu_1", content: "done" };

export const shown = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : text(bytes);

/** Messages in small, and their keys, for the tests of link keys. */
import { contentKey } from "../../src/dialects/link-key.ts";
import type { WireDialect } from "../../src/dialects/wire.ts";
import { scanDocument } from "../../src/log/scanner.ts";

/** A message as JSON text, or as a value that has one spelling. */
export type Given = string | object;

export function key(dialect: WireDialect, given: Given): string {
  const bytes = new TextEncoder().encode(typeof given === "string" ? given : JSON.stringify(given));
  scanDocument(bytes);
  return contentKey(dialect, bytes);
}

export const chat = "openai-chat";
export const responses = "openai-responses";
export const anthropic = "anthropic";

export const mark = { cache_control: { type: "ephemeral" } };
export const call = (args: string, more = {}) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: args }, ...more }],
});
export const use = (input: object | undefined, more = {}) => ({
  role: "assistant",
  content: [{ type: "tool_use", id: "toolu_1", name: "f", input, ...more }],
});
export const result = (content: unknown, more = {}) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", content, ...more }],
});
export const item = (args: string, more = {}) => ({
  type: "function_call",
  call_id: "call_1",
  name: "f",
  arguments: args,
  ...more,
});
export const text = (text: string, more = {}) => ({ type: "text", text, ...more });
export const output = (text: string, more = {}) => ({ type: "output_text", text, ...more });
export const user = (content: unknown, more = {}) => ({ role: "user", content, ...more });
export const said = (content: unknown, more = {}) => ({ role: "assistant", content, ...more });
export const image = (data: string, more = {}) =>
  user([{ type: "image", source: { type: "base64", media_type: "image/png", data, ...more } }]);

export type Pair = [dialect: WireDialect, reason: string, one: Given, other: Given];

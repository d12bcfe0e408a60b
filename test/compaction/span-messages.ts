/** Native messages as plain data, for the tests of facts and summaries. */
import type { SpanNode } from "../../src/compaction/facts.ts";
import type { NativeMessage, Part } from "../../src/dialects/dialect.ts";

export function message(role: NativeMessage["role"], ...parts: Part[]): NativeMessage {
  const calls = parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
  const results = parts.flatMap((part) => (part.type === "result" ? [part.call] : []));
  return { role, parts, calls, results, mend: false };
}

export function text(words: string): Part {
  return { type: "text", text: words };
}

export const user = (words: string): NativeMessage => message("user", text(words));
export const assistant = (words: string): NativeMessage => message("assistant", text(words));

let ids = 0;

/**
 * A call and its result, as the two messages that they are. Arguments are an object, or text as it stands.
 */
export function tool(
  name: string,
  args: object | string,
  result: string,
  options: { error?: boolean; id?: string } = {},
): NativeMessage[] {
  const id = options.id ?? `call-${++ids}`;
  const given = typeof args === "string" ? args : JSON.stringify(args);
  return [
    message("assistant", { type: "call", id, name, args: given }),
    message("tool", {
      type: "result",
      call: id,
      content: [{ type: "text", text: result }],
      error: options.error ?? false,
    }),
  ];
}

/** Nodes of a span, numbered from `from`. */
export function span(messages: readonly (NativeMessage | readonly NativeMessage[])[], from = 1): SpanNode[] {
  return messages.flat().map((m, at) => ({ seq: from + at, message: m as NativeMessage }));
}

/** Hand-made lines of transcripts. */

type Block = Record<string, unknown>;

export const text = (words: string): Block => ({ type: "text", text: words });
export const use = (id: string, input: Block = { path: "a.ts" }): Block => ({
  type: "tool_use",
  id,
  name: "Read",
  input,
});
export const result = (id: string, content: unknown = "done"): Block => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});

/** A line of Claude Code by the user. */
export function ccUser(content: string | Block[], more: Block = {}): string {
  return JSON.stringify({
    type: "user",
    uuid: "u",
    isSidechain: false,
    message: { role: "user", content },
    ...more,
  });
}

/** A line of Claude Code by the model: one or more blocks under a message id. */
export function ccAssistant(id: string, blocks: Block[], more: Block = {}): string {
  const message = { id, type: "message", role: "assistant", model: "some-model", content: blocks, ...more };
  return JSON.stringify({ type: "assistant", uuid: "a", isSidechain: false, message });
}

export const lines = (...all: string[]): string => all.join("\n");

/** A pi entry with a message. */
export function piMessage(message: Block, more: Block = {}): string {
  return JSON.stringify({ type: "message", timestamp: "2026-01-01T00:00:00Z", message, ...more });
}

export const piHeader = (version?: number): string =>
  JSON.stringify({ type: "session", id: "s", cwd: "/", ...(version === undefined ? {} : { version }) });

export const piCall = (id: string): Block => ({
  type: "toolCall",
  id,
  name: "read",
  arguments: { path: "a.ts" },
});
export const piResult = (id: string, content: Block[] = [text("done")], isError = false): string =>
  piMessage({
    role: "toolResult",
    toolCallId: id,
    toolName: "read",
    content,
    details: { ui: true },
    isError,
  });

/** Messages of a session in short: kind, and the texts and ids in it. */
export function brief(messages: readonly { kind: string; json: string }[]): string[] {
  return messages.map(({ kind, json }) => {
    const { content, tool_calls, tool_call_id } = JSON.parse(json) as {
      content: unknown;
      tool_calls?: { id: string }[];
      tool_call_id?: string;
    };
    const blocks: Block[] =
      typeof content === "string" ? [text(content)] : Array.isArray(content) ? content : [];
    const words = blocks.map((block) => block.text ?? block.id ?? block.tool_use_id ?? block.type);
    const calls = (tool_calls ?? []).map(({ id }) => id);
    return [kind, ...(tool_call_id === undefined ? words : [tool_call_id]), ...calls].join(" ");
  });
}

/** What a decoded message says about calls and images, read without `src/dialects`. */
import type { Role } from "../../src/dialects/dialect.ts";

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

type Block = { type?: string; id?: string; tool_use_id?: string; content?: unknown };

function blocks(content: unknown): Block[] {
  return Array.isArray(content) ? (content as Block[]) : [];
}

/** The calls that are open behind a message, from the message itself and those open before it. */
export function openBehind(
  message: {
    type?: string;
    content?: unknown;
    tool_calls?: { id: string }[];
    tool_call_id?: string;
    call_id?: string;
  },
  role: Role,
  before: readonly string[],
  beforeRole: Role | undefined,
): string[] {
  // Items of one reply stand in a row, and their calls add up.
  if (role === "assistant" && message.type !== undefined) {
    const own = message.type === "function_call" ? [message.call_id!] : [];
    return beforeRole === "assistant" ? [...before, ...own] : own;
  }
  if (message.call_id !== undefined) return before.filter((id) => id !== message.call_id);
  const content = blocks(message.content);
  if (role === "assistant") {
    const uses = content.filter((block) => block.type === "tool_use");
    return [...(message.tool_calls ?? []), ...uses].map(({ id }) => id!);
  }
  if (
    role !== "tool" ||
    content.some(({ type }) => message.tool_call_id === undefined && type !== "tool_result")
  )
    return [];
  const answered = new Set([message.tool_call_id, ...content.map((block) => block.tool_use_id)]);
  return before.filter((id) => !answered.has(id));
}

export function images(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, inner) => sum + images(inner), 0);
  if (typeof value !== "object" || value === null) return 0;
  const { type, content } = value as Block;
  return (/^(image|image_url|input_image)$/.test(type ?? "") ? 1 : 0) + images(content ?? []);
}

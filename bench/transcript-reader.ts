/**
 * Reads the transcripts of `../shared/transcripts` into the shapes that facts are taken from, for benches and
 * tests only. Tolerant and small: broken lines, recorded compactions, sidechains and results without a call
 * are left out. The importers of `cli/` are the real ones.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { SpanNode } from "../src/compaction/facts.ts";
import type { ContentPart, NativeMessage, Part } from "../src/dialects/dialect.ts";

export interface Transcript {
  file: string;
  nodes: SpanNode[];
}

const root = new URL("../../shared/transcripts/", import.meta.url);

export function transcriptsExist(): boolean {
  return existsSync(root);
}

/** All transcripts of the three formats that hold at least one user message. */
export function readTranscripts(): Transcript[] {
  const found: Transcript[] = [];
  for (const [folder, pattern, read] of formats) {
    for (const file of readdirSync(new URL(`${folder}/`, root)).sort()) {
      if (!pattern.test(file)) continue;
      const messages = read(readFileSync(new URL(`${folder}/${file}`, root), "utf8"));
      const nodes = paired(messages).map((message, at) => ({ seq: at + 1, message }));
      if (nodes.some(({ message }) => message.role === "user")) found.push({ file, nodes });
    }
  }
  return found;
}

type Json = Record<string, unknown>;

const formats = [
  ["claude-code", /\.jsonl$/, readClaudeCode],
  ["pi", /\.jsonl$/, readPi],
  ["openai-chat", /^miniswe/, readMiniSwe],
] as const;

function lines(text: string): Json[] {
  return text.split("\n").flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === "object" && value !== null && !Array.isArray(value) ? [value as Json] : [];
    } catch {
      return [];
    }
  });
}

function message(role: NativeMessage["role"], parts: Part[]): NativeMessage {
  return { role, parts, calls: [], results: [], mend: false };
}

function blocks(content: unknown): Json[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block): block is Json => typeof block === "object") : [];
}

function content(value: unknown): ContentPart[] {
  return blocks(value).map((block) =>
    block.type === "text"
      ? { type: "text", text: String(block.text ?? "") }
      : { type: "media", note: "image" },
  );
}

function part(block: Json): Part[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: String(block.text ?? "") }];
    case "thinking":
      return [{ type: "thinking", text: String(block.thinking ?? "") }];
    case "tool_use":
      return [
        { type: "call", id: String(block.id), name: String(block.name), args: JSON.stringify(block.input) },
      ];
    case "toolCall":
      return [
        {
          type: "call",
          id: String(block.id),
          name: String(block.name),
          args: JSON.stringify(block.arguments),
        },
      ];
    case "tool_result": {
      const result = content(block.content);
      return [
        { type: "result", call: String(block.tool_use_id), content: result, error: block.is_error === true },
      ];
    }
    default:
      return [{ type: "media", note: "image" }];
  }
}

function readClaudeCode(text: string): NativeMessage[] {
  return lines(text).flatMap((line) => {
    if ((line.type !== "user" && line.type !== "assistant") || line.isSidechain === true) return [];
    if (line.isCompactSummary === true || line.isApiErrorMessage === true) return [];
    const parts = blocks((line.message as Json).content).flatMap(part);
    const role = parts.some(({ type }) => type === "result") ? "tool" : line.type;
    return parts.length === 0 ? [] : [message(role, parts)];
  });
}

function readPi(text: string): NativeMessage[] {
  return lines(text).flatMap((line) => {
    const inner = line.message as Json | undefined;
    if (line.type !== "message" || inner === undefined) return [];
    if (inner.role === "toolResult") {
      const result = content(inner.content);
      const call = String(inner.toolCallId);
      return [message("tool", [{ type: "result", call, content: result, error: inner.isError === true }])];
    }
    const parts = blocks(inner.content).flatMap(part);
    return parts.length === 0 ? [] : [message(inner.role === "user" ? "user" : "assistant", parts)];
  });
}

function readMiniSwe(text: string): NativeMessage[] {
  const { messages } = JSON.parse(text) as { messages: Json[] };
  return messages.flatMap((line) => {
    const parts = content(line.content);
    if (line.role === "tool") {
      return [
        message("tool", [{ type: "result", call: String(line.tool_call_id), content: parts, error: false }]),
      ];
    }
    if (line.role !== "user" && line.role !== "assistant") return [];
    const calls = (
      (line.tool_calls ?? []) as { id: string; function: { name: string; arguments: string } }[]
    ).map(({ id, function: { name, arguments: args } }): Part => ({ type: "call", id, name, args }));
    return [message(line.role, [...parts, ...calls])];
  });
}

/**
 * Without results that answer no call before them and calls that nothing answers, and with the ids of what is
 * left.
 */
function paired(messages: readonly NativeMessage[]): NativeMessage[] {
  const answered = new Set(
    messages.flatMap(({ parts }) => parts.flatMap((p) => (p.type === "result" ? [p.call] : []))),
  );
  const open = new Set<string>();
  return messages.flatMap((read) => {
    const parts = read.parts.filter(
      (p) => (p.type !== "result" || open.has(p.call)) && (p.type !== "call" || answered.has(p.id)),
    );
    if (parts.length === 0) return [];
    const calls = parts.flatMap((p) => (p.type === "call" ? [p.id] : []));
    const results = parts.flatMap((p) => (p.type === "result" ? [p.call] : []));
    for (const id of calls) open.add(id);
    return [{ ...read, parts, calls, results }];
  });
}

/**
 * A conversation in another dialect. Texts, calls, results and what both sides have a media shape for go over;
 * the outcome is legal for its target wherever the source was for its own. For readers, not for the log: a
 * session speaks the dialect it was opened with.
 */
import { createHash } from "node:crypto";
import { utf8Bytes } from "../log/json-edit.ts";
import { mediaBlock } from "./convert-media.ts";
import { type Call, type Entry, entriesOf, type Piece, type Result } from "./convert-read.ts";
import type { DialectName } from "./dialect.ts";

/** Anthropic wants a user message first, and some conversations of the others begin with a reply. */
const BEGIN = "[The conversation begins with a reply.]";

/** The messages as the other dialect writes them; the very same array when it is the same one. */
export function convertMessages(
  from: DialectName,
  to: DialectName,
  messages: readonly Uint8Array[],
): Uint8Array[] {
  if (from === to) return [...messages];
  const entries = entriesOf(from, messages);
  const written = writers[to](entries);
  return written.map((message) => utf8Bytes(JSON.stringify(message)));
}

const writers: Readonly<Record<DialectName, (entries: readonly Entry[]) => object[]>> = {
  "openai-chat": (entries) => entries.flatMap(chatMessages),
  "openai-responses": (entries) => entries.flatMap(responsesItems),
  anthropic: anthropicMessages,
};

// --- What all targets share

/** Both providers take these letters; OpenAI at most 64 of them. Equal ids stay equal, unlike ones unlike. */
function legalId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const digest = createHash("sha256").update(id).digest("base64url").slice(0, 16);
  return `${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 40)}_${digest}`;
}

function legalName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}

/** Arguments as the text of a JSON object: a text that is none (a custom tool's input) becomes a member of one. */
function objectText(args: string): string {
  if (args.trim() === "") return "{}";
  try {
    const value: unknown = JSON.parse(args);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return args;
  } catch {
    // no JSON: below
  }
  return JSON.stringify({ input: args });
}

function noteText(piece: Piece): string {
  return piece.type === "text" ? piece.text : `[${piece.note}]`;
}

/** Pieces as text alone, for places that hold nothing else. */
function textOf(pieces: readonly Piece[]): string {
  return pieces
    .map(noteText)
    .filter((text) => text !== "")
    .join("\n");
}

/** One text as a string; anything more as blocks. Nothing at all: undefined. */
function contentOf(to: DialectName, pieces: readonly Piece[]): string | object[] | undefined {
  const blank = to === "anthropic" ? (text: string) => text.trim() === "" : (text: string) => text === "";
  const full = pieces.filter((piece) => piece.type === "media" || !blank(piece.text));
  const [only, ...more] = full;
  if (only === undefined) return undefined;
  if (more.length === 0 && only.type === "text") return only.text;
  const type = to === "openai-responses" ? "input_text" : "text";
  return full.map((piece) => {
    const block = piece.type === "media" ? mediaBlock(to, piece) : undefined;
    return block ?? { type, text: noteText(piece) };
  });
}

// --- OpenAI Chat

function chatMessages(entry: Entry): object[] {
  switch (entry.role) {
    case "user": {
      const content = contentOf("openai-chat", entry.says);
      return content === undefined ? [] : [{ role: "user", content }];
    }
    case "system":
      return [{ role: "system", content: textOf(entry.says) }];
    case "results":
      return entry.results.map(({ call, content }) => ({
        role: "tool",
        tool_call_id: legalId(call),
        content: textOf(content),
      }));
    case "assistant": {
      const text = textOf(entry.says);
      const calls = entry.calls.map(({ id, name, args }) => ({
        id: legalId(id),
        type: "function",
        function: { name: legalName(name), arguments: objectText(args) },
      }));
      if (calls.length > 0) return [{ role: "assistant", content: text || null, tool_calls: calls }];
      return text === "" ? [] : [{ role: "assistant", content: text }];
    }
  }
}

// --- OpenAI Responses

function responsesItems(entry: Entry): object[] {
  switch (entry.role) {
    case "user": {
      const content = contentOf("openai-responses", entry.says);
      return content === undefined ? [] : [{ type: "message", role: "user", content }];
    }
    case "system":
      return [{ type: "message", role: "developer", content: textOf(entry.says) }];
    case "results":
      return entry.results.map(({ call, content }) => ({
        type: "function_call_output",
        call_id: legalId(call),
        output: contentOf("openai-responses", content) ?? "",
      }));
    case "assistant": {
      const text = textOf(entry.says);
      const content = [{ type: "output_text", text, annotations: [] }];
      const said = text === "" ? [] : [{ type: "message", role: "assistant", content }];
      return [...said, ...entry.calls.map(callItem)];
    }
  }
}

function callItem({ id, name, args }: Call): object {
  return {
    type: "function_call",
    call_id: legalId(id),
    name: legalName(name),
    arguments: objectText(args),
  };
}

// --- Anthropic

function anthropicMessages(entries: readonly Entry[]): object[] {
  const out: { role: string; content: unknown }[] = [];
  for (const [index, entry] of entries.entries()) {
    const content = anthropicContent(entry);
    if (content === undefined) continue;
    const role = entry.role === "results" ? "user" : entry.role;
    if (role === "assistant" && out.length === 0) out.push({ role: "user", content: BEGIN });
    const stands = role !== "system" || systemStands(out.at(-1)?.role, entries, index);
    out.push({ role: stands ? role : "user", content });
  }
  return out;
}

/** A system message stands behind a user's and in front of a reply; elsewhere its words come as a user's. */
function systemStands(before: string | undefined, entries: readonly Entry[], index: number): boolean {
  if (before !== "user" && before !== "system") return false;
  const next = entries
    .slice(index + 1)
    .find((entry) => anthropicContent(entry) !== undefined && entry.role !== "system");
  return next === undefined || next.role === "assistant";
}

function anthropicContent(entry: Entry): unknown {
  switch (entry.role) {
    case "user":
      return contentOf("anthropic", entry.says);
    case "system": {
      const text = textOf(entry.says);
      return text.trim() === "" ? undefined : text;
    }
    case "results":
      return entry.results.map(anthropicResult);
    case "assistant": {
      const text = textOf(entry.says);
      const uses = entry.calls.map(anthropicUse);
      if (uses.length === 0) return text.trim() === "" ? undefined : text;
      return text.trim() === "" ? uses : [{ type: "text", text }, ...uses];
    }
  }
}

function anthropicUse({ id, name, args }: Call): object {
  return { type: "tool_use", id: legalId(id), name: legalName(name), input: JSON.parse(objectText(args)) };
}

function anthropicResult({ call, content, error }: Result): object {
  const result = {
    type: "tool_result",
    tool_use_id: legalId(call),
    content: contentOf("anthropic", content) ?? "",
  };
  return error ? { ...result, is_error: true } : result;
}

import { assistantMessage, callId, isSigned, isThinking, userMessage } from "./anthropic.ts";
import { arrange, type Entry } from "./arrange.ts";
import { asList, asText, isObject, type Json, jsonLines, Ledger, type Session } from "./session.ts";

/**
 * pi sessions (JSONL): a header, then entries. Without `version` the entries are a plain list; later versions are a tree
 * whose last entry is the leaf, and only the path to it is played. Messages become Anthropic's: pi talks to many
 * providers, and its own shape is none of theirs.
 */

/** @returns the session in Anthropic's dialect. Never throws on content: what can not be read is counted. */
export function importPi(text: string): Session {
  const ledger = new Ledger();
  const entries: Entry[] = [];
  for (const { line, value } of onPath([...jsonLines(text, ledger)], ledger)) {
    const entry = readEntry(ledger, line, value);
    if (entry !== undefined) entries.push(entry);
  }
  const messages = arrange(entries, ledger, { dialect: "anthropic", secondResult: "result-without-call" });
  const { skipped, broken } = ledger;
  return { format: "pi", dialect: "anthropic", messages, skipped, broken };
}

type Line = { line: number; value: Json };

/** The lines behind the header; of a tree only those from the root to the last entry. */
function onPath(lines: Line[], ledger: Ledger): Line[] {
  const body = lines.filter(({ value }) => value.type !== "session");
  const header = lines.find(({ value }) => value.type === "session");
  if (typeof header?.value.version !== "number" || header.value.version < 2) return body;
  const byId = new Map<string, Line>();
  for (const entry of body) if (typeof entry.value.id === "string") byId.set(entry.value.id, entry);
  const path = new Set<Line>();
  let at = body.at(-1);
  while (at !== undefined && !path.has(at)) {
    path.add(at);
    at = typeof at.value.parentId === "string" ? byId.get(at.value.parentId) : undefined;
  }
  ledger.skip("off-branch", body.length - path.size);
  return body.filter((entry) => path.has(entry));
}

function readEntry(ledger: Ledger, line: number, value: Json): Entry | undefined {
  switch (value.type) {
    case "message":
      return isObject(value.message)
        ? readMessage(ledger, value.message)
        : ledger.breakLine(line, "no message");
    case "compaction":
      return ledger.skip("recorded-compaction");
    case "branch_summary":
      return userMessage(asText(value.summary), ledger);
    case "custom_message":
      return userMessage(userContent(value.content), ledger);
    default:
      return ledger.skip("interface");
  }
}

function readMessage(ledger: Ledger, message: Json): Entry | undefined {
  switch (message.role) {
    case "user":
      return userMessage(userContent(message.content), ledger);
    case "bashExecution":
      if (message.excludeFromContext === true) return ledger.skip("excluded");
      return userMessage(ranByUser(message), ledger);
    case "assistant":
      return readAssistant(ledger, message);
    case "toolResult":
      return readResult(ledger, message);
    default:
      return ledger.skip("unreadable");
  }
}

function userContent(content: unknown): unknown {
  return typeof content === "string" ? content : asList(content).map(contentBlock);
}

/** A text or image block as Anthropic writes it; anything else as it stands, for the caller to judge. */
function contentBlock(block: unknown): unknown {
  if (!isObject(block)) return block;
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type !== "image") return block;
  return { type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } };
}

/** What a command that the user ran looked like to the model. */
function ranByUser(message: Json): string {
  const lines = [`The user ran this command: ${asText(message.command) ?? ""}`, asText(message.output) ?? ""];
  if (message.cancelled === true) lines.push("(cancelled)");
  else if (typeof message.exitCode === "number" && message.exitCode !== 0) {
    lines.push(`(exit code ${message.exitCode})`);
  }
  if (message.truncated === true) lines.push("(output truncated)");
  return lines.filter((line) => line !== "").join("\n");
}

function readAssistant(ledger: Ledger, message: Json): Entry {
  const blocks: Json[] = [];
  const calls: string[] = [];
  for (const block of asList(message.content)) {
    const native = isObject(block) ? assistantBlock(block) : undefined;
    if (native === undefined) ledger.skip("unreadable");
    else if (native.type === "text" && asText(native.text)?.trim() === "") ledger.skip("empty");
    else if (isThinking(native) && !isSigned(native)) ledger.skip("thinking");
    else if (native.type !== "tool_use") blocks.push(native);
    else if (calls.includes(String(native.id))) ledger.skip("duplicate-call");
    else {
      calls.push(String(native.id));
      blocks.push(native);
    }
  }
  return {
    kind: "assistant",
    calls,
    write: (kept) => assistantMessage(blocks, kept, ledger),
    aborted: message.stopReason === "error" || message.stopReason === "aborted",
  };
}

function assistantBlock(block: Json): Json | undefined {
  switch (block.type) {
    case "text":
      return typeof block.text === "string" ? { type: "text", text: block.text } : undefined;
    case "thinking":
      return block.redacted === true
        ? { type: "redacted_thinking", data: block.thinkingSignature }
        : { type: "thinking", thinking: asText(block.thinking) ?? "", signature: block.thinkingSignature };
    case "toolCall": {
      const { id, name } = block;
      if (typeof id !== "string" || typeof name !== "string") return undefined;
      return {
        type: "tool_use",
        id: callId(id),
        name,
        input: isObject(block.arguments) ? block.arguments : {},
      };
    }
    default:
      return undefined;
  }
}

function readResult(ledger: Ledger, message: Json): Entry | undefined {
  const id = asText(message.toolCallId);
  if (id === undefined) return ledger.skip("result-without-call");
  const call = callId(id);
  const content = asList(message.content).map((block) =>
    isObject(block) && (block.type === "text" || block.type === "image")
      ? contentBlock(block)
      : { type: "text", text: JSON.stringify(block) },
  );
  const result = {
    type: "tool_result",
    tool_use_id: call,
    content: typeof message.content === "string" ? message.content : content,
    ...(message.isError === true ? { is_error: true } : {}),
  };
  return { kind: "results", calls: [call], write: () => JSON.stringify({ role: "user", content: [result] }) };
}

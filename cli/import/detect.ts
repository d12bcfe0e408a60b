import { importClaudeCode } from "./claude-code.ts";
import { importOpenAiChat } from "./openai-chat.ts";
import { importPi } from "./pi.ts";
import { asList, asText, type FormatName, isObject, type Session } from "./session.ts";

/** Tells the format of a transcript from its text, and calls its importer. */

const chatRoles = new Set(["system", "developer", "user", "assistant", "tool", "exit"]);

/** The format of a transcript, or undefined when it is none that can be played. */
export function detectFormat(text: string): FormatName | undefined {
  if (isChatLog(text)) return "openai-chat";
  for (const raw of text.split("\n")) {
    const format = formatOfLine(raw);
    if (format !== undefined) return format;
  }
  return undefined;
}

/** Reads a transcript. @throws Error with a sentence for a person when the format is unknown or the text is not of it. */
export function importTranscript(text: string, format: FormatName | undefined = detectFormat(text)): Session {
  switch (format) {
    case "claude-code":
      return importClaudeCode(text);
    case "pi":
      return importPi(text);
    case "openai-chat":
      return importOpenAiChat(text);
    case undefined:
      throw new Error("no known transcript format (claude-code, openai-chat, pi)");
  }
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

/** One JSON object with Chat Completions messages; Anthropic's blocks tell its logs apart. */
function isChatLog(text: string): boolean {
  if (!text.trimStart().startsWith("{")) return false;
  const log = parse(text);
  if (!isObject(log) || !Array.isArray(log.messages) || log.messages.length === 0) return false;
  return log.messages.every(
    (message) =>
      isObject(message) &&
      chatRoles.has(asText(message.role) ?? "") &&
      !asList(message.content).some(
        (block) => isObject(block) && (block.type === "tool_use" || block.type === "tool_result"),
      ),
  );
}

function formatOfLine(raw: string): FormatName | undefined {
  const line = raw.trimStart().startsWith("{") ? parse(raw) : undefined;
  if (!isObject(line)) return undefined;
  if (line.type === "session" && typeof line.id === "string" && typeof line.cwd === "string") return "pi";
  const { type, message } = line;
  if ((type === "user" || type === "assistant") && isObject(message) && message.role === type)
    return "claude-code";
  return undefined;
}

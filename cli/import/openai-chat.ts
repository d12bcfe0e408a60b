import { arrange, type Entry } from "./arrange.ts";
import { asList, asText, isObject, type Json, Ledger, type PlayMessage, type Session } from "./session.ts";

/**
 * Chat Completions logs: one JSON object whose `messages` are native but for the logger's own `extra` (mini-swe-agent).
 * Leading system messages are the envelope.
 */

/** @returns the session. @throws Error when the text is no JSON object with a list of messages. */
export function importOpenAiChat(text: string): Session {
  const ledger = new Ledger();
  const log: unknown = JSON.parse(text);
  if (!isObject(log) || !Array.isArray(log.messages)) throw new Error("no list of messages");
  const entries: Entry[] = [];
  for (const message of log.messages) {
    if (!isObject(message)) ledger.skip("unreadable");
    else {
      const entry = readMessage(ledger, message);
      if (entry !== undefined) entries.push(entry);
    }
  }
  const messages = arrange(entries, ledger, { dialect: "openai-chat", secondResult: "result-without-call" });
  const system = takeSystem(messages);
  const { skipped, broken } = ledger;
  return {
    format: "openai-chat",
    dialect: "openai-chat",
    ...(system.length === 0 ? {} : { system }),
    ...(Array.isArray(log.tools) && log.tools.length > 0 ? { tools: log.tools } : {}),
    messages,
    skipped,
    broken,
  };
}

/** Takes the system messages at the start away from the messages: they are envelope, never a part of the log. */
function takeSystem(messages: PlayMessage[]): Json[] {
  const system: Json[] = [];
  for (const { json } of messages) {
    const message: Json = JSON.parse(json);
    if (message.role !== "system" && message.role !== "developer") break;
    system.push(message);
  }
  messages.splice(0, system.length);
  return system;
}

/** The message as the provider saw it: without what the logger added. */
function native(message: Json): Json {
  const { extra: _extra, ...rest } = message;
  return rest;
}

function readMessage(ledger: Ledger, message: Json): Entry | undefined {
  switch (message.role) {
    case "user":
    case "system":
    case "developer":
      if (isEmpty(message.content)) return ledger.skip("empty");
      return { kind: "user", json: JSON.stringify(native(message)) };
    case "assistant":
      return readAssistant(ledger, message);
    case "tool": {
      const call = asText(message.tool_call_id);
      if (call === undefined) return ledger.skip("result-without-call");
      return { kind: "results", calls: [call], write: () => JSON.stringify(native(message)) };
    }
    case "exit":
      return ledger.skip("exit");
    default:
      return ledger.skip("unreadable");
  }
}

function isEmpty(content: unknown): boolean {
  if (typeof content === "string") return content.trim() === "";
  return asList(content).length === 0;
}

function readAssistant(ledger: Ledger, message: Json): Entry {
  const ids = new Set<string>();
  const calls: Json[] = [];
  for (const call of asList(message.tool_calls)) {
    const id = isObject(call) ? asText(call.id) : undefined;
    if (!isObject(call) || id === undefined) ledger.skip("unreadable");
    else if (ids.has(id)) ledger.skip("duplicate-call");
    else {
      ids.add(id);
      calls.push(call);
    }
  }
  const { tool_calls: _calls, ...rest } = native(message);
  const json =
    calls.length > 0
      ? JSON.stringify({ ...rest, tool_calls: calls })
      : isEmpty(rest.content)
        ? undefined
        : JSON.stringify(rest);
  return { kind: "assistant", calls: [...ids], write: () => json, aborted: false };
}

/**
 * What the strictest provider of a dialect would say to a rendered message list. A check from outside:
 * written apart from reading, order and rendering, on decoded values, so that an error there can not hide
 * here. For tests, replay and fakes.
 */
import type { DialectName } from "./dialect.ts";
import { checkResponses } from "./legal-responses.ts";
import { isEmptyContent, isObject, list, type Report, type Value } from "./legal-values.ts";

/** `at` is the index of the message, `rule` the name of what it breaks. */
export interface Violation {
  at: number;
  rule: string;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Every rule that the messages break, in order; empty when the provider would take them. Never throws. */
export function violations(dialect: DialectName, messages: readonly Uint8Array[]): Violation[] {
  const found: Violation[] = [];
  const report: Report = (at, rule) => found.push({ at, rule });
  const values = messages.map((bytes, at) => {
    try {
      const value: unknown = JSON.parse(utf8.decode(bytes));
      if (isObject(value)) return value;
    } catch {
      // reported like any other value that is no message
    }
    report(at, "not-a-message");
    return {};
  });
  if (found.length > 0) return found;
  if (values.length === 0) report(0, "no-messages");
  else if (dialect === "anthropic") checkAnthropic(values, report);
  else if (dialect === "openai-responses") checkResponses(values, report);
  else checkOpenAi(values, report);
  return found;
}

// --- OpenAI Chat

function checkOpenAi(messages: readonly Value[], report: Report): void {
  let caller = -1;
  let waiting = new Set<unknown>();
  messages.forEach((message, at) => {
    if (message.role === "tool") {
      if (!waiting.delete(message.tool_call_id)) report(at, "result-without-call");
      if (typeof message.content !== "string" && !Array.isArray(message.content))
        report(at, "result-without-content");
      return;
    }
    if (waiting.size > 0) report(caller, "call-without-result");
    waiting = new Set();
    caller = -1;
    if (message.role === "assistant") {
      checkOpenAiReply(message, at, report);
      const calls = list(message.tool_calls);
      if (calls.length > 0) caller = at;
      for (const call of calls) {
        if (waiting.has(call.id)) report(at, "call-id-twice");
        waiting.add(call.id);
      }
    } else if (message.role === "user") {
      if (isEmptyContent(message.content)) report(at, "empty-content");
    } else if (message.role !== "system" && message.role !== "developer") {
      report(at, "unknown-role");
    }
  });
  if (waiting.size > 0) report(caller, "call-without-result");
}

function checkOpenAiReply(message: Value, at: number, report: Report): void {
  const calls = message.tool_calls;
  if (calls !== undefined && (!Array.isArray(calls) || calls.length === 0)) report(at, "empty-calls");
  if (Array.isArray(message.content) && message.content.length === 0) report(at, "empty-content");
  const says = !isEmptyContent(message.content) || isObject(message.audio) || Boolean(message.refusal);
  if (!says && list(calls).length === 0) report(at, "empty-reply");
}

// --- Anthropic

/** A block together with the index of the message that brought it. */
interface Placed {
  at: number;
  block: Value;
}

interface Turn {
  role: unknown;
  at: number;
  blocks: Placed[];
}

function checkAnthropic(messages: readonly Value[], report: Report): void {
  if (messages[0]?.role !== "user") report(0, "first-is-not-user");
  messages.forEach((message, at) => {
    checkAnthropicContent(message, at, report);
    const before = messages[at - 1]?.role;
    if (message.role === "system" && before === "assistant") report(at, "system-after-assistant");
    if (message.role === "user" && before === "system") report(at, "user-after-system");
  });
  const turns = mergeTurns(messages);
  turns.forEach((turn, index) => {
    if (turn.role === "assistant") checkAnswers(turn, turns[index + 1], report);
    if (turn.role === "user") checkResults(turn, turns[index - 1], report);
  });
}

function mergeTurns(messages: readonly Value[]): Turn[] {
  const turns: Turn[] = [];
  messages.forEach((message, at) => {
    const content = message.content;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
    const placed = blocks.map((block) => ({ at, block }));
    const last = turns.at(-1);
    if (last !== undefined && last.role === message.role) last.blocks = last.blocks.concat(placed);
    else turns.push({ role: message.role, at, blocks: placed });
  });
  return turns;
}

function checkAnthropicContent(message: Value, at: number, report: Report): void {
  const { role, content } = message;
  if (role !== "user" && role !== "assistant" && role !== "system") report(at, "unknown-role");
  if (content === "" || (Array.isArray(content) && content.length === 0)) report(at, "empty-content");
  else if (typeof content === "string") {
    if (content.trim() === "") report(at, "empty-text");
  } else if (!Array.isArray(content)) report(at, "no-content");
  for (const block of list(content)) {
    if (block.type === "text" && String(block.text).trim() === "") report(at, "empty-text");
    const inner = block.type === "tool_result" ? list(block.content) : [];
    if (inner.some((nested) => nested.type === "text" && nested.text === "")) report(at, "empty-text");
    if (block.type === "tool_use" && role !== "assistant") report(at, "call-outside-assistant");
    if (block.type === "tool_result" && role !== "user") report(at, "result-outside-user");
  }
  const last = list(content).at(-1)?.type;
  if (role === "assistant" && (last === "thinking" || last === "redacted_thinking"))
    report(at, "ends-in-thinking");
}

/** Every call of a turn has its result in the very next user turn. */
function checkAnswers(turn: Turn, next: Turn | undefined, report: Report): void {
  const answered = new Set(
    (next?.role === "user" ? next.blocks : [])
      .filter(({ block }) => block.type === "tool_result")
      .map(({ block }) => block.tool_use_id),
  );
  const ids = new Set<unknown>();
  for (const { at, block } of turn.blocks) {
    if (block.type !== "tool_use") continue;
    if (ids.has(block.id)) report(at, "call-id-twice");
    ids.add(block.id);
    if (!answered.has(block.id)) report(at, "call-without-result");
  }
}

/** Every result of a turn answers a call of the turn before, once, and stands before all other blocks. */
function checkResults(turn: Turn, before: Turn | undefined, report: Report): void {
  const open = new Set(
    (before?.role === "assistant" ? before.blocks : [])
      .filter(({ block }) => block.type === "tool_use")
      .map(({ block }) => block.id),
  );
  let others = false;
  for (const { at, block } of turn.blocks) {
    if (block.type !== "tool_result") others = true;
    else {
      if (others) report(at, "result-behind-other-block");
      if (!open.delete(block.tool_use_id)) report(at, "result-without-call");
    }
  }
}

import { assistantMessage, callId, isSigned, isThinking, resultContent, userMessage } from "./anthropic.ts";
import { arrange, type Entry } from "./arrange.ts";
import { asList, asText, isObject, type Json, jsonLines, Ledger, type Session } from "./session.ts";

/**
 * Claude Code sessions (JSONL, one content block of the model per line). Lines of one `message.id` are one message until
 * another assistant id appears; an id that comes back later is a resumed copy of what was already played, apart from
 * calls that are new. User texts are always kept, also the ones marked `isMeta`: the model read them.
 */

interface Group {
  id: string | undefined;
  /** The id was seen before: only calls that are new belong to it. */
  reopened: boolean;
  blocks: Json[];
  calls: string[];
}

interface State {
  ledger: Ledger;
  group: Group | undefined;
  ids: Set<string>;
  played: Set<string>;
}

/** @returns the session in Anthropic's dialect. Never throws on content: what can not be read is counted. */
export function importClaudeCode(text: string): Session {
  const ledger = new Ledger();
  const state: State = { ledger, group: undefined, ids: new Set(), played: new Set() };
  const entries: Entry[] = [];
  for (const { line, value } of jsonLines(text, ledger)) entries.push(...readLine(state, line, value));
  const messages = arrange(entries, ledger, { dialect: "anthropic", secondResult: "resumed-copy" });
  const { skipped, broken } = ledger;
  return { format: "claude-code", dialect: "anthropic", messages, skipped, broken };
}

function readLine(state: State, line: number, value: Json): Entry[] {
  const { ledger } = state;
  const message = playableMessage(ledger, line, value);
  if (message === undefined) return [];
  if (value.type !== "assistant") return readUser(message.content, ledger);
  if (value.isApiErrorMessage !== true && message.model !== "<synthetic>")
    return readAssistant(state, message);
  ledger.skip("api-error");
  return [];
}

/** The line's message when it was part of the model's input or output; everything else is counted. */
function playableMessage(ledger: Ledger, line: number, value: Json): Json | undefined {
  const { type, message } = value;
  if (value.isSidechain === true) return ledger.skip("sidechain");
  if (typeof type !== "string") return ledger.breakLine(line, "no type");
  if (type === "attachment") return queuedPrompt(ledger, value.attachment);
  if (type === "system") {
    const recorded = value.subtype === "compact_boundary" || value.subtype === "microcompact_boundary";
    return ledger.skip(recorded ? "recorded-compaction" : "interface");
  }
  if (type !== "user" && type !== "assistant") return ledger.skip("interface");
  if (value.isCompactSummary === true) return ledger.skip("recorded-compaction");
  if (value.isVisibleInTranscriptOnly === true) return ledger.skip("interface");
  if (!isObject(message)) return ledger.breakLine(line, "no message");
  if (typeof message.content === "string" || Array.isArray(message.content)) return message;
  return ledger.breakLine(line, "no content");
}

/** A prompt typed while the agent was busy reaches the model as an attachment. */
function queuedPrompt(ledger: Ledger, attachment: unknown): Json | undefined {
  if (isObject(attachment) && attachment.type === "queued_command") return { content: attachment.prompt };
  return ledger.skip("interface");
}

function readUser(content: unknown, ledger: Ledger): Entry[] {
  const entries: (Entry | undefined)[] = [];
  const results: { call: string; block: Json }[] = [];
  const others: unknown[] = [];
  for (const block of asList(content)) {
    if (!isObject(block) || block.type !== "tool_result") others.push(block);
    else if (typeof block.tool_use_id === "string") results.push({ call: callId(block.tool_use_id), block });
    else ledger.skip("result-without-call");
  }
  if (results.length > 0) {
    entries.push({
      kind: "results",
      calls: results.map(({ call }) => call),
      write: (kept) =>
        JSON.stringify({
          role: "user",
          content: kept.map((index) => resultBlock(results[index]?.block ?? {})),
        }),
    });
  }
  if (others.length > 0) entries.push(userMessage(others, ledger));
  else if (asList(content).length === 0) entries.push(userMessage(content, ledger));
  return entries.filter((entry) => entry !== undefined);
}

function resultBlock(block: Json): Json {
  const content = resultContent(block.content);
  const id = callId(String(block.tool_use_id));
  return { ...block, tool_use_id: id, ...(content === undefined ? {} : { content }) };
}

/** The first line of a message that is played makes its entry; later lines of the group only extend it. */
function readAssistant(state: State, message: Json): Entry[] {
  const id = asText(message.id);
  const group =
    state.group !== undefined && id !== undefined && state.group.id === id ? state.group : open(state, id);
  const { content } = message;
  const before = group.blocks.length;
  for (const raw of typeof content === "string" ? [{ type: "text", text: content }] : asList(content)) {
    const block = readBlock(state, group, raw);
    if (block !== undefined) group.blocks.push(block);
  }
  if (before > 0 || group.blocks.length === 0) return [];
  const write = (kept: ReadonlySet<number>) => assistantMessage(group.blocks, kept, state.ledger);
  return [{ kind: "assistant", calls: group.calls, write, aborted: false }];
}

/** Starts the message of another id. */
function open(state: State, id: string | undefined): Group {
  const reopened = id !== undefined && state.ids.has(id);
  const group: Group = { id, reopened, blocks: [], calls: [] };
  if (id !== undefined) state.ids.add(id);
  state.group = group;
  return group;
}

function readBlock(state: State, group: Group, block: unknown): Json | undefined {
  const { ledger } = state;
  if (!isObject(block)) return ledger.skip("unreadable");
  if (block.type === "tool_use") {
    if (typeof block.id !== "string" || typeof block.name !== "string") return ledger.skip("unreadable");
    const call = callId(block.id);
    if (state.played.has(call)) return ledger.skip("resumed-copy");
    state.played.add(call);
    group.calls.push(call);
    return { ...block, id: call, input: isObject(block.input) ? block.input : {} };
  }
  if (group.reopened) return ledger.skip("resumed-copy");
  if (isThinking(block)) return isSigned(block) ? block : ledger.skip("thinking");
  if (block.type !== "text" || asText(block.text) === undefined) return ledger.skip("unreadable");
  return asText(block.text)?.trim() === "" ? ledger.skip("empty") : block;
}

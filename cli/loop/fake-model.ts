/**
 * The model behind the provider: reads where the work stands from the end of the request and plays the next
 * move. A request whose last words are no task and no result (a summary, a title) gets a plain text.
 */
import type { WireDialect } from "../../src/dialects/wire.ts";
import { type Json, list, objectOf, textOf } from "./json.ts";
import { type Move, nextMove, readResult, readTask, type Standing } from "./task.ts";

export interface Played {
  move: Move;
  /** Absent: a plain answer. */
  standing?: Standing;
}

/** `cap`: tokens that the reply may have; a summary keeps within it. */
export function play(messages: readonly Json[], cap = Number.POSITIVE_INFINITY): Played {
  const last = lastWords(messages);
  if (last.kind === "text") {
    const task = readTask(last.text);
    return task === undefined ? { move: plain(messages, cap) } : { move: nextMove(task), standing: task };
  }
  const standing = newestStanding(messages);
  return standing === undefined ? { move: plain(messages, cap) } : { move: nextMove(standing), standing };
}

interface Words {
  kind: "text" | "result";
  text: string;
}

function lastWords(messages: readonly Json[]): Words {
  return wordsOf(messages.at(-1)).at(-1) ?? { kind: "text", text: "" };
}

/** The header of the newest result that still has one. */
function newestStanding(messages: readonly Json[]): Standing | undefined {
  for (const message of messages.toReversed()) {
    for (const { kind, text } of wordsOf(message).toReversed()) {
      const standing = kind === "result" ? readResult(text) : undefined;
      if (standing !== undefined) return standing;
    }
  }
  return undefined;
}

/** Texts and results of a message, in order, in any dialect. */
function wordsOf(message: Json | undefined): Words[] {
  if (message === undefined) return [];
  if (message.role === "tool") return [{ kind: "result", text: joined(message.content) }];
  if (message.type === "function_call_output") return [{ kind: "result", text: joined(message.output) }];
  if (typeof message.content === "string") return [{ kind: "text", text: message.content }];
  return list(message.content).map((block) =>
    block.type === "tool_result"
      ? { kind: "result", text: joined(block.content) }
      : { kind: "text", text: textOf(block.text) },
  );
}

function joined(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map(({ text }) => textOf(text))
    .join("\n");
}

/** Tokens of a path in a list, and of all else in a summary, at most. */
const perPath = 16;
const besidesPaths = 160;

/** Words about what was seen, with as many of the newest paths as the cap has room for. */
function plain(messages: readonly Json[], cap: number): Move {
  const standing = newestStanding(messages);
  const state =
    standing === undefined
      ? "Nothing was run yet."
      : `task ${standing.task}: ${standing.round} of ${standing.rounds} rounds are done, ${standing.calls} calls each.`;
  const room = Math.max(0, Math.min(80, Math.floor((cap - besidesPaths) / perPath)));
  const paths = room === 0 ? [] : pathsIn(messages).slice(-room);
  const text = [
    "## User's intent",
    "Look through the project until every round is done, then say DONE.",
    "## Files",
    ...(paths.length === 0 ? ["none"] : paths.map((path) => `- ${path}`)),
    "## Current state",
    state,
    "## Open work and next step",
    "Go on with the next round.",
  ].join("\n");
  return { text, calls: [], thinking: "A short text is asked for." };
}

/** Paths in the arguments of calls, whether they are values or JSON text. */
function pathsIn(messages: readonly Json[]): string[] {
  const paths = new Set<string>();
  for (const message of messages) {
    const calls = [
      ...list(message.tool_calls),
      ...list(message.content).filter(({ type }) => type === "tool_use"),
    ];
    if (message.type === "function_call") calls.push(message);
    for (const [, path = ""] of JSON.stringify(calls).matchAll(/"path\\?":\s*\\?"([^"\\]+)/g))
      paths.add(path);
  }
  return [...paths];
}

/** Whether this request asks the model to think, as its dialect says it. */
export function thinks(
  dialect: WireDialect,
  body: Json,
  options: { reasoning?: boolean; reasoningContent?: boolean },
): boolean {
  if (dialect === "openai-chat") return options.reasoningContent ?? false;
  if (dialect === "openai-responses") return body.reasoning !== undefined || (options.reasoning ?? true);
  const type = objectOf(body.thinking)?.type;
  return type === "enabled" || type === "adaptive" || type === "between_tools";
}

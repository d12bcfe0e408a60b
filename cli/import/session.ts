import type { DialectName } from "../../src/dialects/dialect.ts";

/**
 * What an importer makes of a transcript: native messages in an order that a provider accepts, and an account of
 * everything that is not played. Free of any file or network access.
 */

export const formatNames = ["claude-code", "openai-chat", "pi"] as const;
export type FormatName = (typeof formatNames)[number];

/** Why something in a transcript is not played. Every skipped line, block or message is counted under one of these. */
export type SkipReason =
  | "broken-line"
  | "unreadable"
  | "empty"
  | "recorded-compaction"
  | "sidechain"
  | "off-branch"
  | "result-without-call"
  | "resumed-copy"
  | "aborted-call"
  | "duplicate-call"
  | "thinking"
  | "api-error"
  | "before-first-user"
  | "excluded"
  | "exit"
  | "interface";

/** One message to post: its JSON text, and what the player must know of it. */
export interface PlayMessage {
  kind: "user" | "results" | "assistant";
  json: string;
  /** Number of calls that the message opens. */
  calls: number;
}

export interface Session {
  format: FormatName;
  dialect: DialectName;
  /** The envelope, in the dialect's own shape; absent where the transcript has none. */
  system?: unknown;
  tools?: unknown[];
  messages: PlayMessage[];
  skipped: Partial<Record<SkipReason, number>>;
  /** The broken lines (1-based) with the reason, for a person to look at. */
  broken: { line: number; why: string }[];
}

/** Counts what an importer leaves out. */
export class Ledger {
  readonly skipped: Partial<Record<SkipReason, number>> = {};
  readonly broken: { line: number; why: string }[] = [];

  /** @returns undefined: nothing to play. */
  skip(reason: SkipReason, times = 1): undefined {
    if (times > 0) this.skipped[reason] = (this.skipped[reason] ?? 0) + times;
    return undefined;
  }

  /** Counts a line that is no JSON object, or holds none where its kind needs one. */
  breakLine(line: number, why: string): undefined {
    this.broken.push({ line, why });
    return this.skip("broken-line");
  }
}

export function skippedTotal(session: Session): number {
  return Object.values(session.skipped).reduce((sum, n) => sum + n, 0);
}

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A list's members, or nothing where the value is no list. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * The objects of a JSONL text with their 1-based line numbers. A line that is not exactly one JSON object is counted as
 * broken and left out; blank lines are nothing.
 */
export function* jsonLines(text: string, ledger: Ledger): Generator<{ line: number; value: Json }> {
  let line = 0;
  for (const raw of text.split("\n")) {
    line += 1;
    if (raw.trim() === "") continue;
    let value: unknown;
    try {
      value = JSON.parse(raw);
    } catch {
      ledger.breakLine(line, "not one JSON value");
      continue;
    }
    if (isObject(value)) yield { line, value };
    else ledger.breakLine(line, "not a JSON object");
  }
}

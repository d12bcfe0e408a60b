import type { DialectName } from "../../src/dialects/dialect.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { Refusal } from "../../src/failure.ts";
import type { Ledger, PlayMessage, SkipReason } from "./session.ts";

/**
 * Brings the entries of a transcript into an order that every provider accepts: each assistant message, then the
 * results of its calls, then the user texts that stood in between. No user text is lost: one that stands between a call
 * and its result waits until after the results. Calls without a result stay open (the server closes them).
 */

export type Entry =
  | { kind: "user"; json: string }
  | {
      kind: "assistant";
      calls: string[];
      /** The message with only the calls at `kept`; undefined when nothing is left of it. */
      write(kept: ReadonlySet<number>): string | undefined;
      /** The model stopped here by error or abort: calls that never got a result were never made. */
      aborted: boolean;
    }
  /** Results as they stand in one line; `write` makes the message with the results at `kept`. */
  | { kind: "results"; calls: string[]; write(kept: readonly number[]): string };

type AssistantEntry = Extract<Entry, { kind: "assistant" }>;

interface Turn {
  assistant: AssistantEntry;
  answered: Set<number>;
  results: PlayMessage[];
  users: PlayMessage[];
}

export interface ArrangeOptions {
  /** A message that is none of this dialect is skipped. Anthropic's sessions start with a user message. */
  dialect: DialectName;
  /** Reason counted for a second result of a call that was already answered. */
  secondResult: SkipReason;
}

/** Puts `entries` in play order; what can not be played is counted in `ledger`. */
export function arrange(entries: readonly Entry[], ledger: Ledger, options: ArrangeOptions): PlayMessage[] {
  const accept = acceptor(options.dialect, ledger);
  const opening: PlayMessage[] = [];
  const turns: Turn[] = [];
  const places: Places = new Map();
  for (const entry of entries) {
    if (entry.kind === "user") {
      if (accept(entry.json))
        (turns.at(-1)?.users ?? opening).push({ kind: "user", json: entry.json, calls: 0 });
    } else if (entry.kind === "assistant") {
      const turn: Turn = { assistant: entry, answered: new Set(), results: [], users: [] };
      turns.push(turn);
      for (const [index, call] of entry.calls.entries()) {
        const known = places.get(call);
        if (known === undefined) places.set(call, [{ turn, index }]);
        else known.push({ turn, index });
      }
    } else {
      placeResults(entry, places, ledger, options.secondResult, accept);
    }
  }
  return lineUp(opening, turns, ledger, options.dialect === "anthropic", accept);
}

type Places = Map<string, { turn: Turn; index: number }[]>;
type Accept = (json: string) => boolean;

/** Whether the dialect can read a message; one that it can not is counted. */
function acceptor(name: DialectName, ledger: Ledger): Accept {
  const dialect = dialectOf(name);
  return (json) => {
    try {
      dialect.read(Buffer.from(json), "message");
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      ledger.skip("unreadable");
      return false;
    }
  };
}

/** Gives each result of a line to the newest call of its id that has none yet: ids may be used twice in a session. */
function placeResults(
  entry: Extract<Entry, { kind: "results" }>,
  places: Places,
  ledger: Ledger,
  secondResult: SkipReason,
  accept: Accept,
): void {
  const byTurn = new Map<Turn, { kept: number[]; answers: number[] }>();
  for (const [position, call] of entry.calls.entries()) {
    const known = places.get(call);
    const place = known?.findLast(
      ({ turn, index }) => !turn.answered.has(index) && byTurn.get(turn)?.answers.includes(index) !== true,
    );
    if (place === undefined) {
      ledger.skip(known === undefined ? "result-without-call" : secondResult);
      continue;
    }
    const found = byTurn.get(place.turn) ?? { kept: [], answers: [] };
    found.kept.push(position);
    found.answers.push(place.index);
    byTurn.set(place.turn, found);
  }
  for (const [turn, { kept, answers }] of byTurn) {
    const json = entry.write(kept);
    if (!accept(json)) continue;
    turn.results.push({ kind: "results", json, calls: 0 });
    for (const index of answers) turn.answered.add(index);
  }
}

function lineUp(
  opening: PlayMessage[],
  turns: Turn[],
  ledger: Ledger,
  userFirst: boolean,
  accept: Accept,
): PlayMessage[] {
  const messages = [...opening];
  for (const { assistant, answered, results, users } of turns) {
    if (userFirst && messages.length === 0) {
      ledger.skip("before-first-user", 1 + results.length);
      messages.push(...users);
      continue;
    }
    const kept = new Set(assistant.calls.keys());
    if (assistant.aborted) {
      for (const index of assistant.calls.keys()) if (!answered.has(index)) kept.delete(index);
      ledger.skip("aborted-call", assistant.calls.length - kept.size);
    }
    const json = assistant.write(kept);
    if (json === undefined) ledger.skip("empty");
    else if (accept(json)) messages.push({ kind: "assistant", json, calls: kept.size }, ...results);
    else ledger.skip("result-without-call", results.length);
    messages.push(...users);
  }
  return messages;
}

/**
 * Where a message may stand: decided before it is appended, from the calls that are open at the head. Every
 * dialect wants results directly behind their calls, so anything else closes the calls that are still open.
 * A reply of OpenAI Responses is several items in a row: one more of them closes nothing.
 */
import type { Failure, FailureCode } from "../failure.ts";
import type { DialectName, NativeMessage, Role } from "./dialect.ts";

export interface Place {
  dialect: DialectName;
  /** Ids of the calls that are open after the head, in order. */
  open: readonly string[];
  /** True when nothing stands before the message. */
  first: boolean;
  /**
   * Role of the newest message before it that goes out (one that render leaves out does not count), where
   * known: Anthropic's mid-conversation system messages depend on it.
   */
  after?: Role | undefined;
}

export type Order =
  /**
   * `closes`: open calls that end without a result. `opens`: the calls that are open after the message.
   * `joined`: the message goes on the reply that stands before it, and no cut may come between the two.
   */
  { ok: true; closes: string[]; opens: string[]; joined?: true } | { ok: false; failure: Failure };

function refused(code: FailureCode, detail: string, at: string): Order {
  return { ok: false, failure: { code, detail, at } };
}

/**
 * Whether `message` may follow, and what that does to the open calls. `at` is its place for error messages.
 */
export function orderOf(place: Place, message: NativeMessage, at = "message"): Order {
  return (
    misplaced(place, message, at) ??
    (message.role === "tool" ? results(place, message, at) : other(place, message, at))
  );
}

function misplaced(place: Place, { role, restarts }: NativeMessage, at: string): Order | undefined {
  const { dialect, first, after, open } = place;
  if (first) {
    if (role === "system") {
      return refused(
        "system-is-envelope",
        "A system message before the first message belongs to the envelope.",
        at,
      );
    }
    // The provider's own compaction stands first, in place of all that it read (providers.md 4.2).
    if (role === "tool" || (role === "assistant" && dialect === "anthropic" && !restarts)) {
      return refused("not-first", "A conversation of this dialect can not start with this role.", at);
    }
  }
  // Anthropic: system stands behind a user message and before an assistant message (providers.md 1.3). The
  // results that close open calls are such a user message.
  if (dialect !== "anthropic" || after === undefined) return undefined;
  if (role === "system" && after === "assistant" && open.length === 0) {
    return refused("bad-message", "A system message can not follow an assistant message.", at);
  }
  if (after === "system" && (role === "user" || role === "tool")) {
    return refused("bad-message", "A user message can not follow a system message.", at);
  }
  return undefined;
}

function results({ open }: Place, message: NativeMessage, at: string): Order {
  const left = new Set(open);
  const seen = new Set<string>();
  for (const id of message.results) {
    if (seen.has(id)) return refused("bad-message", "Two results in one message answer the same call.", at);
    seen.add(id);
    if (left.delete(id)) continue;
    return refused("result-without-call", "A result answers no call that is open here.", at);
  }
  // Results alone leave room for the rest of their group; anything behind them ends it.
  const ends = message.parts.some((part) => part.type !== "result");
  return { ok: true, closes: ends ? [...left] : [], opens: ends ? [] : [...left] };
}

function other({ dialect, open, after }: Place, message: NativeMessage, at: string): Order {
  if (dialect === "openai-responses" && after === "assistant" && message.role === "assistant") {
    if (message.calls.some((id) => open.includes(id))) {
      return refused("bad-message", "Two calls of one reply have the same id.", at);
    }
    return { ok: true, closes: [], opens: [...open, ...message.calls], joined: true };
  }
  return { ok: true, closes: [...open], opens: [...message.calls] };
}

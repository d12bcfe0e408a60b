/**
 * Limits of a route that the provider itself taught: by a refusal, by a reply that the window ended, by a prompt
 * that it read only in part. A learned limit only ever lowers what is known, also what was configured; it expires,
 * and a later request that got through above it lifts it. Pure: `now` is a value.
 */
import type { Overflow } from "./overflow.ts";
import type { Capacity } from "./provider.ts";

/** One lesson: a window, or a limit of the input alone, in the provider's tokens; `until` in milliseconds. */
export type LearnedLimit = { window: number; until: number } | { inputLimit: number; until: number };

export type Lesson =
  /** `sent`: our estimate of the input that was refused, in the provider's tokens. */
  | { kind: "refused"; overflow: Overflow; sent: number }
  /** A reply that ended because the window was full: its input and output together. */
  | { kind: "full"; total: number }
  /** Input as it was reported for two requests in a row of which both were sent longer than they were read. */
  | { kind: "truncated"; read: number; before: number };

/** Limits change: providers raise them, a model moves to other machines. */
export const LEARNED_MS = 7 * 24 * 60 * 60 * 1_000;
/** No model in use is smaller: such a number means something else. */
const LEAST_LIMIT = 1_000;
/** Where the provider states no limit, what it refused is only known to be above it. */
const BELOW_REFUSED = 0.9;
/** Two prompts were cut at the same place when the reports are this close. */
const SAME_PLACE = 0.02;

/**
 * What a lesson adds to what is known about the route (`known`: with earlier lessons in it); undefined when it
 * teaches nothing: a limit not below the known one, none that could be true, or numbers that do not speak of one.
 */
export function learn(lesson: Lesson, known: Capacity, now: number): LearnedLimit | undefined {
  const found = limitOf(lesson);
  if (found === undefined) return undefined;
  const { tokens, inputOnly } = found;
  const before = inputOnly ? lesserOf(known.inputLimit, known.window) : known.window;
  if (!Number.isSafeInteger(tokens) || tokens < LEAST_LIMIT || tokens >= (before ?? Number.POSITIVE_INFINITY))
    return undefined;
  const until = now + LEARNED_MS;
  return inputOnly ? { inputLimit: tokens, until } : { window: tokens, until };
}

function limitOf(lesson: Lesson): { tokens: number; inputOnly: boolean } | undefined {
  if (lesson.kind === "full") return { tokens: lesson.total, inputOnly: false };
  if (lesson.kind === "truncated") {
    const { read, before } = lesson;
    const most = Math.max(read, before);
    return Math.abs(read - before) <= SAME_PLACE * most ? { tokens: most, inputOnly: true } : undefined;
  }
  const { overflow, sent } = lesson;
  if (overflow.limit !== undefined) {
    return { tokens: overflow.limit, inputOnly: overflow.inputOnly === true };
  }
  // The provider's own count is better than ours, where it states one without the limit.
  const counted = overflow.inputTokens ?? sent;
  const below = overflow.excess === undefined ? counted * BELOW_REFUSED : counted - overflow.excess;
  return { tokens: Math.floor(below), inputOnly: true };
}

/** The lessons in force after a new one: the newest of each kind, which is the lowest. */
export function remember(kept: readonly LearnedLimit[], fresh: LearnedLimit): LearnedLimit[] {
  return [...kept.filter((one) => "window" in one !== "window" in fresh), fresh];
}

/** The lessons in force after a request that the provider took: what it disproves is gone. Tokens, cache included. */
export function lifted(
  kept: readonly LearnedLimit[],
  accepted: { input: number; output: number },
): LearnedLimit[] {
  return kept.filter((one) =>
    "window" in one ? accepted.input + accepted.output <= one.window : accepted.input <= one.inputLimit,
  );
}

/** What a route holds under its lessons. `learned`: one of them made the difference. */
export function overlayLearned(
  base: Capacity,
  kept: readonly LearnedLimit[],
  now: number,
): { capacity: Capacity; learned: boolean } {
  let capacity = base;
  for (const one of kept) {
    if (one.until <= now) continue;
    if ("window" in one && one.window < (capacity.window ?? Number.POSITIVE_INFINITY)) {
      capacity = { ...capacity, window: one.window };
    }
    const input = lesserOf(capacity.inputLimit, capacity.window) ?? Number.POSITIVE_INFINITY;
    if ("inputLimit" in one && one.inputLimit < input) {
      capacity = { ...capacity, inputLimit: one.inputLimit };
    }
  }
  return { capacity, learned: capacity !== base };
}

function lesserOf(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

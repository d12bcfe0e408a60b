/**
 * The user's own requests, folded within a byte budget: the session's first verbatim up to a cap, the newest
 * typed one, and of the rest the newest, corrections before others. Only text that a user message holds may
 * enter.
 */
import { jsonBytes } from "../clip.ts";
import { isFirm, isNoise } from "./noise.ts";
import { type StoredText, storedText } from "./stored-text.ts";

/** A request as it was typed; a long one keeps its beginning and its end. */
export interface RequestFact extends StoredText {
  seq: number;
  /** The message looks like the harness's own. */
  noise?: true;
}

/**
 * Bytes as a JSON string. The newest holds 2,048 tokens of English, which is what a frame states at the most.
 */
const caps = { first: 4_096, firstTyped: 2_048, newest: 8_192, noise: 1_024, other: 640 } as const;

/** Bytes of all requests that are neither first nor newest. */
const OTHERS = 2_816;

/** That many of the newest requests are not weighed by their words. */
const PROTECTED = 6;

/** Shorter requests ("continue", "yes") are the first to go. */
const TRIVIAL = 16;

export interface FoldedRequests {
  requests: RequestFact[];
  dropped: number;
}

export function foldRequests(
  before: readonly RequestFact[],
  added: readonly { seq: number; text: string }[],
): FoldedRequests {
  const all = withoutRepeats([...before, ...added.map(requestFact)]);
  const typed = all.filter((request) => request.noise === undefined);
  const first = all[0];
  const newest = typed.at(-1) ?? all.at(-1);
  const kept = new Map<number, RequestFact>();
  const keep = (request: RequestFact | undefined, cap: number): void => {
    if (request === undefined || kept.has(request.seq)) return;
    kept.set(request.seq, clipRequest(request, request.noise ? Math.min(cap, caps.noise) : cap));
  };
  keep(newest, caps.newest);
  keep(first, caps.first);
  if (first?.noise) keep(typed[0], caps.firstTyped);
  const others = (typed.length > 0 ? typed : all).filter((request) => !kept.has(request.seq));
  for (const request of within(others, OTHERS)) kept.set(request.seq, request);
  const requests = all.flatMap((request) => kept.get(request.seq) ?? []);
  return { requests, dropped: before.length + added.length - requests.length };
}

/** Of requests in the same words the newest stands for all; the session's first message stays what it is. */
function withoutRepeats(requests: readonly RequestFact[]): RequestFact[] {
  const newest = new Map(requests.map((request) => [request.text, request.seq]));
  return requests.filter((request, at) => at === 0 || newest.get(request.text) === request.seq);
}

function requestFact({ seq, text }: { seq: number; text: string }): RequestFact {
  return isNoise(text) ? { seq, text, noise: true } : { seq, text };
}

/**
 * The requests that fit, each clipped: the newest always, then corrections, then the rest, younger before
 * older.
 */
function within(requests: readonly RequestFact[], max: number): RequestFact[] {
  const ranked = requests.map((request, at) => ({
    request: clipRequest(request, caps.other),
    rank: at >= requests.length - PROTECTED ? 3 : rankOf(request.text),
    at,
  }));
  ranked.sort((a, b) => b.rank - a.rank || b.at - a.at);
  let room = max;
  const kept = ranked.filter(({ request }) => {
    const bytes = jsonBytes(request.text, room) + jsonBytes(request.tail ?? "", room) + 48;
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
  return kept.sort((a, b) => a.at - b.at).map(({ request }) => request);
}

function rankOf(text: string): number {
  if (isFirm(text)) return 2;
  return text.trim().length < TRIVIAL ? 0 : 1;
}

function clipRequest({ seq, noise, ...stored }: RequestFact, cap: number): RequestFact {
  return { seq, ...storedText(stored, cap), ...(noise === undefined ? {} : { noise }) };
}

/**
 * Pruning: what the model-free short form of one message is. A long result becomes head + one marker line + tail, media become
 * a one-line note, long string arguments are clipped the same way. Ids, order and error flags stay. Forms are made from the
 * original, so the same rung twice changes nothing. Pure.
 */
import type { ContentPart, Dialect, MediaPart, NewContent } from "../dialects/dialect.ts";
import { codePoints, headOf, tailOf } from "./graphemes.ts";
import type { PrunePolicy } from "./policy.ts";

/** In code points. A text longer than `over` is shortened, if that makes it shorter. */
export interface Limits {
  over: number;
  head: number;
  tail: number;
}

/** Version of the bytes that pruning inserts; a form keeps the version it was made with. */
export const PRUNE_VERSION = 1;

const FLOOR = { head: 256, tail: 64 };

/** The limits of the last rung: head and tail halve per round down to 256 + 64; any text that gets shorter is shortened. */
export function lastRungLimits(prune: PrunePolicy): Limits[] {
  const rounds: Limits[] = [];
  let head = Math.max(prune.head, FLOOR.head);
  let tail = Math.max(prune.tail, FLOOR.tail);
  for (;;) {
    rounds.push({ head, tail, over: head + tail });
    if (head === FLOOR.head && tail === FLOOR.tail) return rounds;
    head = Math.max(FLOOR.head, Math.floor(head / 2));
    tail = Math.max(FLOOR.tail, Math.floor(tail / 2));
  }
}

/** The short form of a message with results; undefined when nothing is over the limit. `seq` makes the handles. */
export function pruneResults(
  dialect: Dialect,
  bytes: Uint8Array,
  limits: Limits,
  seq: number,
  only?: (call: string) => boolean,
): Uint8Array | undefined {
  let results = 0;
  dialect.rewriteResults(bytes, () => {
    results++;
    return undefined;
  });
  return dialect.rewriteResults(bytes, ({ index, call, content }) => {
    if (only !== undefined && !only(call)) return undefined;
    return shortContent(content, limits, results > 1 ? `${seq}.${index}` : String(seq));
  });
}

/** A user's older images and files as notes; text that the user typed is never touched. */
export function pruneMedia(dialect: Dialect, bytes: Uint8Array, seq: number): Uint8Array | undefined {
  return dialect.withoutMedia(bytes, (media) => mediaNote(media, String(seq)));
}

/** Long string arguments of calls, clipped; valid JSON stays valid. */
export function clipArguments(
  dialect: Dialect,
  bytes: Uint8Array,
  limits: Limits,
  seq: number,
): Uint8Array | undefined {
  return dialect.rewriteArguments(bytes, (value) => shortText(value, limits, String(seq)));
}

function shortText(text: string, { over, head, tail }: Limits, handle: string): string | undefined {
  if (text.length <= over) return undefined;
  const points = codePoints(text);
  if (points <= over) return undefined;
  const first = headOf(text, head);
  const last = tailOf(text, tail);
  const left = points - codePoints(first) - codePoints(last);
  const middle = marker(left, points, handle);
  return middle.length < left ? `${first}${middle}${last}` : undefined;
}

/** New content of one result, or undefined to leave it. Texts are taken as one: the head from the first, the tail from the last. */
function shortContent(
  content: readonly ContentPart[],
  limits: Limits,
  handle: string,
): NewContent[] | undefined {
  const texts = content.filter((part) => part.type === "text");
  const media = content.length - texts.length;
  const points = texts.reduce((sum, part) => sum + codePoints(part.text), 0);
  const whole =
    media === 0
      ? undefined
      : content.map((part, keep) => (part.type === "media" ? { text: mediaNote(part, handle) } : { keep }));
  if (points <= limits.over) return whole;
  const heads = shares(texts, limits.head, "head");
  const tails = shares(texts, limits.tail, "tail");
  const left = points - [...heads, ...tails].reduce((sum, text) => sum + codePoints(text), 0);
  const mark = marker(left, points, handle);
  if (mark.length >= left) return whole;
  const markAt = texts.findIndex((part, index) => heads[index] !== part.text);
  const out: NewContent[] = [];
  let at = 0;
  for (const part of content) {
    if (part.type === "media") {
      out.push({ text: mediaNote(part, handle) });
      continue;
    }
    const middle = at === markAt ? mark : "";
    const text = `${heads[at]}${middle}${tails[at]}`;
    if (text !== "") out.push({ text });
    at++;
  }
  return out;
}

/** How much of each text falls into the first (or last) `budget` code points of all of them. */
function shares(texts: readonly { text: string }[], budget: number, side: "head" | "tail"): string[] {
  const out = texts.map(() => "");
  let left = budget;
  for (let n = 0; n < texts.length && left > 0; n++) {
    const index = side === "head" ? n : texts.length - 1 - n;
    const text = texts[index]!.text;
    const part = side === "head" ? headOf(text, left) : tailOf(text, left);
    out[index] = part;
    left -= part.length === text.length ? codePoints(part) : left;
  }
  return out;
}

function marker(left: number, all: number, handle: string): string {
  return `\n[Plimsoll left out ${left} of ${all} characters here; handle ${handle}]\n`;
}

function mediaNote(media: MediaPart, handle: string): string {
  return `[Plimsoll left out ${headOf(media.note, 60)} here; handle ${handle}]`;
}

/**
 * Whether a model's reply may become a checkpoint. Fails closed: a reply that is empty, cut, filtered, a tool
 * call, only markup, over its cap or not smaller than what it stands for is refused whole; nothing of it is
 * kept. Says what a second attempt should be told.
 */
import type { ModelReply } from "../providers/provider.ts";

export type Refused =
  | "empty"
  | "tool-call"
  | "markup-only"
  | "truncated"
  | "filtered"
  | "over-cap"
  | "not-smaller";

export type CheckedReply =
  | { ok: true; text: string; tokens: number }
  | { ok: false; refused: Refused; correction: string };

export interface ReplyLimits {
  /** Tokens that the framed text may have. */
  cap: number;
  /** Price of the span; the framed text must cost less. */
  spanPrice: number;
  /** What the frame costs around the text: its label, the verbatim requests, what a message costs besides. */
  framePrice: number;
  count: (text: string) => number;
}

const corrections: Record<Exclude<Refused, "over-cap" | "not-smaller">, string> = {
  empty: "It held no text. Think briefly, and write the summary itself as plain text.",
  "tool-call": "It called a tool. Tools can not be used here: write the summary as plain text.",
  "markup-only": "It held only markup. Write the summary as plain Markdown text, without tags around it.",
  truncated:
    "It was cut off at the output limit. Think less and write a shorter summary that ends by itself.",
  filtered: "It was withheld by a content filter. Keep to the technical facts of the work.",
};

/** Words by which servers that follow no standard say that a reply ended by itself. */
const ended = new Set(["eos", "eos_token", "end", "endoftext", "complete", "completed", "finished", "done"]);

/** The text that may be framed, or why the reply is refused and the sentence for the one corrective retry. */
export function checkReply(reply: ModelReply, limits: ReplyLimits): CheckedReply {
  const { finish, toolCalls, finishReason } = reply;
  if (finish === "filter") return refuse("filtered");
  if (toolCalls > 0 || finish === "tool") return refuse("tool-call");
  if (finish === "length") return refuse("truncated");
  if (finish === "other" && !ended.has(finishReason.toLowerCase())) return refuse("truncated");
  if (reply.text.trim() === "") return refuse("empty");
  const text = unwrapped(reply.text);
  if (isCall(text)) return refuse("tool-call");
  if (!hasWords(text)) return refuse("markup-only");
  return sized(text, limits);
}

function refuse(refused: keyof typeof corrections): CheckedReply {
  return { ok: false, refused, correction: corrections[refused] };
}

/** Longest token of the vocabulary in bytes: a longer text than this per token is over any cap, uncounted. */
const LONGEST_TOKEN = 128;

function sized(text: string, { cap, spanPrice, framePrice, count }: ReplyLimits): CheckedReply {
  const room = cap - framePrice;
  const tokens =
    text.length > Math.max(room, spanPrice) * LONGEST_TOKEN ? Number.POSITIVE_INFINITY : count(text);
  if (tokens <= room && framePrice + tokens < spanPrice) return { ok: true, text, tokens };
  const most = Math.max(0, Math.min(room, spanPrice - framePrice - 1));
  const correction = `It was too long. Write at most ${Math.max(50, Math.floor(most * 0.5))} words.`;
  return { ok: false, refused: tokens > room ? "over-cap" : "not-smaller", correction };
}

/** The summary without what models put around it: thinking in the text, a code fence, our own frame. */
function unwrapped(reply: string): string {
  let text = reply.trim();
  for (let turn = 0; turn < 4; turn++) {
    const inner = unfenced(unframed(withoutThinking(text)));
    if (inner === text) break;
    text = inner;
  }
  return text;
}

/** Thinking that a server left in the text. Without its end all of it is thinking. */
function withoutThinking(text: string): string {
  const tag = /^<(think|thinking|reasoning|analysis)>/i.exec(text)?.[1];
  if (tag === undefined) return text;
  const end = new RegExp(`</${tag}>`, "i").exec(text);
  return end === null ? "" : text.slice(end.index + end[0].length).trim();
}

function unframed(text: string): string {
  const tag = /^<(compacted-summary|summary)(?:\s[^<>]{0,400})?>/i.exec(text);
  if (tag === null) return text;
  const close = `</${tag[1]!.toLowerCase()}>`;
  const closed = text.slice(-close.length).toLowerCase() === close;
  const inner = text.slice(tag[0].length, closed ? -close.length : undefined).trim();
  return tag[1]!.toLowerCase() === "summary" ? inner : withoutFrameParts(inner);
}

/** A copied frame: its note and its requests are not the summary. The frame states them itself. */
function withoutFrameParts(text: string): string {
  const labelEnd = text.startsWith("Automatic summary of ") ? text.indexOf("\n") : 0;
  return labelEnd < 0 ? "" : withoutBlocks(text.slice(labelEnd), "user-request").trim();
}

function unfenced(text: string): string {
  const open = /^```(?:markdown|md|text)?\n/.exec(text)?.[0];
  if (open === undefined || !text.endsWith("\n```") || text.length < open.length + 4) return text;
  const inner = text.slice(open.length, -4);
  return inner.includes("\n```") ? text : inner.trim();
}

/** Blocks by which models without a tool channel write calls; what is inside is no text for anyone. */
const callBlocks = [
  "tool_call",
  "tool_calls",
  "function_call",
  "function_calls",
  "invoke",
  "tool_use",
  "tool_code",
];

/** Whether any letter or digit is left beside tags, call blocks and images. */
function hasWords(text: string): boolean {
  let rest = text;
  for (const tag of callBlocks) rest = withoutBlocks(rest, tag);
  rest = rest
    .replaceAll(/!\[[^[\]\n]{0,200}\]\([^()\s]{0,10000}\)/g, "")
    .replaceAll(/<[^<>\n]{1,400}>|```\w{0,20}/g, "");
  return /[\p{L}\p{N}]/u.test(rest);
}

function withoutBlocks(text: string, tag: string): string {
  const open = `<${tag}`;
  const close = `</${tag}>`;
  const kept: string[] = [];
  let from = 0;
  for (let at = text.indexOf(open); at >= 0; at = text.indexOf(open, from)) {
    kept.push(text.slice(from, at));
    const end = text.indexOf(close, at);
    if (end < 0) return kept.join("");
    from = end + close.length;
  }
  return kept.join("") + text.slice(from);
}

/** A call written out as JSON: an object with a name and arguments, and nothing else. */
function isCall(text: string): boolean {
  if (!/^[[{]/.test(text) || text.length > 1_048_576) return false;
  try {
    const value: unknown = JSON.parse(text);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    if (typeof first !== "object" || first === null) return false;
    return "name" in first && ("arguments" in first || "input" in first || "parameters" in first);
  } catch {
    return false;
  }
}

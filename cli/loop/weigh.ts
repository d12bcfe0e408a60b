/**
 * What a request weighs, by exact count: texts, thinking, call names and arguments, result texts, 12 per
 * message, 1,600 per image, and the envelope. Each message is counted once in the life of a scale: the count
 * is kept by the digest of its JSON, so a re-sent history costs no counting.
 */
import { countTokens, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";
import type { WireDialect } from "../../src/dialects/wire.ts";
import { PER_MEDIA, PER_MESSAGE } from "../../src/meter/price.ts";
import { type Json, list, objectOf, textOf } from "./json.ts";
import { canonical, canonicalMessage, digest } from "./thinking.ts";

/** A request on the scale. Index 0 of `chain` and `sums` is the envelope, n the n-th message behind it. */
export interface Weighed {
  messages: Json[];
  /** Digest of everything up to here; equal digests, equal prefixes. */
  chain: string[];
  /** Tokens up to here. */
  sums: number[];
  tokens: number;
}

export interface Scale {
  weigh(dialect: WireDialect, body: Json): Weighed;
  text(text: string): number;
}

const plainText = { disallowedSpecial: new Set<string>() };

/** `density`: tokens of this provider for one of the count; a prefix is rounded up. */
export function createScale(density = 1): Scale {
  setMergeCacheSize(0);
  const kept = new Map<string, number>();
  const count = (text: string) => (text === "" ? 0 : countTokens(text, plainText));
  const once = (key: string, weigh: () => number): number => {
    let tokens = kept.get(key);
    if (tokens === undefined) {
      tokens = weigh();
      kept.set(key, tokens);
    }
    return tokens;
  };

  return {
    text: (text) => Math.ceil(density * count(text)),
    weigh(dialect, body) {
      const { envelope, messages } = divide(dialect, body);
      const root = digest(canonical([dialect, body.model, envelope]));
      let sum = once(root, () => envelope.reduce<number>((total, part) => total + count(textsIn(part)), 0));
      let link = root;
      const chain = [link];
      const sums = [Math.ceil(density * sum)];
      for (const message of messages) {
        const key = digest(canonicalMessage(message));
        sum += once(key, () => PER_MESSAGE + weighParts(partsOf(message), count));
        link = digest(link + key);
        chain.push(link);
        sums.push(Math.ceil(density * sum));
      }
      return { messages, chain, sums, tokens: sums.at(-1) ?? 0 };
    },
  };
}

/** System texts and tools, and the messages behind them. A string as input is one user message. */
function divide(dialect: WireDialect, body: Json): { envelope: unknown[]; messages: Json[] } {
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? canonical(body.tools) : "";
  if (dialect === "anthropic") return { envelope: [body.system, tools], messages: list(body.messages) };
  const all =
    dialect === "openai-chat"
      ? list(body.messages)
      : typeof body.input === "string"
        ? [{ role: "user", content: body.input }]
        : list(body.input);
  const first = all.findIndex(({ role }) => role !== "system" && role !== "developer");
  const behind = first < 0 ? all.length : first;
  const system = all.slice(0, behind).map(({ content }) => content);
  return { envelope: [body.instructions, ...system, tools], messages: all.slice(behind) };
}

function textsIn(part: unknown): string {
  if (typeof part === "string") return part;
  return list(part)
    .map(({ text }) => textOf(text))
    .join("\n");
}

type Part = { text: string } | { media: true };

function weighParts(parts: readonly Part[], count: (text: string) => number): number {
  return parts.reduce((sum, part) => sum + ("text" in part ? count(part.text) : PER_MEDIA), 0);
}

/** Everything in a message or item that has a price. */
function partsOf(message: Json): Part[] {
  const parts = [
    ...contentParts(message.content),
    ...contentParts(message.output),
    ...contentParts(message.summary),
  ];
  for (const key of ["reasoning_content", "refusal", "arguments"])
    if (textOf(message[key]) !== "") parts.push({ text: textOf(message[key]) });
  if (message.type === "function_call") parts.push({ text: textOf(message.name) });
  for (const call of list(message.tool_calls)) {
    const body = objectOf(call.function ?? call.custom) ?? {};
    parts.push({ text: textOf(body.name) }, { text: textOf(body.arguments ?? body.input) });
  }
  return parts;
}

const media = /^(input_)?(image|image_url|file|audio|document)$/;

function contentParts(content: unknown): Part[] {
  if (typeof content === "string") return [{ text: content }];
  return list(content).flatMap((block): Part[] => {
    const type = textOf(block.type);
    if (media.test(type)) return [{ media: true }];
    if (type === "tool_use")
      return [{ text: textOf(block.name) }, { text: JSON.stringify(block.input ?? {}) }];
    if (type === "tool_result") return contentParts(block.content);
    return [{ text: textOf(block.text ?? block.thinking ?? block.refusal) }];
  });
}

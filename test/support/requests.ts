/**
 * What a provider would say to a request of a random conversation: order and pairs by `legal.ts`, and thinking by
 * signatures that name the route that made them and everything that stood before them (providers.md 0.1).
 */
import { createHash } from "node:crypto";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { textOf } from "./naive-messages.ts";
import { routes } from "./world.ts";

/** A request as it goes out: its messages as raw bytes, its system prompt and tools as JSON texts. */
export interface Sent {
  dialect: DialectName;
  route: string;
  system: string;
  tools: string;
  messages: readonly Uint8Array[];
}

/** The signature of thinking that answers this request. */
export function sign(sent: Sent): string {
  return `${sent.route}|${prefixDigest(sent, sent.messages.length)}`;
}

function prefixDigest({ system, tools, messages }: Sent, count: number): string {
  const hash = createHash("sha256").update(`${system}\n${tools}`);
  for (const message of messages.slice(0, count)) hash.update("\n").update(message);
  return hash.digest("hex").slice(0, 20);
}

interface Block {
  type: string;
  signature?: string;
}

function blocksOf(message: Uint8Array): Block[] {
  const { content } = JSON.parse(textOf(message)) as { content: unknown };
  return Array.isArray(content) ? (content as Block[]) : [];
}

/** Every fault of the request, each as a word and a place. */
export function faultsOf(sent: Sent): string[] {
  const faults = violations(sent.dialect, sent.messages).map(({ at, rule }) => `${rule} at ${at}`);
  return [...faults, ...thinkingFaults(sent)];
}

export function thinkingFaults(sent: Sent, foreign = true): string[] {
  if (sent.dialect !== "anthropic") return [];
  const bound = routes[sent.route]?.thinkingBinding === "prefix";
  return sent.messages.flatMap((message, at) =>
    blocksOf(message).flatMap(({ type, signature = "" }) => {
      if (type !== "thinking" || signature === "imported") return [];
      const [route, digest] = signature.split("|");
      if (route !== sent.route) return foreign ? [`thinking of ${route} at ${at}, not of ${sent.route}`] : [];
      return bound && digest !== prefixDigest(sent, at)
        ? [`thinking at ${at} is bound to another conversation`]
        : [];
    }),
  );
}

/** Whether the request ends in results alone, so that some models want the newest reply's thinking in front of them. */
export function endsInResults({ dialect, messages }: Sent): boolean {
  const last = messages.at(-1);
  return dialect === "anthropic" && last !== undefined && isResults(blocksOf(last));
}

function isResults(blocks: readonly Block[]): boolean {
  return blocks.length > 0 && blocks.every(({ type }) => type === "tool_result");
}

/** The signature that a message's thinking begins with, if it begins with thinking. */
export function leadingSignature(message: Uint8Array): string | undefined {
  const first = blocksOf(message)[0];
  return first?.type === "thinking" ? first.signature : undefined;
}

export function isReply(message: Uint8Array): boolean {
  return (JSON.parse(textOf(message)) as { role: string }).role === "assistant";
}

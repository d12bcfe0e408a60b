/**
 * Thinking as Anthropic checks it: manual thinking in an open tool loop, and signatures that are bound to
 * everything in front of the message that holds them (reference: preserved thinking, prefix checks).
 */
import { createHash } from "node:crypto";
import type { ThinkingBinding } from "../../src/providers/provider.ts";
import type { Fault } from "./checks.ts";
import { type Json, list, numberOf, objectOf, textOf } from "./json.ts";

/** Manual thinking: its budget, and the reply of an open tool loop must still start with its thinking. */
export function thinkingFault(body: Json, messages: readonly Json[], cap: number): Fault | undefined {
  const thinking = objectOf(body.thinking);
  if (thinking?.type !== "enabled") return undefined;
  const budget = numberOf(thinking.budget_tokens) ?? 0;
  if (budget < 1024)
    return ["thinking", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"];
  if (budget >= cap) return ["thinking", "`max_tokens` must be greater than `thinking.budget_tokens`."];
  const choice = objectOf(body.tool_choice)?.type;
  if (choice === "any" || choice === "tool")
    return ["thinking", "Thinking may not be enabled when tool_choice forces tool use."];
  if (!list(messages.at(-1)?.content).some((block) => block.type === "tool_result")) return undefined;
  const at = messages.findLastIndex((message) => message.role === "assistant");
  const first = list(messages[at]?.content)[0]?.type;
  return first === "thinking" || first === "redacted_thinking"
    ? undefined
    : [
        "thinking",
        `messages.${at}.content.0.type: ` +
          `Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first)}\`. When \`thinking\` ` +
          "is enabled, a final `assistant` message must start with a thinking block (preceeding the " +
          "lastmost set of `tool_use` and `tool_result` blocks).",
      ];
}

/** A signature that was made here is bound to everything before the message that holds it. */
export function bindingFault(
  body: Json,
  messages: readonly Json[],
  binding: ThinkingBinding | undefined,
): Fault | undefined {
  const control = objectOf(objectOf(body.thinking)?.block_binding)?.prefix_mismatch_behavior;
  if (binding !== "prefix" || control === "drop_block") return undefined;
  let prefix = rootDigest(body);
  for (const [i, message] of messages.entries()) {
    for (const [j, block] of list(message.content).entries()) {
      if (block.type === "thinking" && block.signature !== signatureOf(prefix, textOf(block.thinking))) {
        return [
          "binding",
          `messages.${i}.content.${j}: Invalid \`signature\` in \`thinking\` block. The block is bound to ` +
            "a different conversation. Remove the block, or set " +
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
        ];
      }
    }
    prefix = nextDigest(prefix, message);
  }
  return undefined;
}

/** Without a bound prefix a signature still belongs to its text: thinking that was changed is refused. */
export function forgedFault(messages: readonly Json[]): Fault | undefined {
  for (const [i, message] of messages.entries()) {
    for (const [j, block] of list(message.content).entries()) {
      if (block.type !== "thinking") continue;
      if (textOf(block.signature).endsWith(`.${digest(textOf(block.thinking))}`)) continue;
      return [
        "thinking",
        `messages.${i}.content.${j}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant ` +
          "message cannot be modified. These blocks must remain as they were in the original response.",
      ];
    }
  }
  return undefined;
}

/** Signature of this thinking as the beginning of the answer to these messages; cache marks do not count. */
export function signatureFor(body: Json, messages: readonly unknown[], thinking: string): string {
  return signatureOf(messages.reduce(nextDigest, rootDigest(body)), thinking);
}

function signatureOf(prefix: string, thinking: string): string {
  return `${prefix}.${digest(thinking)}`;
}

function rootDigest(body: Json): string {
  return digest(canonical([blocksOf(body.system ?? null), body.tools ?? null]));
}

function nextDigest(prefix: string, message: unknown): string {
  return digest(prefix + canonicalMessage(message));
}

/** A message for comparison: without cache marks, and a string is the one text block that it stands for. */
export function canonicalMessage(message: unknown): string {
  const { content, ...rest } = objectOf(message) ?? {};
  if (content === undefined) return canonical(message);
  const blocks = Array.isArray(content) ? content.map(resultBlocks) : blocksOf(content);
  return canonical({ ...rest, content: blocks });
}

function blocksOf(content: unknown): unknown {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function resultBlocks(block: unknown): unknown {
  const known = objectOf(block);
  if (known?.type !== "tool_result" || typeof known.content !== "string") return block;
  return { ...known, content: blocksOf(known.content) };
}

/** JSON without cache marks. Most messages have none and need no second look. */
export function canonical(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  if (!text.includes('"cache_control"')) return text;
  return JSON.stringify(value, (key, inner: unknown) => (key === "cache_control" ? undefined : inner));
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

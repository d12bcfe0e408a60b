import type { Entry } from "./arrange.ts";
import { asList, asText, isObject, type Json, type Ledger } from "./session.ts";

/** Shared by the importers that make Anthropic messages: which blocks a message may hold, and how one is written. */

const userBlocks = new Set(["text", "image", "document", "search_result"]);

/** A user message with this content: a typed text, or blocks. Undefined when none of it can be played (all is counted). */
export function userMessage(content: unknown, ledger: Ledger): Entry | undefined {
  if (typeof content === "string") return content.trim() === "" ? ledger.skip("empty") : user(content);
  const blocks = asList(content);
  if (blocks.length === 0) return ledger.skip("empty");
  const kept = blocks.filter((block) => playable(block, ledger));
  return kept.length === 0 ? undefined : user(kept);
}

function user(content: unknown): Entry {
  return { kind: "user", json: JSON.stringify({ role: "user", content }) };
}

function playable(block: unknown, ledger: Ledger): boolean {
  if (!isObject(block) || !userBlocks.has(asText(block.type) ?? "")) {
    ledger.skip("unreadable");
    return false;
  }
  if (block.type !== "text") return true;
  if (asText(block.text) === undefined) {
    ledger.skip("unreadable");
    return false;
  }
  if (asText(block.text)?.trim() !== "") return true;
  ledger.skip("empty");
  return false;
}

/**
 * An assistant message of these blocks, less the calls whose number is not in `kept`. Thinking at the end is left out:
 * the provider refuses a message that ends with it. Undefined when nothing is left.
 */
export function assistantMessage(
  blocks: readonly Json[],
  kept: ReadonlySet<number>,
  ledger: Ledger,
): string | undefined {
  let call = -1;
  const content = blocks.filter((block) => {
    if (block.type !== "tool_use") return true;
    call += 1;
    return kept.has(call);
  });
  while (isThinking(content.at(-1))) {
    content.pop();
    ledger.skip("thinking");
  }
  return content.length === 0 ? undefined : JSON.stringify({ role: "assistant", content });
}

export function isThinking(block: Json | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

/** A thinking block without its signature (or redacted data) can not be sent back. */
export function isSigned(block: Json): boolean {
  const proof = block.type === "thinking" ? block.signature : block.data;
  return typeof proof === "string" && proof !== "";
}

/** The content of a tool result: a string as it stands, blocks that a provider knows, anything else as its JSON text. */
export function resultContent(content: unknown): unknown {
  if (content === undefined || typeof content === "string") return content;
  return asList(content).map((block) =>
    isObject(block) && userBlocks.has(asText(block.type) ?? "")
      ? block
      : { type: "text", text: JSON.stringify(block) },
  );
}

/** Ids of other providers may hold characters that Anthropic refuses. */
export function callId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

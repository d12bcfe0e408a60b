/**
 * What counts of a message in each dialect, field by field. A field without a rule counts whole, so that an unknown one is never
 * lost; a field that is null, "", [] or {} never counts.
 */
import type { WireDialect } from "./wire.ts";

/**
 * How a field is taken. `skip`: not at all. `reasoning`: not at all, and what has nothing else is transparent. `json`: a string
 * that holds JSON, as that JSON. `blocks`: a string that is one text block, or a list of blocks. `flag`: absent while false.
 * `role`, `item`: the type of a Responses item, where a message needs none. `unless`: absent while it is that string. `shape`: an object, or a list of objects, with rules of its own.
 */
export type Rule =
  | "role"
  | "item"
  | "skip"
  | "reasoning"
  | "json"
  | "blocks"
  | "flag"
  | { unless: string }
  | { shape: Shape };

export type Shape = ReadonlyMap<string, Rule>;

function shape(rules: Record<string, Rule>, ...more: readonly (readonly [string, Rule][])[]): Shape {
  return new Map([...more.flat(), ...Object.entries(rules)]);
}

function all(rule: Rule, ...names: string[]): [string, Rule][] {
  return names.map((name) => [name, rule]);
}

/** Marks for the provider's cache, at any level. */
const cacheMarks = all("skip", "cache_control", "prompt_cache_breakpoint");
/** What a provider gives to an answer and clients keep or drop as they like. */
const identity = all("skip", "id", "status");
/** What clients and providers add to an answer that says nothing new. */
const additions = all(
  "skip",
  "parsed",
  "parsed_arguments",
  "annotations",
  "citations",
  "logprobs",
  "index",
  "provider_specific_fields",
);
/** Reasoning in the fields of a message, as compatible servers and routers name it, and the proofs that come with it. */
const reasoning = all(
  "reasoning",
  "thinking",
  "thinking_blocks",
  "reasoning",
  "reasoning_content",
  "reasoning_text",
  "reasoning_details",
  "reasoning_opaque",
  "signature",
  "thought_signature",
  "encrypted_content",
  "extra_content",
);

const chatFunction = shape({ arguments: "json" }, cacheMarks, additions);
const chatCall = shape(
  { type: { unless: "function" }, function: { shape: chatFunction }, status: "skip" },
  cacheMarks,
  additions,
  reasoning,
);
const chatMessage = shape(
  {
    role: "role",
    content: "blocks",
    tool_calls: { shape: chatCall },
    function_call: { shape: chatFunction },
    // An answer's audio is re-sent by its id alone.
    audio: { shape: shape({}, all("skip", "data", "transcript", "expires_at")) },
  },
  cacheMarks,
  identity,
  additions,
  reasoning,
);

/** One rule book for all items: their fields do not contradict each other. */
const responsesItem = shape(
  {
    role: "role",
    type: "item",
    content: "blocks",
    output: "blocks",
    arguments: "json",
    // The provider's label of an answer, which clients that print their own messages lose.
    phase: "skip",
  },
  cacheMarks,
  identity,
  additions,
);

/** For an item that is nothing but its id. */
export const bareShape = shape({ status: "skip" }, cacheMarks);

const anthropicMessage = shape(
  { content: "blocks" },
  cacheMarks,
  identity,
  all("skip", "type", "model", "usage", "stop_reason", "stop_sequence"),
);

export const messageShapes: Record<WireDialect, Shape> = {
  "openai-chat": chatMessage,
  "openai-responses": responsesItem,
  anthropic: anthropicMessage,
};

/**
 * Where neighbouring texts of one answer are one: clients that gather a stream join them, or keep one for each piece. Anthropic's
 * blocks stay apart: its citations make the cuts, and no client that sends a legal request changes them.
 */
export const joinsTexts: ReadonlySet<WireDialect> = new Set(["openai-chat", "openai-responses"]);

/** A text in any dialect. Its `type` says nothing that the role does not. */
export const textTypes: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);
export const textShape = shape({ type: "skip" }, cacheMarks, identity, additions, reasoning);

/** Blocks and items that are left out whole. */
export const reasoningTypes: ReadonlySet<string> = new Set([
  "thinking",
  "redacted_thinking",
  "reasoning",
  "reasoning_text",
]);

/** Blocks of every other type. The `id` of a call counts: its result names it. */
export const blockShape = shape(
  {
    content: "blocks",
    source: { shape: shape({ content: "blocks" }, cacheMarks) },
    is_error: "flag",
    caller: { shape: shape({ type: { unless: "direct" } }) },
    index: "skip",
    signature: "skip",
  },
  cacheMarks,
);

/**
 * What OpenAI Responses refuses in a list of input items: calls without outputs and outputs without calls,
 * reasoning apart from what followed it, ids twice, roles, empty lists, reasoning that nobody can read.
 * Wordings: captured ones of reference/providers.md 1.2, else as near as is known.
 */
import type { Fault } from "./checks.ts";
import { type Json, objectOf, textOf } from "./json.ts";
import { digest } from "./thinking.ts";

/** `input` must be resolved: no reference to an earlier response stands for items any more. */
export function responsesFault(body: Json): Fault | undefined {
  const { input, tools } = body;
  if (input === undefined || input === "" || (Array.isArray(input) && input.length === 0))
    return ["empty", 'One of "input" or "previous_response_id" or \'prompt\' must be provided.'];
  if (typeof input === "string") return undefined;
  if (!Array.isArray(input)) return ["shape", "Invalid type for 'input': expected a string or an array."];
  if (tools !== undefined && !Array.isArray(tools)) return ["tools", "Invalid type for 'tools'."];
  const items = input.map((item) => objectOf(item) ?? {});
  return itemFault(items) ?? duplicateFault(items) ?? pairFault(items) ?? reasoningFault(items);
}

const roles = new Set(["user", "assistant", "system", "developer"]);

export function typeOf(item: Json): string {
  return textOf(item.type) || (item.role === undefined ? "" : "message");
}

function itemFault(items: readonly Json[]): Fault | undefined {
  for (const [at, item] of items.entries()) {
    const type = typeOf(item);
    if (type === "") return ["shape", `Missing required parameter: 'input[${at}].type'.`];
    if (type === "message" && !roles.has(textOf(item.role)))
      return ["unknown-role", `Invalid value: '${textOf(item.role)}' for 'input[${at}].role'.`];
    if (type === "message" && Array.isArray(item.content) && item.content.length === 0)
      return ["empty-content", `Invalid 'input[${at}].content': empty array.`];
    if (type === "message" && item.content === undefined)
      return ["empty-content", `Missing required parameter: 'input[${at}].content'.`];
    if (type === "function_call" && typeof item.arguments !== "string")
      return ["shape", `Invalid type for 'input[${at}].arguments': expected a string.`];
    if (type === "function_call_output" && item.output === undefined)
      return ["shape", `Missing required parameter: 'input[${at}].output'.`];
  }
  return undefined;
}

function duplicateFault(items: readonly Json[]): Fault | undefined {
  const ids = new Set<string>();
  for (const { id } of items) {
    if (typeof id !== "string" || id === "") continue;
    if (ids.has(id))
      return [
        "id-twice",
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
      ];
    ids.add(id);
  }
  return undefined;
}

/** Every call has one output behind it, every output one call in front of it. */
function pairFault(items: readonly Json[]): Fault | undefined {
  const open = new Set<string>();
  const called = new Set<string>();
  for (const item of items) {
    const type = typeOf(item);
    const id = textOf(item.call_id);
    if (type === "function_call" || type === "custom_tool_call") {
      if (called.has(id)) return ["call-id-twice", `Duplicate function call found with call_id ${id}.`];
      called.add(id);
      open.add(id);
    } else if (type === "function_call_output" || type === "custom_tool_call_output") {
      if (!open.delete(id))
        return ["result-without-call", `No tool call found for function call output with call_id ${id}.`];
    }
  }
  const [first] = open;
  return first === undefined
    ? undefined
    : ["call-without-result", `No tool output found for function call ${first}.`];
}

const followers = new Set(["reasoning", "function_call", "custom_tool_call", "message"]);

/**
 * A reasoning item stands in front of what it led to, and what it led to does not stand without it. The
 * mirror is known by the ids that `reasoningIds` makes; an item that lost its id says nothing and passes.
 */
function reasoningFault(items: readonly Json[]): Fault | undefined {
  const present = new Set<string>();
  for (const [at, item] of items.entries()) {
    const type = typeOf(item);
    const id = textOf(item.id);
    if (type === "reasoning") {
      present.add(id);
      const next = items[at + 1];
      const follows =
        next !== undefined && followers.has(typeOf(next)) && (next.role ?? "assistant") === "assistant";
      if (!follows)
        return [
          "reasoning-alone",
          `Item '${id}' of type 'reasoning' was provided without its required following item.`,
        ];
      const unread = contentFault(item, id);
      if (unread !== undefined) return unread;
      continue;
    }
    const needs = reasoningOf(id);
    if (needs !== undefined && !present.has(needs))
      return [
        "reasoning-missing",
        `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${needs}'.`,
      ];
  }
  return undefined;
}

function contentFault(item: Json, id: string): Fault | undefined {
  const sealed = textOf(item.encrypted_content);
  if (sealed === "")
    return [
      "reasoning-unknown",
      `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`,
    ];
  return isSealed(sealed)
    ? undefined
    : ["reasoning-forged", `The encrypted content for item ${id} could not be verified.`];
}

/** Encrypted content that this provider knows as its own. */
export function seal(text: string): string {
  const inner = Buffer.from(text).toString("base64url");
  return `gAAA${inner}.${digest(inner)}`;
}

function isSealed(sealed: string): boolean {
  const [inner = "", sum] = sealed.slice(4).split(".");
  return sealed.startsWith("gAAA") && sum === digest(inner);
}

/** Ids of a reply's items: those that came behind reasoning carry the name of it. */
export function itemId(kind: "rs" | "fc" | "msg", reply: string, at: number, reasoned: boolean): string {
  return kind === "rs" ? `rs_${reply}` : `${kind}_${reply}${reasoned ? "_r" : "_n"}${at}`;
}

function reasoningOf(id: string): string | undefined {
  const reply = /^(?:fc|msg)_(.+)_r\d+$/.exec(id)?.[1];
  return reply === undefined ? undefined : `rs_${reply}`;
}

/** Parts of a request as raw JSON: parameters, system prompts in each dialect's own place, tools, and what puts them together. */
import { concat, utf8Bytes } from "../../log/json-edit.ts";
import { elements, kindOf, members, pick, root } from "../../log/scanner.ts";

/** The members of raw parameters, each as it is written; of a repeated key the last. */
export function paramsOf(raw: Uint8Array | undefined): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  if (raw === undefined || kindOf(raw, root(raw)) !== "object") return found;
  for (const { key, start, end } of members(raw, root(raw))) found.set(key, raw.subarray(start, end));
  return found;
}

/** Chat Completions has its system prompt among the messages: a text, content parts, or whole messages. */
export function systemMessages(system: Uint8Array | undefined): Uint8Array[] {
  if (system === undefined) return [];
  const at = root(system);
  const kind = kindOf(system, at);
  if (kind === "object") return [system];
  const parts =
    kind === "array" ? [...elements(system, at)].map(({ start, end }) => system.subarray(start, end)) : [];
  if (kind === "array" && (parts.length === 0 || parts.some(hasRole))) return parts;
  return [concat([utf8Bytes('{"role":"system","content":'), system, utf8Bytes("}")])];
}

/** Responses takes a system text as `instructions`, unless the parameters hold such instructions already. */
export function instructions(
  system: Uint8Array | undefined,
  params: ReadonlyMap<string, Uint8Array>,
): [string, Uint8Array][] {
  const isText = system !== undefined && kindOf(system, root(system)) === "string";
  return isText && !params.has("instructions") ? [["instructions", system]] : [];
}

/** System items that stood in front of the input; a text or text blocks become one developer message. */
export function leadingItems(
  system: Uint8Array | undefined,
  params: ReadonlyMap<string, Uint8Array>,
): Uint8Array[] {
  if (system === undefined || instructions(system, params).length > 0) return [];
  const isList = kindOf(system, root(system)) === "array";
  if (isList && elements(system, root(system)).next().done === true) return [];
  const items = isList
    ? [...elements(system, root(system))].map(({ start, end }) => system.subarray(start, end))
    : [];
  if (isList && items.every(hasRole)) return items;
  return [concat([utf8Bytes('{"role":"developer","content":'), system, utf8Bytes("}")])];
}

function hasRole(part: Uint8Array): boolean {
  return kindOf(part, root(part)) === "object" && pick(part, root(part), ["role"]).role !== undefined;
}

/** The tools, where there are any. */
export function listed(tools: Uint8Array | undefined): Uint8Array | undefined {
  if (tools === undefined) return undefined;
  const at = root(tools);
  return kindOf(tools, at) === "array" && [...elements(tools, at)].length > 0 ? tools : undefined;
}

/** Raw members as one object; those without a value are left out. */
export function jsonObject(entries: readonly (readonly [string, Uint8Array | undefined])[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (const [key, value] of entries) {
    if (value === undefined) continue;
    pieces.push(utf8Bytes(`${pieces.length > 0 ? "," : "{"}${JSON.stringify(key)}:`), value);
  }
  return concat([...pieces, utf8Bytes(pieces.length > 0 ? "}" : "{}")]);
}

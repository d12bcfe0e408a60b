/**
 * Tool calls of one Chat Completions choice, put together from deltas. Servers differ: OpenAI counts calls
 * by `index`; some send no index and each call whole; some send every call under index 0; some repeat the
 * name, or send an empty id, in later deltas.
 */
import { jsonArray } from "../../dialects/edits.ts";
import { concat, jsonString, utf8Bytes } from "../../log/json-edit.ts";
import { type Fields, kindOf, pick, rawText, records, type Span } from "../../log/scanner.ts";
import { countAt, joined, ofKind, slice, textAt, wordAt } from "./fields.ts";

const callFields = ["index", "id", "type", "function", "custom", "extra_content"] as const;
type Delta = Fields<(typeof callFields)[number]>;

interface Call {
  index: number | undefined;
  id: string;
  type: string;
  name: string;
  /** The deltas of `arguments`, or of a custom call's `input`. */
  input: string[];
  custom: boolean;
  /** Gemini's thought signature travels here; its server wants it back. */
  extra: Uint8Array | undefined;
}

export class CallList {
  readonly #calls: Call[] = [];

  get size(): number {
    return this.#calls.length;
  }

  /** Takes the `tool_calls` of a delta. */
  add(bytes: Uint8Array, list: Span): void {
    for (const { fields } of records(bytes, list.start, callFields)) {
      if (fields !== undefined) this.#grow(bytes, fields);
    }
  }

  #grow(bytes: Uint8Array, delta: Delta): void {
    const custom = ofKind(bytes, delta.custom, "object");
    const body = custom ?? ofKind(bytes, delta.function, "object");
    const inner = body === undefined ? {} : pick(bytes, body.start, ["name", "arguments", "input"]);
    const index = countAt(bytes, delta.index);
    const id = textAt(bytes, delta.id) ?? "";
    const name = wordAt(bytes, inner.name) ?? "";
    const call = this.#callOf(index, id, name);
    if (call.id === "") call.id = id;
    if (name !== "") call.name = name;
    call.custom ||= custom !== undefined;
    call.type = wordAt(bytes, delta.type) ?? call.type;
    const extra = ofKind(bytes, delta.extra_content, "object");
    if (extra !== undefined) call.extra = slice(bytes, extra).slice();
    call.input.push(inputText(bytes, custom === undefined ? inner.arguments : inner.input));
  }

  #callOf(index: number | undefined, id: string, name: string): Call {
    const old = index === undefined ? this.#unindexed(id, name) : this.#indexed(index, id, name);
    if (old !== undefined) return old;
    const call: Call = { index, id: "", type: "", name: "", input: [], custom: false, extra: undefined };
    this.#calls.push(call);
    return call;
  }

  /** Another id with a name of its own begins another call, even under a known index. */
  #indexed(index: number, id: string, name: string): Call | undefined {
    const old = this.#calls.findLast((call) => call.index === index);
    const another = old !== undefined && id !== "" && old.id !== "" && old.id !== id && name !== "";
    return another ? undefined : old;
  }

  #unindexed(id: string, name: string): Call | undefined {
    if (id !== "") return this.#calls.find((call) => call.id === id);
    return name === "" ? this.#calls.at(-1) : undefined;
  }

  /** The calls as the message's `tool_calls`; a call that came without an id gets the one of its place. */
  render(idOf: (index: number) => string): Uint8Array {
    return jsonArray(this.#calls.map((call, i) => rendered(call, call.id === "" ? idOf(i) : call.id)));
  }
}

/** Arguments are text; a server that sends them as a value means its JSON. */
export function inputText(bytes: Uint8Array, span: Span | undefined): string {
  if (span === undefined || kindOf(bytes, span.start) === "null") return "";
  return textAt(bytes, span) ?? rawText(bytes, span.start, span.end);
}

function rendered(call: Call, id: string): Uint8Array {
  const kind = call.custom ? "custom" : "function";
  const type = jsonString(call.type === "" ? kind : call.type);
  const extra = call.extra === undefined ? [] : [utf8Bytes(',"extra_content":'), call.extra];
  return concat([
    utf8Bytes('{"id":'),
    jsonString(id),
    utf8Bytes(',"type":'),
    type,
    utf8Bytes(`,"${kind}":{"name":`),
    jsonString(call.name),
    utf8Bytes(call.custom ? ',"input":' : ',"arguments":'),
    joined(call.input),
    utf8Bytes("}"),
    ...extra,
    utf8Bytes("}"),
  ]);
}

/** The id of a call that came without one: unlike those of other replies, and the same whenever it is read. */
export function madeCallId(reply: string | undefined, choice: number, index: number): string {
  return `call_${(reply ?? "").replace(/[^A-Za-z0-9]/g, "").slice(-32)}_${choice}_${index}`;
}

/**
 * One content block of an Anthropic stream: the block as it began, and what its deltas add. Members that no
 * delta touches stay the provider's bytes.
 */
import { jsonArray } from "../../dialects/edits.ts";
import { utf8Bytes } from "../../log/json-edit.ts";
import { member, pick, root, type Span } from "../../log/scanner.ts";
import { joined, objectBytes, ofKind, slice, textAt, withMember } from "./fields.ts";
import { objectsOf } from "./legal.ts";

const grown = { text_delta: "text", thinking_delta: "thinking", signature_delta: "signature" } as const;
type Grown = (typeof grown)[keyof typeof grown];

const deltaFields = [
  "type",
  "text",
  "thinking",
  "signature",
  "partial_json",
  "citation",
  "content",
  "encrypted_content",
] as const;

export class AnthropicBlock {
  #raw: Uint8Array;
  readonly #texts = new Map<Grown, string[]>();
  readonly #citations: Uint8Array[] = [];
  #input = "";

  constructor(raw: Uint8Array) {
    this.#raw = raw;
  }

  /** Whether the block says something from its start on: texts and thinking begin empty. */
  get speaks(): boolean {
    const { type, text, thinking } = pick(this.#raw, root(this.#raw), ["type", "text", "thinking"]);
    const name = textAt(this.#raw, type);
    if (name !== "text" && name !== "thinking") return true;
    return (textAt(this.#raw, text) ?? textAt(this.#raw, thinking) ?? "") !== "";
  }

  /** Takes a `delta`; one of an unknown type is passed over, as the API asks of its clients. */
  grow(bytes: Uint8Array, delta: Span): void {
    const fields = pick(bytes, delta.start, deltaFields);
    const type = textAt(bytes, fields.type);
    switch (type) {
      case "text_delta":
      case "thinking_delta":
      case "signature_delta": {
        const key = grown[type];
        const text = textAt(bytes, fields[key]) ?? "";
        const pieces = this.#texts.get(key);
        if (pieces === undefined) this.#texts.set(key, [text]);
        else pieces.push(text);
        return;
      }
      case "input_json_delta":
        this.#input += textAt(bytes, fields.partial_json) ?? "";
        return;
      case "citations_delta": {
        const citation = ofKind(bytes, fields.citation, "object");
        if (citation !== undefined) this.#citations.push(slice(bytes, citation));
        return;
      }
      case "compaction_delta":
        // It carries the final values (`@anthropic-ai/sdk` 1.14, BetaMessageStream).
        for (const key of ["content", "encrypted_content"] as const) {
          const value = fields[key];
          if (value !== undefined) this.#raw = withMember(this.#raw, key, slice(bytes, value));
        }
        return;
    }
  }

  /**
   * The block as it has to be re-sent. An input that is not a JSON object was cut: it becomes null, which
   * no provider takes, for whoever makes the message to leave the block out.
   */
  block(): Uint8Array {
    let raw = this.#raw;
    for (const [key, pieces] of this.#texts) {
      const begun = textAt(raw, member(raw, root(raw), key)) ?? "";
      raw = withMember(raw, key, joined([begun, ...pieces]));
    }
    if (this.#citations.length > 0) {
      const list = ofKind(raw, member(raw, root(raw), "citations"), "array");
      const begun = list === undefined ? [] : objectsOf(raw, list);
      raw = withMember(raw, "citations", jsonArray([...begun, ...this.#citations]));
    }
    if (this.#input === "") return raw;
    return withMember(raw, "input", objectBytes(utf8Bytes(this.#input)) ?? utf8Bytes("null"));
  }
}

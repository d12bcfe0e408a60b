/** The message of one Chat Completions choice, put together from deltas the way it has to be re-sent. */
import { jsonArray } from "../../dialects/edits.ts";
import { concat, jsonString, utf8Bytes } from "../../log/json-edit.ts";
import { elements, kindOf, pick, type Span } from "../../log/scanner.ts";
import { CallList, inputText } from "./chat-calls.ts";
import { joined, ofKind, slice, textAt, wordAt } from "./fields.ts";
import { legalChatMessage } from "./legal.ts";

/** Texts that grow: OpenAI's refusal, and the reasoning of the servers that return it and want it back. */
const texts = ["refusal", "reasoning_content", "reasoning"] as const;

const deltaFields = [
  "content",
  ...texts,
  "reasoning_details",
  "extra_content",
  "tool_calls",
  "function_call",
  "audio",
] as const;

export class ChatMessage {
  /** Text, or the raw parts of servers that answer in parts. */
  readonly #content: (string[] | Uint8Array)[] = [];
  readonly #texts = new Map<(typeof texts)[number], string[]>();
  readonly #details: Uint8Array[] = [];
  readonly #calls = new CallList();
  #extra: Uint8Array | undefined;
  #functionCall: { name: string; input: string[] } | undefined;
  #audio: string | undefined;

  /** Takes a delta; true when it holds anything of the answer. */
  add(bytes: Uint8Array, delta: Span): boolean {
    const fields = pick(bytes, delta.start, deltaFields);
    let commits = this.#addContent(bytes, fields.content);
    for (const key of texts) {
      const text = textAt(bytes, fields[key]);
      if (text === undefined) continue;
      const grown = this.#texts.get(key);
      if (grown === undefined) this.#texts.set(key, [text]);
      else grown.push(text);
      commits ||= text !== "";
    }
    const details = ofKind(bytes, fields.reasoning_details, "array");
    if (details !== undefined) {
      for (const span of elements(bytes, details.start)) {
        this.#details.push(slice(bytes, span));
        commits = true;
      }
    }
    const extra = ofKind(bytes, fields.extra_content, "object");
    if (extra !== undefined) this.#extra = slice(bytes, extra);
    const calls = ofKind(bytes, fields.tool_calls, "array");
    if (calls !== undefined) this.#calls.add(bytes, calls);
    commits ||= calls !== undefined && this.#calls.size > 0;
    return this.#addOther(bytes, fields.function_call, fields.audio) || commits;
  }

  #addContent(bytes: Uint8Array, content: Span | undefined): boolean {
    const text = textAt(bytes, content);
    if (text !== undefined) return this.#addText(text);
    const list = ofKind(bytes, content, "array");
    if (list === undefined) return false;
    let commits = false;
    for (const span of elements(bytes, list.start)) {
      const isObject = kindOf(bytes, span.start) === "object";
      const { type, text: words } = isObject ? pick(bytes, span.start, ["type", "text"]) : {};
      const plain = textAt(bytes, type) === "text" ? textAt(bytes, words) : undefined;
      if (plain === undefined) this.#content.push(slice(bytes, span));
      commits = plain === undefined || this.#addText(plain) || commits;
    }
    return commits;
  }

  #addText(text: string): boolean {
    if (text === "") return false;
    const last = this.#content.at(-1);
    if (Array.isArray(last)) last.push(text);
    else this.#content.push([text]);
    return true;
  }

  #addOther(bytes: Uint8Array, call: Span | undefined, audio: Span | undefined): boolean {
    const legacy = ofKind(bytes, call, "object");
    if (legacy !== undefined) {
      const { name, arguments: input } = pick(bytes, legacy.start, ["name", "arguments"]);
      this.#functionCall ??= { name: "", input: [] };
      this.#functionCall.name = wordAt(bytes, name) ?? this.#functionCall.name;
      this.#functionCall.input.push(inputText(bytes, input));
    }
    const sound = ofKind(bytes, audio, "object");
    if (sound !== undefined) {
      this.#audio = wordAt(bytes, pick(bytes, sound.start, ["id"]).id) ?? this.#audio;
    }
    return legacy !== undefined || sound !== undefined;
  }

  /** The message, or undefined when it says nothing. `idOf` names calls that came without an id. */
  message(idOf: (index: number) => string): Uint8Array | undefined {
    const pieces: Uint8Array[] = [utf8Bytes('{"role":"assistant","content":'), this.#contentJson()];
    const put = (key: string, value: Uint8Array): void => {
      pieces.push(utf8Bytes(`,"${key}":`), value);
    };
    for (const [key, grown] of this.#texts) {
      if (key !== "refusal" || grown.some((text) => text !== "")) put(key, joined(grown));
    }
    if (this.#details.length > 0) put("reasoning_details", jsonArray(this.#details));
    if (this.#extra !== undefined) put("extra_content", this.#extra);
    if (this.#audio !== undefined) put("audio", utf8Bytes(JSON.stringify({ id: this.#audio })));
    if (this.#calls.size > 0) put("tool_calls", this.#calls.render(idOf));
    if (this.#functionCall !== undefined) {
      const { name, input } = this.#functionCall;
      put("function_call", utf8Bytes(JSON.stringify({ name, arguments: input.join("") })));
    }
    return legalChatMessage(concat([...pieces, utf8Bytes("}")]));
  }

  /** No text is null: the API wants a content, and calls may stand without one. */
  #contentJson(): Uint8Array {
    const [first, ...more] = this.#content;
    if (first === undefined) return utf8Bytes("null");
    if (Array.isArray(first) && more.length === 0) return joined(first);
    return jsonArray(
      this.#content.map((piece) =>
        Array.isArray(piece)
          ? concat([utf8Bytes('{"type":"text","text":'), jsonString(piece.join("")), utf8Bytes("}")])
          : piece,
      ),
    );
  }
}

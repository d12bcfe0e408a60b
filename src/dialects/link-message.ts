/** A message in the form that its link key is made of: what counts of it by `link-fields.ts`, in canonical bytes. */
import { closeBrace, closeBracket, openBrace, openBracket, quote, skipSpace } from "../log/json-lex.ts";
import { decodeString, member, members, root, type Span, skipString, skipValue } from "../log/scanner.ts";
import { type Canonical, next, type Row, tag } from "./canonical.ts";
import {
  bareShape,
  blockShape,
  joinsTexts,
  messageShapes,
  type Rule,
  reasoningTypes,
  type Shape,
  textShape,
  textTypes,
} from "./link-fields.ts";
import type { WireDialect } from "./wire.ts";

/** Message, block, block of a result, its source, block of that source: no dialect nests blocks deeper. What does counts whole. */
const blockLevels = 5;
const letterF = 0x66; // of false
const letterN = 0x6e; // of null

/** What was written of an object: where it ends in the source, and the names of the members that count. */
interface Written {
  end: number;
  names: readonly string[];
}

/** Where a text block's one member, and in it the text, began: a neighbour would lengthen it. */
interface OpenText {
  from: number;
  text: number;
}

/** Where a block ends in the source, and the text that is open behind it. */
interface Placed {
  end: number;
  open?: OpenText | undefined;
}

/** Writes what counts of one message, in one walk over its bytes. Methods answer where the value ends that they wrote. */
export class MessageWriter {
  readonly #dialect: WireDialect;
  readonly #bytes: Uint8Array;
  readonly #out: Canonical;
  /** Whether reasoning was left out; whether the item is nothing but reasoning. */
  #reasoned = false;
  #isReasoning = false;
  #isAnswer = false;
  /** Whether neighbouring texts are written as one; whether there were some that were not. */
  #joins = false;
  #neighbours = false;
  /** How deep the blocks stand that are being written. */
  #level = 0;

  constructor(dialect: WireDialect, bytes: Uint8Array, out: Canonical) {
    this.#dialect = dialect;
    this.#bytes = bytes;
    this.#out = out;
  }

  /** Writes the document as a message; false when it is transparent. */
  message(): boolean {
    const start = root(this.#bytes);
    this.#out.word(this.#dialect);
    const from = this.#out.length;
    if (this.#bytes[start] === quote) {
      this.#userText(start);
      return true;
    }
    if (this.#bytes[start] !== openBrace) {
      this.#out.value(this.#bytes, start);
      return true;
    }
    let { names } = this.#object(start, messageShapes[this.#dialect]);
    if (this.#isReasoning) return false;
    // The role may stand behind the texts, so it is known only now.
    if (this.#neighbours && this.#isAnswer && joinsTexts.has(this.#dialect)) {
      this.#joins = true;
      this.#out.cut(from);
      names = this.#object(start, messageShapes[this.#dialect]).names;
    }
    if (this.#reasoned && names.every((name) => name === "role")) return false;
    // What is nothing but its id, as a reference is, counts by it.
    if (names.every((name) => name === "type")) this.#object(start, bareShape);
    return true;
  }

  #userText(start: number): void {
    const out = this.#out;
    const none = this.#emptyEnd(start) >= 0;
    out.byte(tag.object);
    const role = out.length;
    out.name("role");
    out.word("user");
    const content = out.length;
    if (!none) out.name("content");
    if (!none) this.#blocks(start);
    out.arrange([
      { key: "role", from: role, to: content },
      { key: "content", from: content, to: out.length },
    ]);
    out.byte(tag.end);
  }

  #object(start: number, shape: Shape): Written {
    const out = this.#out;
    out.byte(tag.object);
    const rows: Row[] = [];
    let i = skipSpace(this.#bytes, start + 1);
    while (this.#bytes[i] !== closeBrace) {
      const keyEnd = skipString(this.#bytes, i);
      const key = decodeString(this.#bytes, i, keyEnd);
      const from = out.length;
      out.name(key);
      const body = out.length;
      const value = skipSpace(this.#bytes, skipSpace(this.#bytes, keyEnd) + 1);
      const empty = this.#emptyEnd(value);
      i = next(this.#bytes, empty < 0 ? this.#field(value, shape.get(key)) : empty);
      if (out.length === body) out.cut(from);
      else out.settle(from);
      rows.push({ key, from, to: out.length });
    }
    const names = out.arrange(rows);
    out.byte(tag.end);
    return { end: i + 1, names };
  }

  /** Where the value ends if it is null, "", [] or {}; else -1. */
  #emptyEnd(start: number): number {
    const bytes = this.#bytes;
    const first = bytes[start];
    if (first === quote) return bytes[start + 1] === quote ? start + 2 : -1;
    if (first === letterN) return start + 4;
    if (first !== openBrace && first !== openBracket) return -1;
    const closer = skipSpace(bytes, start + 1);
    return bytes[closer] === first + 2 ? closer + 1 : -1; // in ASCII a closer stands two behind its opener
  }

  #field(start: number, rule: Rule | undefined): number {
    const first = this.#bytes[start];
    if (rule === "skip") return skipValue(this.#bytes, start);
    if (rule === "reasoning") {
      this.#reasoned = true;
      return skipValue(this.#bytes, start);
    }
    if (rule === "blocks" && (first === quote || first === openBracket) && this.#level < blockLevels) {
      this.#level++;
      const end = this.#blocks(start);
      this.#level--;
      return end;
    }
    if (rule === "flag" && first === letterF) return skipValue(this.#bytes, start);
    if (typeof rule === "object" && "shape" in rule) return this.#shaped(start, rule.shape);
    if (first !== quote) return this.#out.value(this.#bytes, start);
    return this.#string({ start, end: skipString(this.#bytes, start) }, rule);
  }

  #string(at: Span, rule: Rule | undefined): number {
    if (rule === "json") this.#out.jsonText(this.#bytes, at);
    else if (this.#countsAsText(at, rule)) this.#out.string(this.#bytes, at);
    return at.end;
  }

  #countsAsText({ start, end }: Span, rule: Rule | undefined): boolean {
    if (typeof rule !== "object" && rule !== "role" && rule !== "item") return true;
    const text = decodeString(this.#bytes, start, end);
    if (rule === "role") this.#isAnswer = text === "assistant";
    if (rule === "item") this.#isReasoning = reasoningTypes.has(text);
    if (rule === "item") return text !== "message";
    return !(typeof rule === "object" && "unless" in rule && rule.unless === text);
  }

  #shaped(start: number, shape: Shape): number {
    const out = this.#out;
    const bytes = this.#bytes;
    if (bytes[start] === openBrace) {
      const from = out.length;
      const { end, names } = this.#object(start, shape);
      if (names.length === 0) out.cut(from);
      return end;
    }
    if (bytes[start] !== openBracket) return out.value(bytes, start);
    out.byte(tag.array);
    let i = skipSpace(bytes, start + 1);
    while (bytes[i] !== closeBracket) i = next(bytes, this.#shaped(i, shape));
    out.byte(tag.end);
    return i + 1;
  }

  /** The blocks of a content; writes nothing when none of them counts. */
  #blocks(start: number): number {
    const out = this.#out;
    const bytes = this.#bytes;
    const from = out.length;
    out.byte(tag.array);
    const body = out.length;
    let i = start;
    if (bytes[start] === quote) {
      i = skipString(bytes, start);
      this.#close(this.#openText({ start, end: i }));
    } else {
      let open: OpenText | undefined;
      i = skipSpace(bytes, start + 1);
      while (bytes[i] !== closeBracket) {
        const block = this.#block(i, open);
        open = block.open;
        i = next(bytes, block.end);
      }
      if (this.#joins) this.#close(open);
      i++;
    }
    if (out.length === body) out.cut(from);
    else out.byte(tag.end);
    return i;
  }

  /** A text, as the block that has nothing but a text is written, and not closed. */
  #openText(at: Span): OpenText {
    this.#out.byte(tag.object);
    const from = this.#out.length;
    this.#out.name("text");
    const text = this.#out.length;
    this.#out.string(this.#bytes, at);
    return { from, text };
  }

  #close(open: OpenText | undefined): void {
    if (open === undefined) return;
    this.#out.settle(open.from);
    this.#out.byte(tag.end);
  }

  /** Writes a block; `open` is the text before it, if what stands before it is one. */
  #block(start: number, open: OpenText | undefined): Placed {
    const bytes = this.#bytes;
    const isObject = bytes[start] === openBrace;
    const type = isObject ? typeOf(bytes, start) : "";
    if (reasoningTypes.has(type)) {
      this.#reasoned = true;
      return { end: skipValue(bytes, start), open };
    }
    const joined = this.#joins && textTypes.has(type) ? this.#joined(start, open) : undefined;
    if (joined !== undefined) return joined;
    if (this.#joins) this.#close(open);
    if (!isObject) return { end: this.#out.value(bytes, start) };
    const from = this.#out.length;
    const { end, names } = this.#object(start, textTypes.has(type) ? textShape : blockShape);
    if (names.length === 0) {
      this.#out.cut(from);
      return { end, open: this.#joins ? undefined : open };
    }
    if (this.#joins || names.length > 1 || names[0] !== "text") return { end };
    this.#neighbours ||= open !== undefined;
    return { end, open: { from, text: from } };
  }

  /** Adds a block in which nothing but a text counts to the one before; undefined if more counts. Rarely needed. */
  #joined(start: number, open: OpenText | undefined): Placed | undefined {
    const from = this.#out.length;
    const { end, names } = this.#object(start, textShape);
    this.#out.cut(from);
    if (names.length === 0) return { end, open };
    const text = names.length === 1 ? member(this.#bytes, start, "text") : undefined;
    if (text === undefined || this.#bytes[text.start] !== quote) return undefined;
    if (open === undefined) return { end, open: this.#openText(text) };
    this.#out.extend(open.text, this.#bytes, text);
    return { end, open };
  }
}

/** The type of the block at `start`; "" where it has none. It mostly comes first. */
function typeOf(bytes: Uint8Array, start: number): string {
  for (const { key, start: from, end } of members(bytes, start)) {
    if (key === "type") return bytes[from] === quote ? decodeString(bytes, from, end) : "";
  }
  return "";
}

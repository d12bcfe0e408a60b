/**
 * The canonical form of JSON values, written as bytes to be hashed: the same bytes for two spellings of one value. Whitespace,
 * string escapes, the order of an object's members and the spelling of a number are form; all else is meaning. Strings carry
 * their length and containers their end, so that no two different values have one form. Nothing is decoded into JavaScript values
 * but the names of members. Requires bytes that passed `scanDocument`.
 */
import { createHash } from "node:crypto";
import {
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "../log/json-lex.ts";
import { decodeString, type Span, scanDocument, skipString, skipValue } from "../log/scanner.ts";
import { plainNumber } from "./json-number.ts";
import { decodeInto, spellInto } from "./json-text.ts";

/** What opens a value in the canonical form. */
export const tag = {
  object: 0x7b,
  array: 0x5b,
  string: 0x22,
  number: 0x6e,
  literal: 0x6c,
  end: 0x65,
  raw: 0x72,
  digest: 0x64,
};

/** What is longer, in bytes, stands as its digest: moving members then costs no more than writing them. */
const longest = 1 << 14;

/** A member as it was written: `[from, to)` in the canonical bytes; empty when it does not count. */
export interface Row {
  key: string;
  from: number;
  to: number;
}

/** Working memory that is used again and again, since a history has thousands of messages. Larger texts get their own. */
const scratches = [0, 1, 2].map(() => new Uint8Array(1 << 16));

function scratch(which: 0 | 1 | 2, size: number): Uint8Array {
  const kept = scratches[which]!;
  return size <= kept.length ? kept : new Uint8Array(size);
}

export class Canonical {
  #bytes: Uint8Array;
  #length = 0;

  /** `size`: about how many bytes will be written. Only one may be in use at a time. */
  constructor(size: number) {
    this.#bytes = scratch(0, size + 256);
  }

  get length(): number {
    return this.#length;
  }

  /** What was written (a view, good until the next write). */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Takes back what was written since the length was `length`. */
  cut(length: number): void {
    this.#length = length;
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  /** A string value that is known here. ASCII only. */
  word(text: string): void {
    this.#open(tag.string, text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
  }

  /** The name of a member, any text. */
  name(key: string): void {
    this.#room(key.length * 2 + 5);
    this.#open(tag.string, key.length);
    for (let i = 0; i < key.length; i++) {
      const unit = key.charCodeAt(i);
      this.#bytes[this.#length++] = unit >> 8;
      this.#bytes[this.#length++] = unit & 0xff;
    }
  }

  /** The string value at `at`, in its one spelling. */
  string(bytes: Uint8Array, at: Span): void {
    const from = this.#length;
    this.#open(tag.string, 0);
    this.extend(from, bytes, at);
  }

  /** Lengthens the string that was written last, and that began when the length was `from`, by another. */
  extend(from: number, bytes: Uint8Array, { start, end }: Span): void {
    this.#room(end - start);
    this.#length = spellInto(bytes, start + 1, end - 1, this.#bytes, this.#length);
    this.#setLength(from + 1, this.#length - from - 5);
  }

  /** Puts a digest in the place of what was written since the length was `from`, once that is long. */
  settle(from: number): void {
    if (this.#length - from <= longest) return;
    const digest = createHash("sha256").update(this.#bytes.subarray(from, this.#length)).digest();
    this.#length = from;
    this.byte(tag.digest);
    this.#bytes.set(digest, this.#length);
    this.#length += digest.length;
  }

  /** Any value, whole. Answers where it ends in `bytes`. */
  value(bytes: Uint8Array, start: number): number {
    const first = bytes[start]!;
    if (first === openBrace) return this.#object(bytes, start);
    if (first === openBracket) return this.#array(bytes, start);
    const end = skipValue(bytes, start);
    if (first === quote) this.string(bytes, { start, end });
    else if (first === 0x2d || first <= 0x39) {
      this.byte(tag.number);
      this.word(plainNumber(bytes, start, end));
    } else {
      this.byte(tag.literal);
      this.byte(first); // true, false and null differ in it
    }
    return end;
  }

  /**
   * A string value that holds JSON, as the canonical form of that JSON; as a string where it is none. Nothing and an object
   * without members are the same to every provider: they write nothing.
   */
  jsonText(bytes: Uint8Array, at: Span): void {
    const text = scratch(1, at.end - at.start);
    const json = text.subarray(0, decodeInto(bytes, at.start + 1, at.end - 1, text, 0));
    const start = skipSpace(json, 0);
    if (start === json.length) return;
    if (!isJson(json)) {
      this.byte(tag.raw);
      this.string(bytes, at);
    } else if (!isEmptyObject(json, start)) this.value(json, start);
  }

  /**
   * Puts the rows, which were written one after the other up to here, in the order of their names. The last of a name wins,
   * those that are empty go. Answers the names that stay.
   */
  arrange(rows: readonly Row[]): string[] {
    let sorted = rows;
    if (!isAscending(rows)) {
      const last = new Map(rows.map((row) => [row.key, row]));
      sorted = [...last.values()].sort((a, b) => (isBefore(a.key, b.key) ? -1 : 1));
      this.#place(sorted, rows[0]!.from);
    }
    return sorted.filter(({ from, to }) => to > from).map(({ key }) => key);
  }

  #place(rows: readonly Row[], start: number): void {
    const old = scratch(2, this.#length - start);
    old.set(this.#bytes.subarray(start, this.#length));
    this.#length = start;
    for (const { from, to } of rows) {
      this.#bytes.set(old.subarray(from - start, to - start), this.#length);
      this.#length += to - from;
    }
  }

  #object(bytes: Uint8Array, start: number): number {
    this.byte(tag.object);
    const rows: Row[] = [];
    let i = skipSpace(bytes, start + 1);
    while (bytes[i] !== closeBrace) {
      const from = this.#length;
      const keyEnd = skipString(bytes, i);
      const key = decodeString(bytes, i, keyEnd);
      this.name(key);
      const end = this.value(bytes, skipSpace(bytes, skipSpace(bytes, keyEnd) + 1));
      this.settle(from);
      rows.push({ key, from, to: this.#length });
      i = next(bytes, end);
    }
    this.arrange(rows);
    this.byte(tag.end);
    return i + 1;
  }

  #array(bytes: Uint8Array, start: number): number {
    this.byte(tag.array);
    const body = this.#length;
    let i = skipSpace(bytes, start + 1);
    while (bytes[i] !== closeBracket) {
      i = next(bytes, this.value(bytes, i));
      this.settle(body); // a list of a million numbers would be many times its source
    }
    this.byte(tag.end);
    return i + 1;
  }

  /** Room for `size` bytes behind a tag and the length, which may be set again. */
  #open(kind: number, size: number): void {
    this.#room(size + 5);
    this.#bytes[this.#length] = kind;
    this.#setLength(this.#length + 1, size);
    this.#length += 5;
  }

  #setLength(at: number, value: number): void {
    this.#bytes[at] = value >>> 24;
    this.#bytes[at + 1] = value >>> 16;
    this.#bytes[at + 2] = value >>> 8;
    this.#bytes[at + 3] = value;
  }

  #room(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.written());
    this.#bytes = larger;
  }
}

/** The start of the neighbour behind the value that ends at `end`, or the closer. */
export function next(bytes: Uint8Array, end: number): number {
  const i = skipSpace(bytes, end);
  return bytes[i] === comma ? skipSpace(bytes, i + 1) : i;
}

/** The order in which most writers put what messages have, so that little is moved; then all other names by their letters. */
const usual = new Map(
  [
    "type",
    "role",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "name",
    "input",
    "arguments",
    "content",
    "text",
  ].map((name, i) => [name, i]),
);

function isBefore(a: string, b: string): boolean {
  const rankA = usual.get(a) ?? usual.size;
  const rankB = usual.get(b) ?? usual.size;
  return rankA === rankB ? a < b : rankA < rankB;
}

function isAscending(rows: readonly Row[]): boolean {
  for (let i = 1; i < rows.length; i++) if (!isBefore(rows[i - 1]!.key, rows[i]!.key)) return false;
  return true;
}

function isJson(bytes: Uint8Array): boolean {
  try {
    scanDocument(bytes);
    return true;
  } catch {
    return false;
  }
}

function isEmptyObject(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === openBrace && bytes[skipSpace(bytes, start + 1)] === closeBrace;
}

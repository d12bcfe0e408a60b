import { elements, members, root, scanDocument } from "../src/log/scanner.ts";

/** Cuts JSON into the raw bytes of its members or elements: answers are compared as what came, not as what a parser made of it. */

/** The raw bytes of each member of an object. @throws Refusal `bad-json`. */
export function rawMembers(json: Uint8Array): Map<string, Uint8Array> {
  scanDocument(json);
  const found = new Map<string, Uint8Array>();
  for (const { key, start, end } of members(json, root(json))) found.set(key, json.subarray(start, end));
  return found;
}

/** The raw bytes of each element of an array. @throws Refusal `bad-json`. */
export function rawElements(json: Uint8Array): Uint8Array[] {
  scanDocument(json);
  return Array.from(elements(json, root(json)), ({ start, end }) => json.subarray(start, end));
}

export function utf8(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Length of the longest common start of two requests, given as lists of messages, in bytes. */
export function commonBytes(a: readonly Uint8Array[], b: readonly Uint8Array[]): number {
  let common = 0;
  for (const [index, message] of a.entries()) {
    const other = b[index];
    if (other === undefined) break;
    if (sameBytes(message, other)) {
      common += message.length;
      continue;
    }
    const limit = Math.min(message.length, other.length);
    let at = 0;
    while (at < limit && message[at] === other[at]) at += 1;
    return common + at;
  }
  return common;
}

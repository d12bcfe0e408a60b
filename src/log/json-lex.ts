/**
 * The lexical half of the scanner: strict checks of strings (with their UTF-8), numbers and literals, byte
 * by byte. Each check takes the position where a token must start and answers the position behind it, or
 * throws `bad-json`.
 */
import { Refusal } from "../failure.ts";

export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const backslash = 0x5c;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

/** What a byte means inside a string: 0 plain ASCII, else one of the marks below. */
const lead = 1;
const ends = 2;
const escapes = 3;
const control = 4;
const inString = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return lead;
  if (byte < 0x20) return control;
  return byte === quote ? ends : byte === backslash ? escapes : 0;
});

const literals = ["true", "false", "null"].map((word) => new TextEncoder().encode(word));

export function badJson(at: number): Refusal {
  return new Refusal("bad-json", "The body is not valid JSON in UTF-8.", { at: `byte ${at}` });
}

/** Position of the first byte at or after `at` that is not JSON whitespace. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let i = at;
  while (i < bytes.length) {
    const byte = bytes[i]!;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    i++;
  }
  return i;
}

/**
 * End of the UTF-8 sequence that starts at `at` (RFC 3629: shortest form, no surrogates, at most U+10FFFF).
 */
function checkSequence(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  const second = bytes[at + 1] ?? 0;
  if (first < 0xe0) {
    if (first >= 0xc2 && second >> 6 === 2) return at + 2;
    throw badJson(at);
  }
  const third = bytes[at + 2] ?? 0;
  if (second >> 6 !== 2 || third >> 6 !== 2) throw badJson(at);
  if (first < 0xf0) {
    if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f)) throw badJson(at);
    return at + 3;
  }
  const fourth = bytes[at + 3] ?? 0;
  if (first > 0xf4 || fourth >> 6 !== 2) throw badJson(at);
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) throw badJson(at);
  return at + 4;
}

/** End of the escape sequence whose backslash stands at `at`. */
function checkEscape(bytes: Uint8Array, at: number): number {
  switch (bytes[at + 1]) {
    case quote:
    case backslash:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      for (let i = at + 2; i < at + 6; i++) {
        const byte = bytes[i] ?? 0;
        const letter = byte | 0x20;
        if (!((byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x66))) throw badJson(i);
      }
      return at + 6;
    default:
      throw badJson(at);
  }
}

export function checkString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) throw badJson(at);
  const length = bytes.length;
  let i = at + 1;
  while (i < length) {
    const mark = inString[bytes[i]!]!;
    if (mark === 0) i++;
    else if (mark === lead) i = checkSequence(bytes, i);
    else if (mark === ends) return i + 1;
    else if (mark === escapes) i = checkEscape(bytes, i);
    else break;
  }
  throw badJson(i);
}

function checkDigits(bytes: Uint8Array, at: number): number {
  let i = at;
  while (i < bytes.length && bytes[i]! >= 0x30 && bytes[i]! <= 0x39) i++;
  if (i === at) throw badJson(at);
  return i;
}

function checkNumber(bytes: Uint8Array, at: number): number {
  let i = bytes[at] === 0x2d ? at + 1 : at; // minus
  i = bytes[i] === 0x30 ? i + 1 : checkDigits(bytes, i); // no digit follows a leading zero
  if (bytes[i] === 0x2e) i = checkDigits(bytes, i + 1); // point
  if (((bytes[i] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[i + 1];
    i = checkDigits(bytes, sign === 0x2b || sign === 0x2d ? i + 2 : i + 1);
  }
  return i;
}

export function checkScalar(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === quote) return checkString(bytes, at);
  for (const word of literals) {
    if (first === word[0] && word.every((byte, i) => bytes[at + i] === byte)) return at + word.length;
  }
  return checkNumber(bytes, at);
}

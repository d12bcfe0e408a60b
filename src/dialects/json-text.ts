/** JSON strings from bytes to bytes: decoded, or in one spelling. Requires bytes that passed `scanDocument`. */
import { contains } from "../log/json-edit.ts";
import { backslash } from "../log/json-lex.ts";

/** From here on it is cheaper to look for the next escape than to copy byte by byte. */
const near = 64;

const slash = 0x2f;
const letterU = 0x75;
/** Escapes by their letter, and what they stand for; a quote, a backslash and a slash stand for themselves. */
const short = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x62, 0x08], // b
  [0x66, 0x0c], // f
  [0x6e, 0x0a], // n
  [0x72, 0x0d], // r
  [0x74, 0x09], // t
]);
const letterOf = new Map([...short].map(([letter, byte]) => [byte, letter]));

/**
 * Writes the decoded inside `[start, end)` of a string to `out` at `to`; answers where it ends there. It is never longer than
 * the source. A surrogate without its other half, which UTF-8 can not hold, is written in three bytes that valid UTF-8 never
 * has: it neither throws nor equals another text.
 */
export function decodeInto(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  to: number,
): number {
  return rewrite(bytes, start, end, { out, to, escaped: false });
}

/**
 * Writes the inside of a string in the spelling in which almost all writers have it, so that it is mostly a copy: short escapes
 * where a byte has one, all else as itself. One text has one spelling. Never longer than the source; surrogates as in `decodeInto`.
 */
export function spellInto(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  to: number,
): number {
  if (end - start > near) {
    const inside = bytes.subarray(start, end);
    if (!contains(inside, "\\u") && !contains(inside, "\\/")) {
      out.set(inside, to);
      return to + inside.length;
    }
  }
  return rewrite(bytes, start, end, { out, to, escaped: true });
}

/** Where to write, and whether what has a short escape keeps it. */
interface Target {
  out: Uint8Array;
  to: number;
  escaped: boolean;
}

function rewrite(bytes: Uint8Array, start: number, end: number, { out, to, escaped }: Target): number {
  let i = start;
  let at = to;
  while (i < end) {
    const limit = Math.min(end, i + near);
    while (i < limit && bytes[i] !== backslash) out[at++] = bytes[i++]!;
    if (i === end) break;
    if (bytes[i] !== backslash) {
      const found = bytes.subarray(i, end).indexOf(backslash);
      const stop = found < 0 ? end : i + found;
      out.set(bytes.subarray(i, stop), at);
      at += stop - i;
      i = stop;
      continue;
    }
    const letter = bytes[i + 1]!;
    let point = letter === slash ? slash : short.get(letter)!;
    i += 2;
    if (letter === letterU) {
      point = unit(bytes, i);
      i += 4;
      if (isHigh(point) && bytes[i] === backslash && bytes[i + 1] === letterU && isLow(unit(bytes, i + 2))) {
        point = 0x10000 + ((point - 0xd800) << 10) + (unit(bytes, i + 2) - 0xdc00);
        i += 6;
      }
    }
    const kept = escaped ? letterOf.get(point) : undefined;
    if (kept !== undefined) {
      out[at++] = backslash;
      out[at++] = kept;
    } else at = encode(point, out, at);
  }
  return at;
}

function isHigh(unit: number): boolean {
  return unit >> 10 === 0x36;
}

function isLow(unit: number): boolean {
  return unit >> 10 === 0x37;
}

/** The four hexadecimal digits at `at`. */
function unit(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = at; i < at + 4; i++) {
    const byte = bytes[i]!;
    value = (value << 4) | (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return value;
}

function encode(point: number, out: Uint8Array, to: number): number {
  let at = to;
  if (point < 0x80) out[at++] = point;
  else {
    if (point < 0x800) out[at++] = 0xc0 | (point >> 6);
    else {
      if (point < 0x10000) out[at++] = 0xe0 | (point >> 12);
      else {
        out[at++] = 0xf0 | (point >> 18);
        out[at++] = 0x80 | ((point >> 12) & 0x3f);
      }
      out[at++] = 0x80 | ((point >> 6) & 0x3f);
    }
    out[at++] = 0x80 | (point & 0x3f);
  }
  return at;
}

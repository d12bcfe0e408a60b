/** Numbers of JSON in one spelling. */
import { rawText } from "../log/scanner.ts";

/** Longer exponents are kept as they are written: no number of use has one. */
const maxExponentDigits = 9;

/**
 * One spelling for each decimal value, exact at any length: 1, 1.0 and 10e-1 are one, 9007199254740993 and 9007199254740992 are
 * two. Clients that parse and print again change 1.0 to 1 and 1e21 to 1e+21.
 */
export function plainNumber(bytes: Uint8Array, start: number, end: number): string {
  const text = ascii(bytes, start, end);
  const [, sign, whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined || exponent.length > maxExponentDigits) return text;
  const { digits, dropped } = trimZeros(whole + fraction);
  if (digits === "") return "0";
  return `${sign}${digits}e${Number(exponent) - fraction.length + dropped}`;
}

/** Without zeros around it, and how many were dropped at the end. By index: a pattern would be quadratic on long runs of zeros. */
function trimZeros(text: string): { digits: string; dropped: number } {
  let start = 0;
  let end = text.length;
  while (end > 0 && text[end - 1] === "0") end--;
  while (start < end && text[start] === "0") start++;
  return { digits: text.slice(start, end), dropped: text.length - end };
}

/** Numbers are short: a decoder costs more than their letters. */
function ascii(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > 40) return rawText(bytes, start, end);
  let text = "";
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

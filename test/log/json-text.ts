import fc from "fast-check";

const encoder = new TextEncoder();

/** UTF-8 of a text; a value is stringified first. */
export function utf8(value: unknown): Uint8Array {
  return encoder.encode(typeof value === "string" ? value : JSON.stringify(value));
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

const space = fc.constantFrom("", "", "", " ", "\n", "\t ", "\r\n");
const scalar = fc.oneof(
  fc.constantFrom("true", "false", "null"),
  fc.constantFrom(
    "0",
    "-0",
    "1.50",
    "9007199254740993",
    "-1E-7",
    "12345678901234567890123",
    "1e400",
    "0.1e+2",
  ),
  fc.constantFrom(
    '"\\ud800"',
    '"\\udc00x"',
    '"\\u0041\\/\\b"',
    '"日本語"',
    '"👍🏽"',
    '""',
    '"a\\\\"',
    '"\\""',
    '"é\\\\\\""',
  ),
  fc.string({ unit: "binary", maxLength: 40 }).map((value) => JSON.stringify(value)),
  fc.string({ maxLength: 120 }).map((value) => JSON.stringify(value)),
);
const key = fc.oneof(
  fc.constantFrom('"a"', '"b"', '"\\u0061"', '"a\\"b"', '"__proto__"', '"ключ"', '""'),
  fc.string({ maxLength: 50 }).map((value) => JSON.stringify(value)),
);

const tied = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ depthSize: "small", withCrossShrink: true }, scalar, tie("array"), tie("object")),
  array: fc
    .tuple(
      space,
      fc.array(
        fc.tuple(space, tie("value"), space).map((parts) => parts.join("")),
        { maxLength: 6 },
      ),
    )
    .map(([inside, items]) => `[${items.length === 0 ? inside : items.join(",")}]`),
  object: fc
    .tuple(
      space,
      fc.array(
        fc
          .tuple(space, key, space, space, tie("value"), space)
          .map(([a, name, b, c, value, d]) => `${a}${name}${b}:${c}${value}${d}`),
        { maxLength: 6 },
      ),
    )
    .map(([inside, items]) => `{${items.length === 0 ? inside : items.join(",")}}`),
}));

/**
 * JSON texts as clients may write them: any whitespace, repeated keys, escapes that need not be, lone surrogates,
 * numbers beyond a double.
 */
export const jsonText: fc.Arbitrary<string> = fc
  .tuple(space, tied.value, space)
  .map((parts) => parts.join(""));
export const objectText: fc.Arbitrary<string> = tied.object;
export const arrayText: fc.Arbitrary<string> = tied.array;

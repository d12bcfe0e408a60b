import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Defect, Refusal } from "../../src/failure.ts";
import {
  decode,
  decodeString,
  elements,
  kindOf,
  locate,
  maxDepth,
  member,
  members,
  pick,
  rawText,
  records,
  root,
  scanDocument,
  skipValue,
  trim,
} from "../../src/log/scanner.ts";
import { jsonText, text, utf8 } from "./json-text.ts";

/** What the platform's own parser says. */
function platformAccepts(bytes: Uint8Array): boolean {
  try {
    JSON.parse(text(bytes));
    return true;
  } catch {
    return false;
  }
}

function failureOf(bytes: Uint8Array): { code: string; at: string | undefined } | undefined {
  try {
    scanDocument(bytes);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.failure.code, at: error.failure.at };
  }
}

function expectAgreement(bytes: Uint8Array): void {
  const failure = failureOf(bytes);
  if (failure !== undefined) expect(failure.code).toBe("bad-json");
  expect(failure === undefined, `scanner against JSON.parse on [${bytes.join(" ")}]`).toBe(
    platformAccepts(bytes),
  );
}

/** Reads a value by navigation alone. */
function rebuild(bytes: Uint8Array, start: number): unknown {
  switch (kindOf(bytes, start)) {
    case "object":
      return Object.fromEntries(
        Array.from(members(bytes, start), (item) => {
          expect(skipValue(bytes, item.start)).toBe(item.end);
          return [item.key, rebuild(bytes, item.start)];
        }),
      );
    case "array":
      return Array.from(elements(bytes, start), (item) => rebuild(bytes, item.start));
    case "string":
      return decodeString(bytes, start, skipValue(bytes, start));
    default:
      return decode(bytes, start, skipValue(bytes, start));
  }
}

const runs = 2_000;

describe("the scanner's verdict", () => {
  it("[L20] takes every JSON text that JSON.parse takes", () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        expect(failureOf(utf8(json))).toBeUndefined();
      }),
      { numRuns: runs },
    );
  });

  it("[L20] agrees with JSON.parse on texts with bytes changed, put in and taken out", () => {
    const telling = fc.constantFrom(
      ...utf8('{}[],:"\\/u0123456789-+.eEtrfalsn \n\t\u0000\u001f\u007fé'),
      0xc0,
      0xed,
      0xff,
    );
    const change = fc.record({
      where: fc.nat(),
      remove: fc.integer({ min: 0, max: 2 }),
      insert: fc.array(fc.oneof(telling, fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(jsonText, fc.array(change, { minLength: 1, maxLength: 3 }), (json, changes) => {
        const bytes = [...utf8(json)];
        for (const { where, remove, insert } of changes)
          bytes.splice(where % (bytes.length + 1), remove, ...insert);
        expectAgreement(Uint8Array.from(bytes));
      }),
      { numRuns: runs * 3 },
    );
  });

  it("[L20] agrees with JSON.parse on rows of tokens", () => {
    const tokens = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"',
      "\\",
      "\\u00e9",
      "0",
      "1",
      "-",
      "+",
      ".",
      "e",
      "E",
    ];
    const words = [
      "true",
      "nul",
      "null",
      "falsey",
      " ",
      "\n",
      "\ufeff",
      "é",
      "\u2028",
      "'",
      "//",
      "1.5e3",
      "00",
      "NaN",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tokens, ...words), { maxLength: 9 }), (row) => {
        expectAgreement(utf8(row.join("")));
      }),
      { numRuns: runs * 5 },
    );
  });

  it("[L20] agrees with JSON.parse on numbers of every shape", () => {
    const shape = /^-?[01]{1,2}(\.|\.[01])?([eE][+-]?[01]?)?$/;
    fc.assert(
      fc.property(fc.stringMatching(shape), (number) => {
        expectAgreement(utf8(number));
      }),
      { numRuns: runs },
    );
  });

  it("[L20] agrees with the platform on every boundary of UTF-8", () => {
    const edges = [
      0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
      0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
    ];
    const wrong: string[] = [];
    const check = (inside: number[]) => {
      const bytes = Uint8Array.from([0x22, ...inside, 0x22]);
      if ((failureOf(bytes) === undefined) !== platformAccepts(bytes)) wrong.push(inside.join(" "));
    };
    for (const a of edges) {
      for (const b of edges) {
        for (const c of edges) {
          check([a, b, c]);
          if (a >= 0xf0) for (const d of edges) check([a, b, c, d]);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it.each([
    ["", "byte 0"],
    ["[1,]", "byte 3"],
    ['{"a":1,}', "byte 7"],
    ['{"a" 1}', "byte 5"],
    ['{"a":tru}', "byte 5"],
    ['"a\u0001"', "byte 2"],
    ['"\\x"', "byte 1"],
    ['"\\u00g0"', "byte 5"],
    ['["open', "byte 6"],
    ["[1] x", "byte 4"],
    ["01", "byte 1"],
    ["\ufeff1", "byte 0"],
  ])("[L20] names the byte where %j goes wrong", (json, at) => {
    expect(failureOf(utf8(json))).toEqual({ code: "bad-json", at });
  });

  it("[L20] takes 512 levels and refuses the 513th as too deep, of objects and arrays alike", () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${"}]".repeat(levels / 2)}`;
    expect(failureOf(utf8(nested(maxDepth)))).toBeUndefined();
    expect(failureOf(utf8(`[${nested(maxDepth)}]`))).toEqual({ code: "too-deep", at: "byte 1532" });
    expect(failureOf(utf8("[".repeat(100_000)))?.code).toBe("too-deep");
  });

  it("[L24] passes hostile megabytes in linear time", () => {
    const million = 1_000_000;
    const hostile = [
      `"${"\\\\".repeat(4 * million)}"`,
      `"${'\\"'.repeat(4 * million)}"`,
      `[${"[],".repeat(2 * million)}[]]`,
      `{${'"":0,'.repeat(million)}"":0}`,
      `${" ".repeat(4 * million)}1`,
      `[${"1e9,".repeat(million)}1]`,
    ];
    for (const json of hostile) {
      const bytes = utf8(json);
      scanDocument(bytes);
      expect(skipValue(bytes, root(bytes))).toBe(bytes.length);
      expect(trim(bytes).length).toBe(json.trim().length);
    }
  });
});

describe("navigation", () => {
  it("[L21] reads every value as JSON.parse does, the last of a repeated key included", () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        const bytes = utf8(json);
        expect(rebuild(bytes, root(bytes))).toEqual(JSON.parse(json));
        expect(text(trim(bytes))).toBe(json.trim());
      }),
      { numRuns: runs },
    );
  });

  it("[L21] locates what a path leads to and nothing where it leaves the document", () => {
    fc.assert(
      fc.property(
        jsonText,
        fc.array(fc.oneof(fc.constantFrom("a", "b", "", "__proto__"), fc.nat({ max: 3 })), { maxLength: 4 }),
        (json, path) => {
          let expected: unknown = JSON.parse(json);
          for (const step of path) {
            const inside = typeof step === "string" ? !Array.isArray(expected) : Array.isArray(expected);
            const holder = inside && typeof expected === "object" && expected !== null ? expected : {};
            expected = Object.hasOwn(holder, step)
              ? (holder as Record<string | number, unknown>)[step]
              : undefined;
          }
          const bytes = utf8(json);
          const found = locate(bytes, path);
          expect(found === undefined ? undefined : decode(bytes, found.start, found.end)).toEqual(expected);
        },
      ),
      { numRuns: runs },
    );
  });

  it("[L21] picks named members in one pass, the last of each name, written with escapes or not", () => {
    const bytes = utf8('{ "x": 1, "role":"user", "\\u0072ole" : "tool", "n":null}');
    const found = pick(bytes, 0, ["role", "n", "missing"]);
    expect(found.role && rawText(bytes, found.role.start, found.role.end)).toBe('"tool"');
    expect(found.n && rawText(bytes, found.n.start, found.n.end)).toBe("null");
    expect("missing" in found).toBe(false);
    expect(member(bytes, 0, "x")).toEqual({ start: 7, end: 8 });
    expect(member(bytes, 0, "y")).toBeUndefined();
  });

  it("[L21] hands out the records of an array with their fields, and other elements without", () => {
    const bytes = utf8('[{"a":1,"b":[2]} , 7, {} ]');
    const found = Array.from(records(bytes, 0, ["b"]));
    expect(found.map(({ start, end }) => rawText(bytes, start, end))).toEqual(['{"a":1,"b":[2]}', "7", "{}"]);
    expect(found.map(({ fields }) => fields)).toEqual([{ b: { start: 12, end: 15 } }, undefined, {}]);
  });

  it("[L21] decodes strings of every length with their escapes and surrogates", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ maxLength: 80 })), (value) => {
        const bytes = utf8(JSON.stringify(value));
        expect(decodeString(bytes, 0, bytes.length)).toBe(value);
      }),
    );
    const lone = utf8('"\\ud800 \\udfff"');
    expect(decodeString(lone, 0, lone.length)).toBe("\ud800 \udfff");
  });

  it("[L21] stops with a defect on bytes that were never validated", () => {
    expect(() => skipValue(utf8('"open'), 0)).toThrow(Defect);
    expect(() => skipValue(utf8("[1"), 0)).toThrow(Defect);
    expect(() => skipValue(utf8(""), 0)).toThrow(Defect);
    expect(() => members(utf8("[]"), 0).next()).toThrow(Defect);
    expect(() => elements(utf8("{}"), 0).next()).toThrow(Defect);
    expect(() => [...members(utf8('{"a":1'), 0)]).toThrow(Defect);
  });
});

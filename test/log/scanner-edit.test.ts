import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Defect } from "../../src/failure.ts";
import {
  applyEdits,
  contains,
  elementRemovals,
  jsonString,
  memberAddition,
  memberRemovals,
  removeMember,
  stringValues,
} from "../../src/log/json-edit.ts";
import {
  decode,
  decodeString,
  elements,
  members,
  rawText,
  root,
  scanDocument,
  skipValue,
} from "../../src/log/scanner.ts";
import { arrayText, objectText, text, utf8 } from "./json-text.ts";

const runs = 1_500;

/** Members of an object as they are written: key and value, without what stands between. */
function writtenMembers(bytes: Uint8Array): { key: string; written: string }[] {
  return Array.from(members(bytes, root(bytes)), ({ key, keyStart, end }) => ({
    key,
    written: rawText(bytes, keyStart, end),
  }));
}

describe("edits", () => {
  it("[L22] change their ranges and leave every other byte", () => {
    const piece = fc.record({
      skip: fc.nat({ max: 5 }),
      take: fc.nat({ max: 5 }),
      put: fc.uint8Array({ maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(piece, { maxLength: 5 }), (bytes, pieces) => {
        const expected: number[] = [];
        const edits: { start: number; end: number; bytes: Uint8Array }[] = [];
        let at = 0;
        for (const { skip, take, put } of pieces) {
          const start = Math.min(at + skip + 1, bytes.length);
          const end = Math.min(start + take, bytes.length);
          expected.push(...bytes.slice(at, start), ...put);
          edits.push({ start, end, bytes: put });
          at = end;
          if (at === bytes.length) break;
        }
        expected.push(...bytes.slice(at));
        expect([...applyEdits(bytes, edits)]).toEqual(expected);
        expect([...applyEdits(bytes, edits.toReversed())]).toEqual(expected);
      }),
      { numRuns: runs },
    );
  });

  it("[L22] give back the same array when there are none, and refuse to overlap", () => {
    const bytes = utf8("[1,2]");
    expect(applyEdits(bytes, [])).toBe(bytes);
    expect(removeMember(utf8('{"a":1}'), 0, "b")).toEqual(utf8('{"a":1}'));
    const over = [
      { start: 1, end: 3, bytes: utf8("") },
      { start: 2, end: 4, bytes: utf8("") },
    ];
    expect(() => applyEdits(bytes, over)).toThrow(Defect);
    expect(() => applyEdits(bytes, [{ start: 3, end: 2, bytes: utf8("") }])).toThrow(Defect);
  });

  it("[L22] keep large numbers, lone surrogates, key order, repeated keys and whitespace of all the rest", () => {
    const before =
      '{ "z" : 12345678901234567890, "mark":{"x":1} ,"a":"\\ud800\\/", "z":1.0e+2,\n"mark" : 2 }';
    expect(text(removeMember(utf8(before), 0, "mark"))).toBe(
      '{ "z" : 12345678901234567890 ,"a":"\\ud800\\/", "z":1.0e+2 }',
    );
  });
});

describe("removals", () => {
  it("[L23] take out every member of a name with one comma each and leave valid JSON", () => {
    fc.assert(
      fc.property(objectText, fc.constantFrom("a", "b", "__proto__", 'a"b'), (json, key) => {
        const bytes = utf8(json);
        const after = removeMember(bytes, root(bytes), key);
        scanDocument(after);
        expect(writtenMembers(after)).toEqual(writtenMembers(bytes).filter((item) => item.key !== key));
        expect(memberRemovals(after, root(after), key)).toEqual([]);
      }),
      { numRuns: runs },
    );
  });

  it("[L23] take out any set of elements", () => {
    fc.assert(
      fc.property(arrayText, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (json, drop) => {
        const bytes = utf8(json);
        const written = (source: Uint8Array) =>
          Array.from(elements(source, 0), ({ start, end }) => rawText(source, start, end));
        const after = applyEdits(
          bytes,
          elementRemovals(bytes, 0, (_, index) => drop[index] === true),
        );
        scanDocument(after);
        expect(written(after)).toEqual(written(bytes).filter((_, index) => drop[index] !== true));
      }),
      { numRuns: runs },
    );
  });

  it.each([
    ['{"x":1}', "{}"],
    ['{ "x" : 1 }', "{  }"],
    ['{"x":1,"b":2}', '{"b":2}'],
    ['{"a":1,"x":2}', '{"a":1}'],
    ['{"a":1 , "x":2 , "b":3}', '{"a":1 , "b":3}'],
    ['{"x":1,"x":2,"b":3,"x":4}', '{"b":3}'],
    ['{"x":1,"x":2}', "{}"],
  ])("[L23] of x turn %s into %s", (before, after) => {
    expect(text(removeMember(utf8(before), 0, "x"))).toBe(after);
  });
});

describe("additions and strings", () => {
  it("[L23] a member is added behind the last one, whatever the object holds", () => {
    fc.assert(
      fc.property(objectText, (json) => {
        const bytes = utf8(json);
        const after = applyEdits(bytes, [memberAddition(bytes, 0, 'new "key"', utf8("[1]"))]);
        scanDocument(after);
        expect(writtenMembers(after)).toEqual([
          ...writtenMembers(bytes),
          { key: 'new "key"', written: '"new \\"key\\"":[1]' },
        ]);
      }),
      { numRuns: runs },
    );
  });

  it("[L25] string values are found at any depth, in order, and keys are not", () => {
    const strings = (value: unknown): string[] => {
      if (typeof value === "string") return [value];
      return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
    };
    const plain = fc.json({ maxDepth: 4 }).filter((json) => !/"(-?\d+|__proto__)" ?:/.test(json)); // JavaScript reorders number keys
    fc.assert(
      fc.property(plain, (json) => {
        const spaced = utf8(JSON.stringify(JSON.parse(json), null, " "));
        const found = Array.from(stringValues(spaced, { start: 0, end: spaced.length }), ({ start, end }) =>
          decodeString(spaced, start, end),
        );
        expect(found).toEqual(strings(JSON.parse(json)));
      }),
      { numRuns: runs },
    );
  });

  it("[L25] string values stop at the end of their slice", () => {
    const bytes = utf8('{"in":["a","b"],"out":"c"}');
    const end = skipValue(bytes, 6);
    expect(
      Array.from(stringValues(bytes, { start: 6, end }), (span) => decode(bytes, span.start, span.end)),
    ).toEqual(["a", "b"]);
    const whole = utf8('"only"');
    expect([...stringValues(whole, { start: 0, end: whole.length })]).toEqual([{ start: 0, end: 6 }]);
  });

  it("[L22] any text, also a broken one, survives as a JSON string", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
        (value) => {
          const bytes = jsonString(value);
          scanDocument(bytes);
          expect(decodeString(bytes, 0, bytes.length)).toBe(value);
        },
      ),
      { numRuns: runs },
    );
  });

  it("[L25] a word is found exactly where the bytes hold it", () => {
    const letters = fc.constantFrom("a", "b", "ab", "aab", "c");
    const word = fc.array(letters, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 30 }), word, (parts, sought) => {
        const hay = parts.join("");
        expect(contains(utf8(hay), sought)).toBe(hay.includes(sought));
      }),
      { numRuns: runs },
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dialectNames, type RenderItem } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { text } from "../log/json-text.ts";
import { play, step } from "./conversations.ts";

describe.each(dialectNames)("any conversation in %s", (name) => {
  const dialect = dialectOf(name);

  it("[P32] that keeps the order rules renders to what the strictest provider takes, whatever forms it has", () => {
    let reordered = 0;
    let left = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const items = play(dialect, steps);
        const out = dialect.render(items);
        expect(violations(name, out), out.map(text).join("\n")).toEqual([]);
        if (out.length < items.length) left++;
        if (items.some(({ mend }) => mend)) reordered++;
      }),
      { numRuns: 1_500 },
    );
    // The conversations were not all plain: many held messages to mend, to merge or to leave out.
    expect(left).toBeGreaterThan(100);
    expect(reordered).toBeGreaterThan(100);
  });

  it("[P29] renders to the same bytes every time, and what needs nothing goes out as it came", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 15 }), (steps) => {
        const items = play(dialect, steps);
        const out = dialect.render(items);
        expect(dialect.render(items).map(text)).toEqual(out.map(text));
        const sent = new Set(out);
        // Reasoning with nothing behind it, and a screenshot that nobody took, are left out.
        const touchable = (item: RenderItem) =>
          item.mend ||
          item.role === "tool" ||
          item.bytes.length === 0 ||
          /"type":"(reasoning|computer_call)"/.test(text(item.bytes));
        for (const item of items) if (!touchable(item)) expect(sent.has(item.bytes)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

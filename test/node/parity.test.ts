/** Every case of the peers' suites has its place, and the table that says so is the one that the tests give. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { hasCases, parity, table } from "../../scripts/parity-table.ts";

const found = parity();

it("each case has a test, a reason, or an issue: one of the three, and no id is made up", () => {
  expect(found.faults).toEqual([]);
  expect(found.totals.tested).toBeGreaterThan(found.totals.cases / 2);
});

it("test/PARITY.md is up to date (node scripts/parity-table.ts)", () => {
  expect(readFileSync(table, "utf8")).toBe(found.text);
});

it.skipIf(!hasCases)("the table lists the cases of the shared list, all of them", () => {
  expect(found.totals.cases).toBe(384);
});

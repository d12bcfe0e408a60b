import type { Chance } from "./chance.ts";

/** Outputs of commands and texts of small files in the demo session. */

export function listing(chance: Chance): string {
  const names = [
    "readings.ts",
    "berths.ts",
    "north-mole.csv",
    "fish-quay.csv",
    "lock-outer.csv",
    "readings.test.ts",
  ];
  return names
    .map(
      (name) =>
        `-rw-r--r--  1 harbour  office  ${chance.between(900, 90_000)} Oct 11 22:0${chance.between(0, 9)} ${name}`,
    )
    .join("\n");
}

export function history(chance: Chance, commits: number): string {
  const subjects = [
    "tidy the importer",
    "accept a decimal comma",
    "name the line in errors",
    "skip comments",
    "faster reading",
  ];
  return Array.from(
    { length: commits },
    () => `${chance.between(0x1000000, 0xfffffff).toString(16)} ${chance.pick(subjects)}`,
  ).join("\n");
}

export function repeated(chance: Chance): string {
  return Array.from({ length: 20 }, (_, index) =>
    index % 9 === 4
      ? " FAIL  test/pilots/booking.test.ts\n   × gives one slot to one vessel\nTests: 1 failed, 23 passed, 24 total"
      : `Tests: 0 failed, 24 passed, 24 total (${chance.between(310, 420)} ms)`,
  ).join("\n");
}

export function compilerErrors(chance: Chance, errors: number): string {
  return Array.from({ length: errors }, () => {
    const place = `${chance.pick(["test/report/fixtures.ts", "src/import/berths.ts", "src/report/daily.ts"])}(${chance.between(4, 120)},${chance.between(3, 40)})`;
    return `${place}: error TS2353: Object literal may only specify known properties, and 'length' does not exist in type 'Berth'.`;
  }).join("\n");
}

export function diffStat(chance: Chance, folder: string): string {
  const files = Array.from(
    { length: 9 },
    (_, index) =>
      ` ${folder}/${chance.pick(["berths", "slots", "daily", "rules"])}${index}.ts | ${chance.between(1, 30)} +++---`,
  );
  return [
    ...files,
    ` 9 files changed, ${chance.between(20, 90)} insertions(+), ${chance.between(20, 90)} deletions(-)`,
  ].join("\n");
}

export function berthPage(chance: Chance): string {
  const rows = Array.from(
    { length: 60 },
    (_, index) =>
      `| B${index + 1} | ${chance.between(40, 240)} | ${chance.between(3, 14)}.${chance.between(0, 9)} | ${chance.pick(["ro-ro", "bulk", "fish", "lay-by", "naval"])} | fenders every ${chance.between(6, 20)} m |`,
  );
  return [
    "# Berths",
    "",
    "| berth | length | depth | use | remarks |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

export function reportSource(): string {
  const parts = ["arrivals", "departures", "shifts", "pilotage", "towage", "delays"];
  return [
    'import { movementsOf } from "../store/movements.ts";',
    "",
    'export interface Options { berth?: string; format: "text" | "csv" }',
    "",
    ...parts.flatMap((part) => [
      `function ${part}(day: Date, berth: string | undefined): string[] {`,
      `  const lines: string[] = ["${part.toUpperCase()}"];`,
      `  for (const movement of movementsOf(day, "${part}")) {`,
      "    if (berth !== undefined && movement.berth !== berth) continue;",
      '    lines.push([movement.time, movement.vessel.padEnd(16), movement.berth, movement.remark].join("  "));',
      "  }",
      "  return lines.length === 1 ? [] : lines;",
      "}",
      "",
    ]),
    `export function dailyReport(day: Date, options: Options): string {`,
    "  const { berth, format } = options;",
    `  const sections = [${parts.join(", ")}].flatMap((section) => section(day, berth));`,
    '  return format === "csv" ? toCsv(sections) : sections.join("\\n");',
    "}",
  ].join("\n");
}

export function sinceTest(): string {
  const cases = [
    "takes a date",
    "takes a number of days",
    "refuses a date in the future",
    "counts days over the change of the clocks",
  ];
  return [
    'import { describe, expect, it } from "vitest";',
    'import { parseSince } from "../../src/report/since.ts";',
    "",
    'describe("--since", () => {',
    ...cases.map(
      (name) =>
        `  it("${name}", () => {\n    expect(parseSince("2026-10-01", noon)).toEqual(new Date("2026-10-01T00:00:00Z"));\n  });`,
    ),
    "});",
  ].join("\n");
}

export function sinceSource(): string {
  return [
    "/** The first day of a report: a date, or a number of days before now. */",
    "export function parseSince(text: string, now: Date): Date {",
    "  const days = /^(\\d{1,3})d$/.exec(text)?.[1];",
    '  const since = days === undefined ? new Date(text + "T00:00:00Z") : daysBefore(now, Number(days));',
    '  if (Number.isNaN(since.getTime())) throw new RangeError("--since takes a date or a number of days");',
    '  if (since > now) throw new RangeError("--since lies in the future");',
    "  return since;",
    "}",
  ].join("\n");
}

export function movements(chance: Chance, lines: number): string {
  const remarks = ["pilot on board", "two tugs", "waited for the tide", "berthed stern first", "no remarks"];
  return Array.from(
    { length: lines },
    () =>
      `${String(chance.between(0, 23)).padStart(2, "0")}:${String(chance.between(0, 59)).padStart(2, "0")}  ${chance.pick(["Marlin", "Dunlin", "Thrift", "Halyard"]).padEnd(14)}  B${chance.between(1, 60)}  ${chance.pick(remarks)}`,
  ).join("\n");
}

export function changelog(chance: Chance, entries: number): string {
  const things = [
    "faster import",
    "clearer errors",
    "a report for shifts",
    "tides of the river mouth",
    "smaller log files",
    "fewer queries",
  ];
  return [
    "# Changelog",
    "",
    "## Unreleased",
    "",
    ...Array.from(
      { length: entries },
      (_, index) => `## 2.${entries - index}.0\n\n- ${chance.pick(things)}\n- ${chance.pick(things)}\n`,
    ),
  ].join("\n");
}

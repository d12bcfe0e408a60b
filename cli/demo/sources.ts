import type { Chance } from "./chance.ts";
import { gauges, vessels } from "./project.ts";

/** Source files of the made-up project, long enough that reading them fills a small window. */

const fieldRules: readonly [field: string, unit: string, low: number, high: number][] = [
  ["level", "metres above chart datum", -2, 9],
  ["pressure", "hectopascals", 930, 1060],
  ["wind", "metres per second", 0, 60],
  ["gust", "metres per second", 0, 90],
  ["bearing", "degrees", 0, 359],
  ["salinity", "grams per kilogram", 0, 42],
  ["temperature", "degrees Celsius", -3, 32],
  ["turbidity", "NTU", 0, 4000],
];

export function importerSource(fixed: boolean): string {
  const parsers = fieldRules.flatMap(([field, unit, low, high]) => [
    `/** ${field[0]?.toUpperCase()}${field.slice(1)} in ${unit}; undefined where the gauge sent nothing. */`,
    `function parse${field[0]?.toUpperCase()}${field.slice(1)}(row: Row, line: number): number | undefined {`,
    `  const raw = row["${field}"]?.trim();`,
    `  if (raw === undefined || raw === "" || raw === "-") return undefined;`,
    `  const value = Number(raw.replace(",", "."));`,
    `  if (!Number.isFinite(value)) throw new ImportError(line, "${field}", "is no number");`,
    `  if (value < ${low} || value > ${high}) throw new ImportError(line, "${field}", "is out of range");`,
    `  return value;`,
    `}`,
    ``,
  ]);
  return [
    `import { createReadStream } from "node:fs";`,
    `import { createInterface } from "node:readline";`,
    `import type { Reading } from "../model/reading.ts";`,
    ``,
    `const columns = ["gauge", "taken_at", ${fieldRules.map(([field]) => `"${field}"`).join(", ")}];`,
    ``,
    `export class ImportError extends Error {`,
    `  constructor(readonly line: number, readonly field: string, reason: string) {`,
    `    super(\`line \${line}: \${field} \${reason}\`);`,
    `  }`,
    `}`,
    ``,
    `type Row = Record<string, string | undefined>;`,
    ``,
    ...parsers,
    `function parseHeader(line: string): string[] {`,
    `  const names = line.split(";").map((name) => name.trim().toLowerCase());`,
    ...(fixed
      ? [
          `  const missing = columns.filter((name) => !names.includes(name));`,
          `  if (missing.length > 0) throw new ImportError(1, missing[0] ?? "", "is missing");`,
        ]
      : [
          `  for (const name of names) {`,
          `    if (!columns.includes(name)) throw new ImportError(1, name, "is unexpected");`,
          `  }`,
        ]),
    `  return names;`,
    `}`,
    ``,
    `export async function* importReadings(path: string): AsyncGenerator<Reading> {`,
    `  const lines = createInterface({ input: createReadStream(path, "utf8") });`,
    `  let names: string[] | undefined;`,
    `  let number = 0;`,
    `  for await (const line of lines) {`,
    `    number += 1;`,
    `    if (line.trim() === "" || line.startsWith("#")) continue;`,
    `    if (names === undefined) { names = parseHeader(line); continue; }`,
    `    const cells = line.split(";");`,
    `    const row: Row = Object.fromEntries(names.map((name, index) => [name, cells[index]]));`,
    `    yield toReading(row, number);`,
    `  }`,
    `}`,
  ].join("\n");
}

export function slotsSource(): string {
  const rules = vessels.map((vessel, index) => [
    `  {`,
    `    vessel: "${vessel}",`,
    `    draught: ${(2.1 + index * 0.7).toFixed(1)},`,
    `    needsPilot: ${index % 3 !== 0},`,
    `    earliest: "${String(5 + index).padStart(2, "0")}:30",`,
    `    latest: "${String(14 + index).padStart(2, "0")}:00",`,
    `    remarks: "${index % 2 === 0 ? "turns in the outer basin before it berths" : "berths stern first at slack water"}",`,
    `  },`,
  ]);
  return [
    `import type { Clock } from "../clock.ts";`,
    `import { depthOver } from "../predict/sill.ts";`,
    ``,
    `export interface Standing { vessel: string; draught: number; needsPilot: boolean; earliest: string; latest: string; remarks: string }`,
    ``,
    `export const standingOrders: readonly Standing[] = [`,
    ...rules.flat(),
    `];`,
    ``,
    `export class Slots {`,
    `  private readonly held = new Map<number, string>();`,
    `  constructor(private readonly clock: Clock) {}`,
    ``,
    `  /** Holds a slot of ten minutes for a vessel, when the water over the sill is deep enough. */`,
    `  async hold(slot: number, order: Standing): Promise<boolean> {`,
    `    if (this.held.has(slot)) return false;`,
    `    const depth = await depthOver("lock-outer", this.clock.at(slot));`,
    `    if (depth < order.draught + 0.5) return false;`,
    `    this.held.set(slot, order.vessel);`,
    `    return true;`,
    `  }`,
    ``,
    `  release(slot: number): void {`,
    `    this.held.delete(slot);`,
    `  }`,
    ``,
    `  holders(): ReadonlyMap<number, string> {`,
    `    return this.held;`,
    `  }`,
    `}`,
  ].join("\n");
}

/** Coefficients of a tide prediction: a long table of numbers, as such files are. */
export function harmonicsSource(chance: Chance, constituents: number): string {
  const names = [
    "M2",
    "S2",
    "N2",
    "K2",
    "K1",
    "O1",
    "P1",
    "Q1",
    "M4",
    "MS4",
    "MN4",
    "M6",
    "2N2",
    "MU2",
    "NU2",
    "L2",
  ];
  const lines = [
    "/** Amplitude (m), phase (degrees) and speed (degrees per hour) of each constituent, by gauge. */",
  ];
  for (const gauge of gauges) {
    lines.push(`export const ${gauge.replace("-", "_")} = {`);
    for (const name of names.slice(0, constituents)) {
      const amplitude = (chance.between(3, 2400) / 1000).toFixed(3);
      const phase = (chance.between(0, 35999) / 100).toFixed(2);
      lines.push(
        `  "${name}": [${amplitude}, ${phase}, ${(chance.between(13_000_000, 60_000_000) / 1e6).toFixed(6)}],`,
      );
    }
    lines.push(`} as const;`, ``);
  }
  return lines.join("\n");
}

export function storeSource(): string {
  return [
    `import type { Reading } from "../model/reading.ts";`,
    ``,
    `const day = 86_400_000;`,
    `const minute = 60_000;`,
    `const sixHours = 6 * 3_600_000;`,
    ``,
    `/** Newest reading of each gauge and minute. */`,
    `const byMinute = new Map<string, Reading>();`,
    ``,
    `function keyOf({ gauge, takenAt }: { gauge: string; takenAt: number }): string {`,
    `  return gauge + "@" + String(Math.floor(takenAt / minute));`,
    `}`,
    ``,
    `export function remember(reading: Reading): void {`,
    `  byMinute.set(keyOf(reading), reading);`,
    `}`,
    ``,
    `/** The newest reading of a gauge that is not newer than \`at\`, up to six hours back. */`,
    `export function latestBefore(gauge: string, at: number): Reading | undefined {`,
    `  for (let time = at; time > at - sixHours; time -= minute) {`,
    `    const found = byMinute.get(keyOf({ gauge, takenAt: time }));`,
    `    if (found !== undefined) return found;`,
    `  }`,
    `  return undefined;`,
    `}`,
    ``,
    ...gauges.map(
      (gauge) =>
        `export const ${gauge.replace("-", "")}Latest = (at: number) => latestBefore("${gauge}", at);`,
    ),
  ].join("\n");
}

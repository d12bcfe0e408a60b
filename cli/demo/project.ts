import type { Chance } from "./chance.ts";

/**
 * The made-up project of the demo session: a harbour office that imports tide gauge readings, predicts depths over its
 * sills and books pilots. Files and outputs are long enough to fill a small window.
 */

export const gauges = [
  "north-mole",
  "fish-quay",
  "lock-outer",
  "lock-inner",
  "coal-basin",
  "river-mouth",
] as const;
export const vessels = [
  "Marlin",
  "Sea Holly",
  "Thrift",
  "Oystercatcher",
  "Dunlin",
  "Corncockle",
  "Halyard",
] as const;

/** A file as a reading tool shows it: numbered lines. */
export function numbered(text: string): string {
  return text
    .split("\n")
    .map((line, index) => `${String(index + 1).padStart(5)}\t${line}`)
    .join("\n");
}

export function gaugeFile(chance: Chance, rows: number): string {
  const lines = [
    "# export of the gauge network, UTC",
    "gauge;taken_at;level;pressure;wind;gust;bearing;depth_m",
  ];
  for (let row = 0; row < rows; row += 1) {
    const minute = String((row * 10) % 60).padStart(2, "0");
    const hour = String(Math.floor(row / 6) % 24).padStart(2, "0");
    const level = (chance.between(-40, 610) / 100).toFixed(2).replace(".", ",");
    const weather = `${chance.between(985, 1031)};${chance.between(0, 19)};${chance.between(4, 31)}`;
    const tail = `${weather};${chance.between(0, 359)};${(chance.between(180, 1240) / 100).toFixed(2)}`;
    lines.push(`${chance.pick(gauges)};2026-10-11T${hour}:${minute}:00Z;${level};${tail}`);
  }
  return lines.join("\n");
}

export function serviceLog(chance: Chance, lines: number): string {
  const events = [
    () => `INFO  import   read ${chance.between(120, 900)} rows from gauges/${chance.pick(gauges)}.csv`,
    () => `DEBUG predict  sill=${chance.pick(gauges)} depth=${chance.between(310, 980) / 100}m draught ok`,
    () => `INFO  pilots   booked ${chance.pick(vessels)} for slot ${chance.between(1, 48)}`,
    () => `WARN  pilots   slot ${chance.between(1, 48)} is held twice, second holder ${chance.pick(vessels)}`,
    () => `DEBUG store    wrote ${chance.between(1, 60)} rows in ${chance.between(2, 90)} ms`,
  ];
  const out: string[] = [];
  for (let line = 0; line < lines; line += 1) {
    const time = new Date(Date.UTC(2026, 9, 11, 22, 0, line * 7)).toISOString();
    out.push(`${time} ${chance.pick(events)()}`);
  }
  out.splice(
    Math.floor(lines * 0.6),
    0,
    "2026-10-11T23:10:02.114Z ERROR import   line 1: depth_m is unexpected",
    "    at parseHeader (src/import/readings.ts:96:43)",
    "    at importReadings (src/import/readings.ts:108:41)",
  );
  return out.join("\n");
}

const suites = [
  "import/readings",
  "predict/sill",
  "predict/harmonics",
  "pilots/booking",
  "pilots/slots",
  "report/daily",
];

export function testOutput(chance: Chance, failing: readonly string[]): string {
  const lines: string[] = [];
  for (const suite of suites) {
    const failed = failing.filter((name) => name.startsWith(suite));
    lines.push(
      ` ${failed.length > 0 ? "FAIL" : "PASS"}  test/${suite}.test.ts (${chance.between(4, 31)} tests)`,
    );
    for (const name of failed) {
      lines.push(`   × ${name.slice(suite.length + 1)}`);
      lines.push(`     AssertionError: expected ${chance.between(1, 9)} to equal ${chance.between(10, 19)}`);
      for (let frame = 0; frame < 6; frame += 1) {
        lines.push(`       at test/${suite}.test.ts:${chance.between(20, 210)}:${chance.between(3, 40)}`);
      }
    }
  }
  const total = chance.between(96, 120);
  lines.push("", `Tests: ${failing.length} failed, ${total - failing.length} passed, ${total} total`);
  return lines.join("\n");
}

export function searchHits(chance: Chance, word: string, hits: number): string {
  const folders = [
    "src/import",
    "src/predict",
    "src/pilots",
    "src/report",
    "test/pilots",
    "test/report",
    "docs",
  ];
  const uses = [
    `if (berth.${word} < vessel.${word}) continue;`,
    `const { ${word} } = berth;`,
    `expect(berth.${word}).toBe(140);`,
    `lines.push(String(berth.${word}).padStart(6));`,
    `throw new Error("${word} must be positive");`,
  ];
  return Array.from({ length: hits }, () => {
    const place = `${chance.pick(folders)}/${chance.pick(["berths", "daily", "slots", "format", "rules"])}.ts`;
    return `${place}:${chance.between(3, 260)}:  ${chance.pick(uses)}`;
  }).join("\n");
}

/** What a heap holds, by kind of object; `growth` multiplies what leaks. */
export function heapTable(chance: Chance, growth: number): string {
  const kinds = [
    "(string)",
    "(closure)",
    "Movement",
    "Buffer",
    "Promise",
    "Berth",
    "(array)",
    "Order",
    "Socket",
    "Timeout",
  ];
  const lines = ["object                    count        bytes", "-".repeat(44)];
  const row = (kind: string, count: number, each: number) =>
    lines.push(`${kind.padEnd(20)}${String(count).padStart(11)}${String(count * each).padStart(13)}`);
  row("Reading", 5_180 * growth, 152);
  row("Map entry", 5_204 * growth, 48);
  for (const kind of kinds) {
    for (const place of ["src/import", "src/predict", "src/pilots", "src/report", "node:internal"]) {
      row(`${kind} ${place}`.slice(0, 20), chance.between(12, 4_000), chance.between(2, 40) * 8);
    }
  }
  return lines.join("\n");
}

import { edit, failedEdit, read, run, search } from "./calls.ts";
import type { Chance } from "./chance.ts";
import { berthPage, compilerErrors, diffStat, history, listing, repeated } from "./outputs.ts";
import { gaugeFile, searchHits, serviceLog, testOutput } from "./project.ts";
import type { Recorder } from "./recorder.ts";
import { harmonicsSource, importerSource, slotsSource } from "./sources.ts";

/** The first half of the demo session: a broken import, a flaky test, a rename. */

const importer = "src/import/readings.ts";

export function repairImport(record: Recorder, chance: Chance): void {
  record.user(
    "The nightly import of the gauge readings has failed since Sunday. Find out why and fix it. Please don't change the file format: the export comes from another office. Old exports must still work.",
  );
  record.aside({ type: "file-history-snapshot", messageId: "demo-00002", snapshot: {} });
  record.assistant("I'll look at the log of the service and at the importer.", [
    run("tail -n 160 var/log/harbour.log", serviceLog(chance, 160)),
    read(importer, importerSource(false)),
    run("ls -la gauges src src/import test/import", listing(chance)),
  ]);
  record.assistant("The importer refuses a column `depth_m`. Let me see a file that fails.", [
    run("head -n 192 gauges/north-mole.csv", gaugeFile(chance, 190)),
  ]);
  record.assistant(
    "Confirmed: the export has a new column. I'll see what the tests expect of unknown columns.",
    [
      search(
        "is unexpected",
        'src/import/readings.ts:96:    if (!columns.includes(name)) throw new ImportError(1, name, "is unexpected");\ntest/import/readings.test.ts:58:    await expect(all("extra-column.csv")).rejects.toThrow("is unexpected");',
      ),
      run("git log --oneline -12 -- src/import test/import", history(chance, 12)),
    ],
  );
  record.assistant(
    "Plan:\n1. Accept unknown columns, refuse missing ones.\n2. Turn the test for extra columns around.\n3. Import Sunday's files again.",
    [
      edit(
        importer,
        "for (const name of names) {",
        "const missing = columns.filter((name) => !names.includes(name));",
      ),
    ],
  );
  record.assistant("", [
    run("npm test -- test/import", testOutput(chance, ["import/readings refuses an extra column"]), true),
  ]);
  record.assistant("As expected, only the old expectation fails. I'll turn it around.", [
    edit("test/import/readings.test.ts", 'rejects.toThrow("is unexpected")', "resolves.toHaveLength(3)"),
    run("npm test -- test/import", testOutput(chance, [])),
  ]);
  record.assistant("Now the readings of the last nights.", [
    run("node bin/import.ts gauges/*.csv --dry-run", serviceLog(chance, 70)),
  ]);
  record.assistant(
    "The import works again. The export has a new column `depth_m` since Sunday, and `parseHeader` in `src/import/readings.ts` refused every column it did not know. It now accepts unknown columns and names the first missing one. Old exports are unchanged.",
  );
}

export function fixFlakyBooking(record: Recorder, chance: Chance): void {
  record.user(
    "Great. Next: `test/pilots/booking.test.ts` fails about once in ten runs on the build machine. I think two vessels get the same slot. Find the cause before you change anything.",
  );
  record.assistant("I'll read the slots and the booking test, and run the test many times.", [
    read("src/pilots/slots.ts", slotsSource()),
    run(
      "for i in $(seq 20); do npm test -- test/pilots/booking; done | grep -E 'FAIL|×|Tests:'",
      repeated(chance),
    ),
  ]);
  record.assistant(
    "The harmonics decide how long `depthOver` takes. I'll check that file and who calls `hold`.",
    [
      read("src/predict/harmonics.ts", harmonicsSource(chance, 14)),
      search(
        "\\.hold\\(",
        "src/pilots/booking.ts:41:    if (await slots.hold(slot, order)) return slot;\nsrc/pilots/booking.ts:77:    await Promise.all(orders.map((order) => slots.hold(slot, order)));\ntest/pilots/booking.test.ts:23:    const [a, b] = await Promise.all([slots.hold(7, marlin), slots.hold(7, thrift)]);",
      ),
    ],
    [1, 0],
  );
  record.assistant(
    "Found it: `hold` looks whether the slot is free, then awaits the depth, then writes. Between the look and the write another vessel can pass the same look. The slot must be taken before the await and given back when the water is too low.",
    [
      edit(
        "src/pilots/slots.ts",
        "    if (this.held.has(slot)) return false;",
        "    if (this.held.has(slot)) return false;\n    this.held.set(slot, order.vessel);",
      ),
      edit(
        "src/pilots/slots.ts",
        "    if (depth < order.draught + 0.5) return false;",
        "    if (depth < order.draught + 0.5) { this.held.delete(slot); return false; }",
      ),
    ],
  );
  record.assistant("", [
    run(
      "npm test -- test/pilots",
      testOutput(chance, ["pilots/slots gives a slot back when the depth is unknown"]),
      true,
    ),
  ]);
  record.assistant("A rejected depth must give the slot back too.", [
    edit(
      "src/pilots/slots.ts",
      "const depth = await depthOver(",
      "const depth = await this.depthOrRelease(slot, ",
    ),
    run("for i in $(seq 40); do npm test -- test/pilots; done | grep -c FAIL", "0"),
  ]);
  record.assistant(
    "Fixed in `src/pilots/slots.ts`: a slot is taken before the depth is awaited. 40 runs, no failure.",
  );
}

export function renameLength(record: Recorder, chance: Chance): void {
  record.user(
    "Now rename `length` of a berth to `lengthOverall` everywhere, in the docs too. Mind the CSV header: it stays `length`.",
  );
  record.assistant("I'll collect all places first.", [
    search("\\blength\\b", searchHits(chance, "length", 150)),
    run("npx tsc --noEmit | head -40", compilerErrors(chance, 4), true),
  ]);
  for (const folder of ["src/pilots", "src/report", "src/predict", "test/pilots", "test/report", "docs"]) {
    record.assistant(`Now \`${folder}\`.`, [
      run(
        `grep -rlw length ${folder} | xargs sed -i 's/berth\\.length\\b/berth.lengthOverall/g' && git diff --stat ${folder}`,
        diffStat(chance, folder),
      ),
      search(
        "berth\\.length\\b",
        folder === "src/report"
          ? 'src/report/daily.ts:88:  const header = ["berth", "length", "depth"];'
          : "(no matches)",
      ),
    ]);
  }
  record.assistant("The header in `src/report/daily.ts` stays as it is. Types and tests next.", [
    run("npx tsc --noEmit", compilerErrors(chance, 9), true),
    run("npm test", testOutput(chance, ["report/daily prints the length of a berth"]), true),
  ]);
  record.assistant("Nine places build a berth by hand. I'll mend them.", [
    edit("test/report/fixtures.ts", "length: 140", "lengthOverall: 140"),
    edit("src/report/daily.ts", "berth[name]", 'name === "length" ? berth.lengthOverall : berth[name]'),
    edit("src/import/berths.ts", "length: Number(row.length)", "lengthOverall: Number(row.length)"),
    failedEdit(
      "docs/berths.md",
      "length",
      "lengthOverall",
      "The text to replace stands in the file more than once.",
    ),
  ]);
  record.assistant("", [
    read("docs/berths.md", berthPage(chance)),
    run("npx tsc --noEmit && npm test", testOutput(chance, [])),
  ]);
  record.assistant("Renamed in code, tests and docs; the CSV header is still `length`. All tests pass.");
}

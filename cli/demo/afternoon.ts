import { edit, read, run, search, write } from "./calls.ts";
import type { Chance } from "./chance.ts";
import { changelog, diffStat, movements, reportSource, sinceSource, sinceTest } from "./outputs.ts";
import { heapTable, serviceLog, testOutput } from "./project.ts";
import type { Recorder } from "./recorder.ts";
import { storeSource } from "./sources.ts";

/** The second half of the demo session: an option for the report, a leak, the remarks of a reviewer, the end of the day. */

export function addSinceOption(record: Recorder, chance: Chance): void {
  record.user(
    "Add `--since DATE` to the daily report. It should accept `2026-10-01` and `3d`. Start with the tests.",
  );
  record.assistant("I'll look at the report command and its tests.", [
    read("src/report/daily.ts", reportSource()),
    run(
      "node bin/report.ts --help",
      "Usage: report [--berth NAME] [--format text|csv]\n\nPrints the movements of the day.",
    ),
  ]);
  record.assistant("First the tests, then a long check in the background.", [
    write("test/report/since.test.ts", sinceTest()),
    { tool: "Bash", input: { command: "npm run soak -- --hours 2" } },
  ]);
  record.user("Stop, no soak test please, that blocks the machine. Go on with --since.");
  record.assistant("Understood, no soak test.", [
    run(
      "npm test -- test/report",
      testOutput(chance, ["report/daily takes a date", "report/daily takes a number of days"]),
      true,
    ),
  ]);
  record.assistant("", [
    edit(
      "src/report/daily.ts",
      "const { berth, format } = options;",
      "const { berth, format, since } = options;",
    ),
    write("src/report/since.ts", sinceSource()),
  ]);
  record.assistant("", [
    run(
      "npm test -- test/report && node bin/report.ts --since 3d",
      `${testOutput(chance, [])}\n\n${movements(chance, 90)}`,
    ),
  ]);
  record.assistant(
    "`--since` takes a date or a number of days. Four tests cover it, with the change to winter time.",
  );
}

export function findLeak(record: Recorder, chance: Chance): void {
  record.user(
    "The service grows by about 80 MB a day on the server in the lock house. I have no idea where. Please measure first, then show me the cause, then fix it.",
  );
  record.assistant(
    "I'll run it for a while with an import every few seconds, and look at the heap in between.",
    [
      run(
        "node --expose-gc bin/serve.ts --import-every 5s & sleep 60; kill -USR2 %1; cat heap-1.txt",
        heapTable(chance, 1),
      ),
    ],
  );
  record.assistant("", [run("sleep 240; kill -USR2 %1; cat heap-2.txt", heapTable(chance, 9))]);
  record.assistant("`Reading` objects grow without end, and so does one `Map`. Who keeps readings?", [
    search(
      "new Map<",
      "src/store/movements.ts:12:const cache = new Map<string, Movement[]>();\nsrc/pilots/slots.ts:27:  private readonly held = new Map<number, string>();\nsrc/store/readings.ts:9:const byMinute = new Map<string, Reading>();",
    ),
    read("src/store/readings.ts", storeSource()),
  ]);
  record.assistant(
    "`byMinute` has a key per gauge and minute and never drops one. What reads it, and how far back?",
    [
      search(
        "latestBefore\\(",
        "src/predict/sill.ts:31:  const reading = latestBefore(gauge, at);\nsrc/report/daily.ts:70:  const reading = latestBefore(berth.gauge, movement.at);",
      ),
      run("git log -S byMinute --oneline", "1f0c9aa faster look-up of readings\n"),
    ],
  );
  record.assistant(
    "Both want at most the last six hours. A test first, that the store forgets older readings.",
    [write("test/store/readings.test.ts", sinceTest().replaceAll("since", "readings"))],
  );
  record.assistant("", [
    run(
      "npm test -- test/store",
      testOutput(chance, ["import/readings forgets what is older than six hours"]),
      true,
    ),
  ]);
  record.assistant("", [
    edit(
      "src/store/readings.ts",
      "byMinute.set(keyOf(reading), reading);",
      "byMinute.set(keyOf(reading), reading);\n  forgetBefore(reading.takenAt - sixHours);",
    ),
  ]);
  record.assistant("", [run("npm test -- test/store", testOutput(chance, []))]);
  record.assistant("Now the same measurement again.", [
    run(
      "node --expose-gc bin/serve.ts --import-every 5s & sleep 300; kill -USR2 %1; cat heap-3.txt",
      heapTable(chance, 1),
    ),
    run("tail -n 60 var/log/harbour.log", serviceLog(chance, 60)),
  ]);
  record.assistant(
    "The leak was `byMinute` in `src/store/readings.ts`: it kept every reading for ever. It now forgets what is older than six hours; after five minutes the heap is as large as after one.",
  );
}

export function answerReview(record: Recorder, chance: Chance): void {
  record.user(
    "Two remarks from the review: the constant `sixHours` belongs into `src/config.ts`, and `hold` needs a comment that says why it writes before it awaits.",
  );
  record.assistant("", [
    search(
      "sixHours",
      "src/store/readings.ts:14:const sixHours = 6 * 3_600_000;\nsrc/store/readings.ts:29:  forgetBefore(reading.takenAt - sixHours);",
    ),
  ]);
  record.assistant("", [
    run(
      "cat src/config.ts",
      'export const config = {\n  port: 8127,\n  sill: "lock-outer",\n  slotMinutes: 10,\n} as const;',
    ),
  ]);
  record.assistant("", [
    edit("src/config.ts", "  slotMinutes: 10,", "  slotMinutes: 10,\n  keepReadingsHours: 6,"),
    edit(
      "src/store/readings.ts",
      "const sixHours = 6 * 3_600_000;",
      "const kept = config.keepReadingsHours * 3_600_000;",
    ),
    edit(
      "src/pilots/slots.ts",
      "    this.held.set(slot, order.vessel);",
      "    // Taken before the depth is awaited: another vessel may ask in between.\n    this.held.set(slot, order.vessel);",
    ),
  ]);
  record.assistant("", [run("npm test", testOutput(chance, []))]);
  record.assistant("Both done; all tests pass.");
}

export function finish(record: Recorder, chance: Chance): void {
  record.user(
    "Before you commit: why did the import fail in the first place, and what did I say about the file format? Write the changelog for all of today, then commit.",
  );
  record.assistant(
    "The export had a new column `depth_m` that `parseHeader` refused. You said that the file format must not be changed, and that old exports must still work. I'll check the whole diff before I write the changelog.",
    [
      run("git diff --stat", diffStat(chance, "src")),
      read("CHANGELOG.md", changelog(chance, 50)),
      run("npm test", testOutput(chance, [])),
    ],
  );
  record.assistant("", [
    edit(
      "CHANGELOG.md",
      "## Unreleased",
      "## Unreleased\n\n- Import: unknown columns are accepted.\n- Pilots: a slot is never held twice.\n- Berths: `length` is now `lengthOverall`.\n- Report: `--since`.",
    ),
    run(
      "git add -A && git commit -qm 'Import, slots, berths, --since' && git log --oneline -1",
      "4be19d2 Import, slots, berths, --since",
    ),
  ]);
  record.assistant(
    "Committed as 4be19d2: the import, the slots, the rename and `--since`, each with its tests and its line in the changelog.",
  );
}

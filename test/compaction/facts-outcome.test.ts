import { describe, expect, it } from "vitest";
import { type Outcome, resultFacts } from "../../src/compaction/facts/outcome.ts";

const read = (text: string, flagged = false) => resultFacts([{ type: "text", text }], flagged);
const rows = (...lines: string[]): string => lines.join("\n");
const many = (line: string, times: number): string => `${line}\n`.repeat(times);

/** The result's name, its text, and the outcome with its exit code where one is told. */
type Row = [name: string, text: string, outcome: Outcome, exit?: number];

const codes: Row[] = [
  ["a code on the last line", "AssertionError: no\nExit code: 1", "failed", 1],
  ["a code in brackets", "some output\n[exit code: 1]", "failed", 1],
  ["a code in parentheses", "some output\n(exit code 0)", "ok", 0],
  ["a code on the first line", "Exit code 2\nmake: x", "failed", 2],
  ["a code of 0 on the first line", "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nerror: x", "ok", 0],
  ["a line of the harness further in", "Wall time: 1 s\nProcess exited with code 3\nOutput:\n", "failed", 3],
  ["a sentence", "x\n[The command completed with exit code 2.]", "failed", 2],
  ["a sentence inside a tag", "<system>ERROR: Command failed with exit code: 7.</system>\nx", "failed", 7],
  ["a shell's echo", "12 files\nEXIT: 0", "ok", 0],
  ["a variable", "x\nEXIT_CODE=4", "failed", 4],
  ["a status of the Go runner", "boom\nexit status 2", "failed", 2],
  [
    "the code among the last lines",
    "Output: x\nError: (none)\nExit Code: 0\nSignal: (none)\nPGID: 3",
    "ok",
    0,
  ],
  ["a negative code", "x\nCommand exited with code -9", "failed", -9],
  ["a tag of its own", "<returncode>1</returncode>\n<output>\nx</output>", "failed", 1],
  ["a tag behind the output", "<output>x</output>\n<exit_code>0</exit_code>", "ok", 0],
  ["an attribute", '<output exit_code="5">\nx\n</output>', "failed", 5],
  ["a member returncode", '{"output":"x FAILED","returncode":1}', "failed", 1],
  ["a member in the metadata", '{"output":"x","metadata":{"exit_code": 0}}', "ok", 0],
  ["a member in camel case", '{ "exitCode": 127, "stderr": "x" }', "failed", 127],
  ["the code of a process with streams", '{"stdout":"","stderr":"x","code":1}', "failed", 1],
  ["an object in another notation", "{'output': 'x', 'returncode': 1}", "failed", 1],
  ["a long object", `{"output":"${"x".repeat(9_000)}","exit_code":3}`, "failed", 3],
  ["a script's 0 behind the harness's code", "Exit code 1\nx\nexit: 0", "failed", 1],
  ["windows line ends", "x\r\nExit code: 1\r\n", "failed", 1],
];

const failures: Row[] = [
  [
    "vitest",
    rows(
      " FAIL  a.test.ts > adds",
      "AssertionError: 1",
      " Tests  1 failed | 11 passed (12)",
      " Duration  1s",
    ),
    "failed",
  ],
  [
    "vitest in colours",
    " \u001b[2m      Tests \u001b[22m \u001b[1m\u001b[31m1 failed\u001b[39m (3)",
    "failed",
  ],
  ["jest", "Tests:       2 failed, 5 passed, 7 total\nSnapshots:   0 total\nTime: 1 s", "failed"],
  ["pytest", "FAILED tests/test_a.py::test_b - assert 1\n=== 1 failed, 11 passed in 0.12s ===", "failed"],
  ["pytest's errors at collection", "=========== 2 errors in 0.30s ===========", "failed"],
  ["unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1)", "failed"],
  ["mocha", "  11 passing (20ms)\n  1 failing\n\n  1) adds", "failed"],
  ["the node runner", "# tests 3\n# pass 2\n# fail 1\n# cancelled 0", "failed"],
  ["go test", "--- FAIL: TestA (0.00s)\nFAIL\tx/y\t0.1s\nok  \tx/z\t0.2s\nFAIL", "failed"],
  ["cargo test", "test result: FAILED. 1 passed; 1 failed; 0 ignored", "failed"],
  ["rustc", "error[E0308]: mismatched types\n --> src/a.rs:1:1\nsome note", "failed"],
  ["maven", "[ERROR] Tests run: 5, Failures: 1, Errors: 0\n[INFO] BUILD FAILURE", "failed"],
  ["rspec", "12 examples, 1 failure", "failed"],
  ["tsc", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable.", "failed"],
  ["tsc in its long form", "src/a.ts:3:5 - error TS2322: Type\n\nFound 1 error in src/a.ts:3", "failed"],
  ["gcc", "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared\n    3 |  x;", "failed"],
  ["a linker", "a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status", "failed"],
  ["go build", "# x/y\n./a.go:3:5: undefined: x", "failed"],
  ["eslint", "  3:5  error  no-undef\n\n✖ 3 problems (1 error, 2 warnings)", "failed"],
  ["make", "cc a.c\nmake[1]: *** [Makefile:3: all] Error 2", "failed"],
  ["npm, old", "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1", "failed"],
  ["npm, new", "npm error Missing script: tset\nnpm error To see a list, run npm run", "failed"],
  ["git", "fatal: not a git repository (or any of the parent directories): .git", "failed"],
  ["a merge", "CONFLICT (content): Merge conflict in a.ts\nAutomatic merge failed; fix conflicts", "failed"],
  ["a traceback", "starting\nTraceback (most recent call last):\n  File x\nKeyError: 'a'", "failed"],
  ["a node crash", "TypeError: x is undefined\n    at a.js:1:1\n\nNode.js v22.19.0", "failed"],
  ["an assertion", "running\nAssertionError [ERR_ASSERTION]: 1 == 2\n    at a.js:1:1\n    at b", "failed"],
  ["a panic in go", "panic: boom\n\ngoroutine 1 [running]:\nmain.main()", "failed"],
  ["a panic in rust", "thread 'main' panicked at src/main.rs:2:5:\nboom\nnote: run with x", "failed"],
  [
    "a segmentation fault",
    "start\nbash: line 1:  4242 Segmentation fault      (core dumped) ./a.out",
    "failed",
  ],
  ["an unknown command", "bash: line 1: tscc: command not found", "failed"],
  ["an unknown command in zsh", "zsh: command not found: tscc", "failed"],
  ["a missing file", "cat: a.txt: No such file or directory", "failed"],
  ["a usage error", "usage: x [-h]\nx: error: the following arguments are required: y", "failed"],
  ["curl", "curl: (6) Could not resolve host: x", "failed"],
  ["a time-out", "x\nCommand timed out after 120 seconds", "failed"],
  ["a tool's own message", "Error: file is too large", "failed"],
  ["a tool that did not find the text", "String to replace not found in file.", "failed"],
  ["a refused call", "<tool_use_error>File has not been read yet.</tool_use_error>", "failed"],
  ["an object with an error", '{"error": "no such order"}', "failed"],
  ["an object without success", '{"success": false, "message": "x"}', "failed"],
  ["a long log with its summary last", `${many("compiling part", 5_000)}Tests  1 failed (3)`, "failed"],
];

const successes: Row[] = [
  ["vitest", " Test Files  2 passed (2)\n      Tests  12 passed (12)\n   Duration  1s", "ok"],
  ["vitest that skipped some", "      Tests  12 passed | 1 skipped (13)", "ok"],
  ["a provoked error among passing tests", "Error: boom\n    at a.js\n Tests  3 passed (3)", "ok"],
  ["jest", "Tests:       7 passed, 7 total", "ok"],
  ["pytest", "====== 12 passed, 2 warnings in 0.12s ======", "ok"],
  ["a bare count", "3 passed", "ok"],
  ["mocha", "  11 passing (20ms)", "ok"],
  ["the node runner", "# pass 3\n# fail 0\n# cancelled 0", "ok"],
  ["cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored", "ok"],
  ["go test", "?   \tx/y\t[no test files]\nok  \tx/z\t(cached)", "ok"],
  ["unittest", "Ran 3 tests in 0.1s\n\nOK", "ok"],
  ["a linter", "Found 0 errors.", "ok"],
  ["npm install", "added 12 packages in 2s\n\nfound 0 vulnerabilities", "ok"],
  ["git commit", "[main 1a2b3c4] Fix the error: no semicolon\n 1 file changed", "ok"],
  ["an edit", "The file /a.ts has been updated successfully.", "ok"],
  ["a word", "ok", "ok"],
  ["an object", '{"success": true, "id": 3}', "ok"],
];

const unknowns: Row[] = [
  ["nothing", "", "unknown"],
  ["plain output", "listening on port 8080", "unknown"],
  ["a number that is no summary", "42", "unknown"],
  ["hits of a search for errors", "src/a.ts:12:// error TS2322: no\nci.log:3:npm ERR! code 1", "unknown"],
  ["a numbered hit", "12:src/a.ts(3,5): error TS2322: no", "unknown"],
  ["a hit in C code", 'a.c:12:  printf("error: %s", x);\nb.c:4: error: label', "unknown"],
  ["prose about errors", "# Errors\nWhen a command fails, exit code 1 is returned.\nSee FAQ.", "unknown"],
  ["a document with a table", "| Tests | 1 failed |\n| error | what to do |", "unknown"],
  ["counts of nothing", "0 failed, 0 errors so far", "unknown"],
  ["a heading", "Error handling is described below.\nIt has three parts.\nOne.\nTwo.", "unknown"],
  ["no error", "Error: (none)\nSignal: (none)", "unknown"],
  ["a warning count", "✖ 3 problems (0 errors, 3 warnings)", "unknown"],
  ["an ignored target", "make: [Makefile:3: clean] Error 1 (ignored)\nrm -f x", "unknown"],
  ["a script that ends so", "#!/bin/sh\ncd x\nexit 1", "unknown"],
  ["a status of the web", '{"status": 404, "title": "x"}', "unknown"],
  ["an object in a string", '{"body": "{\\"exit_code\\": 1}"}', "unknown"],
  ["a failure far from the end", `Tests  1 failed (3)\n${many("cleaning up", 60)}`, "unknown"],
  ["a code far from the ends", `${many("a", 20)}exit code: 1\n${many("b", 20)}`, "unknown"],
  ["an allowed failure", "not ok 3 - later # TODO write it\n1..3", "unknown"],
  ["an empty error", '{"error": "", "data": [1]}', "unknown"],
];

describe("outcomes", () => {
  it.each(codes)("[C46] goes by the exit code: %s", (_, text, outcome, exit) => {
    expect(read(text)).toMatchObject({ outcome, exit });
  });

  it.each(failures)("[C46] takes the closing shape of a failure for one: %s", (_, text, outcome) => {
    const facts = read(text);
    expect(facts.outcome).toBe(outcome);
    expect(facts.error).not.toBe("");
  });

  it.each(successes)("[C46] takes the summary of a success for one: %s", (_, text, outcome) => {
    expect(read(text)).toEqual({ outcome, error: "" });
  });

  it.each(unknowns)("[C46] claims nothing without evidence: %s", (_, text, outcome) => {
    expect(read(text)).toEqual({ outcome, error: "" });
  });

  it("[C46] fails what is flagged, whatever its text says", () => {
    expect(read("3 passed", true).outcome).toBe("failed");
    expect(read("Exit code: 0", true)).toMatchObject({ outcome: "failed", exit: 0 });
  });

  it("[C47] tells an error out of an object without the object's own notation", () => {
    expect(read('{"output":"one\\nerror: no semicolon\\n","returncode":1}').error).toBe(
      "error: no semicolon",
    );
  });

  it("[C46] reads a result in parts from both of its ends", () => {
    const parts = [many("log", 9_000), "Tests  1 failed (3)", "Duration 1s"];
    const content = parts.map((text) => ({ type: "text" as const, text }));
    expect(resultFacts(content, false).outcome).toBe("failed");
  });

  it("[C46] takes a time that does not grow with what is hostile in a result", () => {
    const hostile = [
      "a:",
      "1 failed, ",
      "(",
      "Tests 1 ",
      '{"a":',
      "<x ",
      "=".repeat(9),
      "12 ab, ",
      "\u001b[",
      "\t",
    ];
    const texts = hostile.flatMap((piece) => [
      piece.repeat(8_192),
      many(piece.repeat(40), 4_000),
      `${piece.repeat(380)}!\n`.repeat(40),
    ]);
    const began = performance.now();
    for (const text of texts) read(text);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

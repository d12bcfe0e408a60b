/**
 * What the text of a result says about how it went when no exit code tells: the closing shapes of well-known
 * test runners, compilers, shells and harnesses. Every shape holds a whole line or its beginning, near the
 * end of the text (or at its very beginning), so that a search or a document that speaks of errors is no
 * failure. Every repetition is bounded.
 */

export type Verdict = "ok" | "failed";

/** Non-blank lines at the end of which verdicts are read, and the few that a crash ends with. */
const NEAR = 40;
const LAST = 2;
const MAX_LINE = 400;
/** A text of so few lines is the message of a tool itself. */
const SHORT = 3;

/** A file and its place in front of a diagnostic; `a.ts:12:` alone is how a search prints its hits. */
const file = "^(?:[A-Za-z]:)?[^\\s:()]{1,300}";

/** Summaries that only a failure prints: they hold whatever else the text says. */
const failures: readonly RegExp[] = [
  /^(?:Test Files|Test Suites|Tests|Snapshots):?\s{1,12}(?:\d+ \w+[,|\s]{1,4}){0,5}[1-9]\d{0,8} failed\b/,
  /^=*\s?(?:\d+ [a-z]+, ){0,6}[1-9]\d{0,8} (?:failed|errors?)(?:, \d+ [a-z]+){0,6} in \d/,
  /^[1-9]\d{0,8} (?:failed|failing|fail)$/,
  /^[#ℹ] fail [1-9]/,
  /^not ok \d+(?!.{0,200}# (?:TODO|SKIP))/i,
  /^(?:--- )?FAIL(?::|\s|$)/,
  /^FAILED(?: \(|\s\S{1,200}(?:::| - )|$)/,
  /^\S{1,200}::\S{1,200} FAILED\b/,
  /^test \S{1,200}(?: - .{1,60})? \.\.\. FAILED$/,
  /^test result: FAILED\b/,
  /^(?:\[ERROR\] )?Tests run: \d+, (?:Failures: [1-9]|Failures: \d+, Errors: [1-9])/,
  /^(?:\[(?:ERROR|INFO)\] )?BUILD FAIL(?:URE|ED)\b/,
  /^(?:FAILURES|ERRORS)!$/,
  /^Failed!\s{1,4}- Failed: /,
  /^\d+ (?:examples?|runs?|tests?),(?: \d+ [a-z]+,){0,4} [1-9]\d{0,8} (?:failures?|errors?)\b/,
  new RegExp(`${file}\\(\\d+,\\d+\\): error TS\\d+:`),
  new RegExp(`${file}:\\d+:\\d+ - error TS\\d+:`),
  new RegExp(`${file}:\\d+:\\d+: (?:fatal )?error: `),
  /^error TS\d+:/,
  /^error\[E\d{4}\]:/,
  /^error: (?:test failed, to rerun|could not compile|aborting due to|process didn't exit successfully)/,
  /^error: script .{1,80} exited with code [1-9]/,
  /^(?:collect2|ld|clang|gcc|cc|g\+\+)(?:\.\w+)?: (?:fatal )?error: /,
  /^Found [1-9]\d{0,8} errors?\b/,
  /^[✖×] \d+ problems? \([1-9]\d{0,8} errors?/,
  /^g?make(?:\[\d+\])?: \*\*\* (?!.{0,300}\(ignored\)$)/,
  /^npm (?:ERR!|error)(?: |$)/,
  /^(?:\[?ELIFECYCLE\b|ERR_PNPM_|error Command failed with exit code)/,
  /^CONFLICT \(|^Automatic merge failed|^! \[(?:remote )?rejected\]/,
  /^error: failed to push /,
  /^curl: \(\d+\) /,
  /^(?:\[[\w:-]{1,40}\] )?ERROR task failed\b/,
];

/** Lines of a crash: a failure unless a good end comes after them, as when a test provokes one. */
const crashes: readonly RegExp[] = [
  /^Traceback \(most recent call last\):$/,
  /^(?:Uncaught |Unhandled )?AssertionError\b/,
  /^panic: /,
  /^thread '.{1,80}' (?:\(\d+\) )?panicked at /,
  /^fatal: \S/,
  /^Unhandled (?:exception|rejection)\b/i,
  new RegExp(`${file}\\.go:\\d+:\\d+: \\S`),
];

/** Failures as the last few lines of a text tell them. */
const endings: readonly RegExp[] = [
  /^(?:Uncaught |Caused by: )?[A-Za-z_][\w.]{0,80}(?:Error|Exception)(?: \[\w{1,40}\])?: \S/,
  /^(?:error|fatal)(?: \w{1,20})?(?:\[\S{1,20}\])?: (?!\(?(?:none|null|0|no)\b)\S/i,
  /^[\w./-]{1,60}: (?:fatal )?error: \S/,
  /^E: \S/,
  /^(?:\S{1,80}: )?(?:line \d+: )?(?:\d+: )?\S{1,80}: (?:command )?not found$/,
  /^\S{1,40}: command not found: \S{1,80}$/,
  /^[\w./-]{1,60}: .{1,250}: (?:No such file or directory|Permission denied|Is a directory|Not a directory)$/,
  /^[\w./-]{1,60}: .{0,80}\b(?:can't open file|No module named) /,
  new RegExp(
    "^(?:\\S{1,80}: line \\d+:\\s{1,4}\\d+ )?(?:Segmentation fault|Aborted|Killed|Bus error|" +
      "Illegal instruction|Floating point exception)(?:: \\d+)?(?:\\s{1,40}\\(core dumped\\)|\\s{2,40}\\S.{0,200})?$",
  ),
  /^(?:\[|\()?(?:error: )?(?:the )?(?:command|process|tool|execution)\b.{0,60} (?:timed out|was interrupted|was aborted|was killed|failed)\b/i,
  /^Node\.js v\d+\.\d+\.\d+$/,
];

/** A tool's own message of failure, as the first line of a text. */
const openings: readonly RegExp[] = [
  /^(?:error|fatal)(?:\[\S{1,20}\])?: (?!\(?(?:none|null|0|no)\b)\S/i,
  /^Error (?:executing|calling|running|reading|writing|editing|invoking|occurred|while)\b/i,
  /^Traceback \(most recent call last\):$/,
  /^panic: /,
  /^The user (?:doesn't want|rejected|denied|declined)\b/i,
  /^(?:The )?command execution was not successful\b/i,
  /^No replacement was performed\b/,
  /^\w{1,40} verification failed:/,
];
/** The same, only when the text is but a few lines. */
const shortOpenings: readonly RegExp[] = [
  /^(?:error|failed|unable|could not|cannot|can't)(?: to)? [a-z]\w{1,20} /i,
  /^(?:the )?(?:file|path|directory|string to replace|old_string)\b.{0,250}\b(?:does not exist|(?:was )?not found)\b/i,
  /^(?:\S{1,80}: )?(?:No such file or directory|Permission denied|command not found)$/i,
];

/** Summaries that only a success prints. */
const successes: readonly RegExp[] = [
  /^Tests:?\s{1,12}(?:\d+ \w+[,|\s]{1,4}){0,4}[1-9]\d{0,8} passed\b/,
  /^=*\s?(?:\d+ [a-z]+, ){0,6}[1-9]\d{0,8} (?:passed|passing|pass)(?:, \d+ [a-z]+){0,6}(?: in \d.{0,40}| ?\(.{1,40}\))?$/,
  /^[#ℹ] fail 0$/,
  /^All (?:\d+ )?(?:tests?|checks?|specs?) (?:have )?pass(?:ed)?\b/i,
  /^test result: ok\b/,
  /^ok\s{1,8}\S{1,200}\s{1,8}(?:\(cached\)|\d+\.\d+s)/,
  /^PASS$/,
  /^OK(?: \(.{1,80}\))?$/,
  /^(?:\[INFO\] )?BUILD SUCCESS(?:FUL)?\b/,
  /^\d+ (?:examples?|runs?|tests?),(?: \d+ assertions?,)? 0 failures(?:, 0 errors|$)/,
  /^Found 0 (?:errors|vulnerabilities)\b|^found 0 vulnerabilities$/,
  /^(?:0 (?:errors|issues|problems)\b|No (?:errors|issues|problems)(?: found)?[.!]?$)/i,
  /^(?:Success: )?no issues found in \d/i,
  /^Checked \d+ files? in .{1,30}\. (?:No fixes applied|Fixed \d+ files?)\.$/,
  /^(?:✓|✔) (?:built in \d|Compiled successfully|No \w+ warnings or errors)/i,
  /^(?:webpack .{1,40} )?Compiled successfully\b/i,
  /^Finished [`\w].{0,80} in \d/,
  /^(?:added|removed|changed) \d+ packages?\b|^up to date(?:,| in )/,
  /^\[[^\s\]]{1,120}(?: \(root-commit\))? [0-9a-f]{7,40}\] \S/,
  /^(?:\+ )?[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}\s{1,8}\S{1,120} -> \S/,
  /^\* \[new (?:branch|tag)\]\s/,
  /^(?:Already up to date|Everything up-to-date)\.?$/,
  /^Switched to (?:a new )?branch '/,
];

/** A tool's own message of success, as the first or the last line of a text. */
const good: readonly RegExp[] = [
  /^(?:the )?(?:command|tool|process|task|script)\b.{0,60}\b(?:executed|completed|ran|finished|created|updated) successfully\b/i,
  /^success(?:[.:!]|$)/i,
  /^Successfully [a-z]+ \S/i,
  /^(?:the )?(?:file|files|todos|plan|notebook)\b.{0,350}\bha(?:s|ve) been (?:updated|created|edited|written|overwritten|modified|deleted|saved)\b/i,
  /^(?:the )?(?:file|files|todos|plan|notebook)\b.{0,350}\b(?:updated|created|edited|written|modified|deleted|saved) successfully\b/i,
  /^Updated (?:task|file)\b/,
];
const goodWhole = /^(?:ok|okay|done|success|passed|completed|updated|created|approved|all passed)[.!]?$/i;

/**
 * The verdict of a text's clean, non-blank lines; undefined when nothing in it is evidence. `first` and
 * `last` are the lines at either end, the same when the text is short.
 */
export function verdictOf(first: readonly string[], last: readonly string[]): Verdict | undefined {
  const near = last.slice(-NEAR).map((line) => line.slice(0, MAX_LINE));
  const opening = first[0]?.slice(0, MAX_LINE) ?? "";
  if (near.some((line) => any(failures, line))) return "failed";
  const succeeded = near.findLastIndex((line) => any(successes, line));
  const crashed = near.findLastIndex(
    (line, at) => any(crashes, line) || (at >= near.length - LAST && any(endings, line)),
  );
  if (crashed > succeeded) return "failed";
  if (succeeded !== -1) return "ok";
  if (any(openings, opening) || (last.length <= SHORT && any(shortOpenings, opening))) return "failed";
  const whole = near.length === 1 && goodWhole.test(near[0]!);
  return whole || any(good, opening) || any(good, near.at(-1) ?? "") ? "ok" : undefined;
}

function any(patterns: readonly RegExp[], line: string): boolean {
  return patterns.some((pattern) => pattern.test(line));
}

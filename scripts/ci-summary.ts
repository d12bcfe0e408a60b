/**
 * Reads the test runner's own JSON report and ends with the line `N passed, N failed`.
 * A file that could not even be loaded counts as one failure. Exits 1 when anything failed or nothing ran.
 */
import { readFileSync } from "node:fs";

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
  testResults: { name: string; status: string; message?: string; assertionResults: { status: string }[] }[];
}

export interface Summary {
  passed: number;
  failed: number;
  skipped: number;
  ok: boolean;
}

export function summarize(report: Report): Summary {
  const unloaded = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed"),
  );
  const failed = report.numFailedTests + unloaded.length;
  const passed = report.numPassedTests;
  return {
    passed,
    failed,
    skipped: report.numPendingTests + report.numTodoTests,
    ok: report.success && failed === 0 && passed > 0,
  };
}

if (import.meta.main) {
  const [path] = process.argv.slice(2);
  if (path === undefined) throw new Error("usage: ci-summary REPORT.json");
  const { passed, failed, skipped, ok } = summarize(JSON.parse(readFileSync(path, "utf8")) as Report);
  if (skipped > 0) console.log(`${skipped} skipped`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = ok ? 0 : 1;
}

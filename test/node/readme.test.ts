/**
 * What the README promises is what the repository does: its commands, its policy table, its routes. And CI
 * ends with honest counts.
 */
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { summarize } from "../../scripts/ci-summary.ts";
import { defaultPolicy, policySchema } from "../../src/compaction/policy.ts";
import { nativeRoutes } from "../../src/gateway/routes.ts";

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const readme = readFileSync(path("README.md"), "utf8");
const scripts = JSON.parse(readFileSync(path("package.json"), "utf8")).scripts as Record<string, string>;

it("names two commands that exist, and .ci/run runs the one for the tests", () => {
  const blocks = [...readme.matchAll(/```sh\n([^`]*?)\n```/g)].map((match) => match[1] ?? "");
  expect(blocks.slice(0, 2)).toEqual(["npm ci && npm run demo", "npm ci && npm test"]);
  const named = [...readme.matchAll(/npm (?:run )?(demo|test|dev|replay)\b/g)].map((match) => match[1] ?? "");
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  expect(readFileSync(path(".ci/run"), "utf8")).toContain("npm ci && npm test");
  expect(statSync(path(".ci/run")).mode & 0o111).not.toBe(0);
});

it("lists exactly the policy keys that work, with their defaults", () => {
  const section = readme.slice(readme.indexOf("Policy keys:"), readme.indexOf("To deploy:"));
  const rows = [...section.matchAll(/^\| `(\w+)` \| (.+?) \| .+ \|$/gm)].map(([, key = "", value = ""]) => [
    key,
    value,
  ]);
  expect(rows.map(([key]) => key).sort()).toEqual(Object.keys(policySchema.shape).sort());
  const defaults = Object.entries(JSON.parse(JSON.stringify(defaultPolicy)));
  const listed = rows.filter(([, value]) => value !== "none");
  const values = listed.map(([key, value = ""]) => [key, JSON.parse(value.replaceAll("`", ""))]);
  expect(Object.fromEntries(values)).toEqual(Object.fromEntries(defaults));
});

it("lists every route", () => {
  const missing = Object.entries(nativeRoutes).flatMap(([route, methods]) =>
    methods
      .map((method) => `\`${method} ${route.replace("{seq}", ":seq")}`)
      .filter((text) => !readme.includes(`${text}\``) && !readme.includes(`${text}?`)),
  );
  expect(missing).toEqual([]);
});

const report = {
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  success: true,
  testResults: [{ name: "a", status: "passed", assertionResults: [{ status: "passed" }] }],
};

it("counts what passed, what failed, and a file that could not be loaded as a failure", () => {
  expect(summarize(report)).toEqual({ passed: 3, failed: 0, skipped: 1, ok: true });
  const failing = { ...report, numFailedTests: 2, success: false };
  failing.testResults = [{ name: "a", status: "failed", assertionResults: [{ status: "failed" }] }];
  expect(summarize(failing)).toMatchObject({ failed: 2, ok: false });
  const unloaded = { ...report, success: false };
  unloaded.testResults = [...report.testResults, { name: "b", status: "failed", assertionResults: [] }];
  expect(summarize(unloaded)).toMatchObject({ passed: 3, failed: 1, ok: false });
  expect(summarize({ ...report, numPassedTests: 0, testResults: [] })).toMatchObject({ ok: false });
  expect(summarize({ ...report, success: false })).toMatchObject({ ok: false });
});

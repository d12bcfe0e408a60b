/**
 * Freezes new golden logs: `node scripts/make-golden.ts NAME` plays one small session per dialect with this release and writes its
 * events, bodies and Surfaces to `test/golden/NAME-<dialect>.json`. A file that is there is never written again: old logs are what a new
 * release must render to the same bytes.
 */
import { existsSync, writeFileSync } from "node:fs";
import { dialectNames } from "../src/dialects/dialect.ts";
import { goldenText } from "../test/support/golden-format.ts";
import { goldenSession } from "../test/support/golden-session.ts";

const name = process.argv[2] ?? "";
if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
  console.error("usage: node scripts/make-golden.ts NAME   (lower case letters, digits, dots and dashes)");
  process.exit(2);
}
const files = dialectNames.map((dialect) => ({
  dialect,
  file: new URL(`../test/golden/${name}-${dialect}.json`, import.meta.url),
}));
const taken = files.find(({ file }) => existsSync(file));
if (taken !== undefined) {
  console.error(`make-golden: ${name}-${taken.dialect}.json is there already, and is never written again`);
  process.exit(1);
}
for (const { dialect, file } of files) {
  writeFileSync(file, goldenText(await goldenSession(dialect)), { flag: "wx" });
  console.log(`test/golden/${name}-${dialect}.json`);
}

/** All benches, one after the other, each in a process of its own. Prints ratios and figures of this run; asserts no time. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

let failed = 0;
for (const name of [
  "objects",
  "planning",
  "transcripts",
  "extractive",
  "count",
  "request",
  "link-key",
  "gateway",
]) {
  console.log(`\n=== ${name} ===`);
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file], { stdio: "inherit" });
  if (status !== 0) failed++;
}
process.exitCode = failed === 0 ? 0 : 1;

/**
 * Long agent loops over the vendors' own clients through a Worker on this machine. One row per loop; exit
 * code 0: all ended well, 1: one did not, 2: wrong arguments.
 */
import { parseArgs } from "node:util";
import { faultsOf, type LoopOutcome, loopCases, openMatrix } from "./loop/matrix.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "2000" },
    /** Part of a case's name, as `plain/anthropic` or `stream/4`; may be repeated. */
    only: { type: "string", multiple: true },
    /** One line of JSON per loop. */
    json: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const cases = loopCases().filter(({ name }) => values.only?.some((part) => name.includes(part)) ?? true);
if (!(Number.isInteger(rounds) && rounds > 0) || cases.length === 0) {
  const known = loopCases().map(({ name }) => name);
  process.stderr.write(`loops [--rounds 2000] [--only PART]… [--json]\n  ${known.join("\n  ")}\n`);
  process.exit(2);
}

const columns = [26, 5, 7, 8, 9, 8, 6, 6, 7];

function row(cells: readonly (string | number)[]): string {
  const padded = cells.map((cell, at) =>
    at === 0 ? String(cell).padEnd(columns[at] ?? 0) : String(cell).padStart(columns[at] ?? 0),
  );
  return `${padded.join("  ")}\n`;
}

function rowOf(outcome: LoopOutcome): string {
  const faults = faultsOf(outcome);
  const cached = `${(outcome.cachedShare * 100).toFixed(1)} %`;
  const { name, requests, ms, overflows, largest, generation, errors } = outcome;
  const seconds = (ms / 1_000).toFixed(1);
  const good = faults.length === 0 ? "ok" : "FAILED";
  const line = [name, good, seconds, requests, overflows, largest, cached, generation, errors.length];
  return row(line) + faults.map((fault) => `    ${fault}\n`).join("");
}

const matrix = await openMatrix(cases);
let bad = 0;
try {
  if (!values.json)
    process.stdout.write(
      row(["loop", "", "s", "requests", "overflows", "largest", "cached", "shrunk", "errors"]),
    );
  for (const one of cases) {
    const outcome = await matrix.play(one, rounds);
    if (faultsOf(outcome).length > 0) bad++;
    process.stdout.write(values.json ? `${JSON.stringify(outcome)}\n` : rowOf(outcome));
  }
} finally {
  await matrix.close();
}
process.exitCode = bad === 0 ? 0 : 1;

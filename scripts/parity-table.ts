/**
 * Writes `test/PARITY.md`: every case of the peers' suites with the test that proves it here, the reason why it does not
 * apply, or the issue that will bring it. Ids and areas come from the shared case list, which is not part of this
 * repository; without it the table itself is the list. Exits 1 when a case has none of the three, a test and an entry
 * both, or when an id is that of no case.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const cases = `${root}../shared/cases/parity.md`;
export const table = `${root}test/PARITY.md`;

/** By id: where a case that has no test stands. */
type NotHere = Record<string, { status: string; reason?: string; issue?: string }>;
const issues = ["The gateway", "Checkpoints that can be trusted", "See it"];

export interface Parity {
  /** The whole file. */
  text: string;
  faults: string[];
  totals: { cases: number; tested: number; notApplicable: number; later: number };
}

export const hasCases = existsSync(cases);

export function parity(): Parity {
  const areas = hasCases ? listedCases() : tabledCases();
  const tests = testsById(new Set([...areas.keys()].map((id) => id.split("-")[0] ?? "")));
  const notHere = JSON.parse(readFileSync(`${root}test/parity/not-here.json`, "utf8")) as NotHere;
  const faults = [...faultsOf(areas, tests, notHere)];
  const rows = [...areas].map(([id, area]) => `| ${id} | ${area} | ${placeOf(tests.get(id), notHere[id])} |`);
  const of = (status: string) => Object.values(notHere).filter((entry) => entry.status === status).length;
  const totals = {
    cases: areas.size,
    tested: [...areas.keys()].filter((id) => tests.has(id)).length,
    notApplicable: of("not applicable"),
    later: of("later"),
  };
  return { text: render(rows, totals), faults, totals };
}

/** Id to area, in the order of the shared list. */
function listedCases(): Map<string, string> {
  const found = new Map<string, string>();
  let area = "";
  for (const line of readFileSync(cases, "utf8").split("\n")) {
    area = /^## (\S.*)$/.exec(line)?.[1] ?? area;
    const id = /^- \*\*([A-Z]+-\d+)\*\*/.exec(line)?.[1];
    if (id !== undefined) found.set(id, area);
  }
  return found;
}

function tabledCases(): Map<string, string> {
  const rows = readFileSync(table, "utf8").matchAll(/^\| ([A-Z]+-\d+) \| (\S+) \|/gm);
  return new Map([...rows].map(([, id = "", area = ""]) => [id, area]));
}

/** The files under `test/` that name an id in brackets. */
function testsById(peers: ReadonlySet<string>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const files = readdirSync(`${root}test`, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts"))
    .sort();
  for (const file of files) {
    const named = readFileSync(`${root}test/${file}`, "utf8").matchAll(/\[([A-Z]+)-(\d+)\]/g);
    const ids = [...named].filter(([, peer = ""]) => peers.has(peer)).map(([, peer, n]) => `${peer}-${n}`);
    for (const id of new Set(ids)) found.set(id, [...(found.get(id) ?? []), file]);
  }
  return found;
}

function* faultsOf(
  areas: ReadonlyMap<string, string>,
  tests: ReadonlyMap<string, string[]>,
  notHere: NotHere,
): Generator<string> {
  for (const id of areas.keys()) {
    if (!tests.has(id) && notHere[id] === undefined) yield `${id}: neither a test nor an entry`;
    if (tests.has(id) && notHere[id] !== undefined) yield `${id}: a test and an entry`;
  }
  for (const id of [...tests.keys(), ...Object.keys(notHere)])
    if (!areas.has(id)) yield `${id}: no such case`;
  for (const [id, { status, reason = "", issue = "" }] of Object.entries(notHere)) {
    const fine = status === "later" ? issues.includes(issue) : status === "not applicable" && reason !== "";
    if (!fine) yield `${id}: an entry needs a reason or one of the issues`;
  }
}

function placeOf(files: readonly string[] | undefined, entry: NotHere[string] | undefined): string {
  if (files !== undefined) return files.map((file) => `\`${file}\``).join(", ");
  if (entry === undefined) return "missing";
  return entry.status === "later" ? `later: ${entry.issue}` : `not applicable: ${entry.reason}`;
}

function render(rows: readonly string[], totals: Parity["totals"]): string {
  const { cases: all, tested, notApplicable, later } = totals;
  return `# Parity with the peers' test suites

Written by \`node scripts/parity-table.ts\`; do not edit. ${all} cases: ${tested} have a test by their id, ${notApplicable} do not
apply here, ${later} come with a later issue. A test that says "re-based" holds what was decided here where peers contradict
each other. Files are below \`test/\`.

| case | area | where |
| --- | --- | --- |
${rows.join("\n")}
`;
}

if (import.meta.main) {
  const { text, faults, totals } = parity();
  if (hasCases) writeFileSync(table, text);
  else console.log("skipped: the shared case list is not here, so the table is only checked");
  for (const fault of faults) console.error(fault);
  const { cases: all, tested, notApplicable, later } = totals;
  console.log(`${all} cases: ${tested} tested, ${notApplicable} not applicable, ${later} later`);
  if (faults.length > 0) process.exitCode = 1;
}

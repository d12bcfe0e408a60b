import type { SessionApi } from "./api.ts";
import { asList, isObject, type Json } from "./import/session.ts";
import { digestOf, type PastSurface } from "./judge.ts";
import type { Oracle } from "./oracle.ts";
import { textOf, utf8 } from "./raw.ts";

/** The checks at the end of a replay: nothing lost, nothing twice, no drift, and the past still as it was. */

export interface Settled {
  generation: number;
  threshold: number | undefined;
  prunes: number;
  checkpoints: number;
  auditDrift: number;
  faults: string[];
}

/** @param posted JSON texts of every message that the server acknowledged, in order. */
export async function settle(
  api: SessionApi,
  oracle: Oracle,
  posted: readonly string[],
  past: readonly PastSurface[],
): Promise<Settled> {
  const log = await readLog(api, oracle, posted);
  const audit = await api.get("/audit");
  const drift = asList(audit.drift);
  const state = await api.get("");
  const { budget } = await api.get("/pressure");
  const threshold = isObject(budget) ? budget.threshold : undefined;
  const faults = [...log.faults, ...(await checkPast(api, past))];
  if (audit.ok !== true || drift.length > 0) faults.push(`the audit found drift: ${whatDrifted(drift)}`);
  if (asList(state.running).length > 0) faults.push("an operation is still open");
  return {
    generation: Number(state.generation),
    threshold: typeof threshold === "number" ? threshold : undefined,
    prunes: log.prunes,
    checkpoints: log.checkpoints,
    auditDrift: drift.length,
    faults,
  };
}

function whatDrifted(drift: readonly unknown[]): string {
  const names = drift.map((entry) => (isObject(entry) ? String(entry.what) : "unknown"));
  return names.length === 0 ? "it did not come to its end" : names.slice(0, 3).join(", ");
}

/** Every message that was posted must stand in the log once, in order, byte for byte but for cache marks. */
async function readLog(api: SessionApi, oracle: Oracle, posted: readonly string[]) {
  const expected = posted.map((json) => textOf(oracle.bare(utf8(json))));
  const known = new Set(expected);
  const replacements = { prune: 0, checkpoint: 0 };
  let found = 0;
  let twice = 0;
  for await (const { type, body } of api.events()) {
    if (type === "surface/replace") countReplacement(JSON.parse(textOf(body)), replacements);
    if (!type.startsWith("message/")) continue;
    const text = textOf(body);
    if (text === expected[found]) found += 1;
    else if (known.has(text)) twice += 1;
  }
  const faults: string[] = [];
  const lost = expected.length - found;
  if (lost > 0)
    faults.push(`${lost} of ${expected.length} posted messages are not in the log as they were sent`);
  if (twice > 0) faults.push(`${twice} messages stand in the log twice or out of order`);
  return { faults, prunes: replacements.prune, checkpoints: replacements.checkpoint };
}

function countReplacement(body: Json, counts: { prune: number; checkpoint: number }): void {
  if (body.kind === "prune") counts.prune += 1;
  if (body.kind === "checkpoint") counts.checkpoint += 1;
}

async function checkPast(api: SessionApi, past: readonly PastSurface[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { step, at, digest } of past) {
    const then = digestOf(await api.surface(at));
    if (then !== digest)
      faults.push(`the Surface of step ${step} (seq ${at}) is no longer what was answered then`);
  }
  return faults;
}

/**
 * The audit: the log is replayed in pages from nothing and every projection compared with the stored one. It yields between pages, so
 * that a long log holds nobody up, and compares at the head at which it began. Drift is a defect, always.
 */
import type { Dialect } from "../dialects/dialect.ts";
import type { EventLog } from "../log/event-log.ts";
import { type EventRow, isFormType, isNodeType, metaSchemas, type NewEvent } from "../log/events.ts";
import { createMemoryLog } from "../log/memory-log.ts";
import type { Meter } from "../meter/price.ts";
import { surfaceOf, surfaceWeight } from "../projections/surface.ts";
import { weighForm } from "../projections/weigh.ts";
import { appendEvents } from "../projections/write.ts";

export interface Drift {
  what: string;
  branch: number;
  stored: unknown;
  recomputed: unknown;
}

const PAGE = { limit: 500, maxBytes: 4 * 1024 * 1024 };
const SHOWN = 100;

export interface AuditResult {
  ok: boolean;
  seq: number;
  branches: number;
  drift: Drift[];
}

export async function audit(
  log: EventLog,
  recount: { dialect: Dialect; meter: Meter } | undefined,
  pause: () => Promise<void>,
): Promise<AuditResult> {
  const drift: Drift[] = [];
  const replay = createMemoryLog((seq) => log.body(seq));
  // Whatever lands while the audit yields is replayed too: it ends where the log ends, in one synchronous stretch.
  while (replay.end() < log.end()) {
    for (const row of log.read(replay.end(), PAGE)) {
      replayRow(log, replay, row, drift);
      if (recount !== undefined) comparePrice(log, row, recount, drift);
    }
    if (replay.end() < log.end()) await pause();
    if (drift.length > SHOWN) break;
  }
  if (drift.length <= SHOWN) compareProjections(log, replay, drift);
  return {
    ok: drift.length === 0,
    seq: replay.end(),
    branches: log.branches().length,
    drift: drift.slice(0, SHOWN),
  };
}

function replayRow(log: EventLog, replay: EventLog, row: EventRow, drift: Drift[]): void {
  try {
    const parsed = metaSchemas[row.type].safeParse(row.meta);
    if (!parsed.success) throw new TypeError(`meta of ${row.type} is not what its schema says`);
    const event = eventOf(log, row);
    const [again] = appendEvents(replay, [event]);
    compare(drift, `event ${row.seq}`, row.branch, row, again);
  } catch (error) {
    // The replay cannot go on over an event that does not fold; its own row stands in, so that the rest is still looked at.
    drift.push({ what: `event ${row.seq}`, branch: row.branch, stored: row.type, recomputed: String(error) });
    if (replay.end() < row.seq) replay.insert(row, undefined);
  }
}

function eventOf(log: EventLog, row: EventRow): NewEvent {
  const { type, at, branch, step, meta, price, bytes, images, sampled, mend, thinking, node } = row;
  const carries = isNodeType(type) || isFormType(type);
  return {
    type,
    at,
    branch,
    step,
    meta,
    ...(carries ? { body: log.body(row.seq), facts: { price, bytes, images, sampled, mend, thinking } } : {}),
    ...(node ? { open: node.open, turn: node.turn, key: node.key, own: node.own } : {}),
  } as NewEvent;
}

function comparePrice(
  log: EventLog,
  row: EventRow,
  by: { dialect: Dialect; meter: Meter },
  drift: Drift[],
): void {
  if (!isNodeType(row.type) && !isFormType(row.type)) return;
  const facts = weighForm(by.dialect, by.meter, log.body(row.seq));
  compare(drift, `price of ${row.seq}`, row.branch, row.price, facts.price);
}

function compareProjections(log: EventLog, replay: EventLog, drift: Drift[]): void {
  compare(drift, "branches", 0, log.branches(), replay.branches());
  compare(drift, "claims", 0, log.claims(), replay.claims());
  compare(drift, "states", 0, log.states(), replay.states());
  compare(drift, "checkpoints", 0, log.checkpoints(), replay.checkpoints());
  for (const branch of replay.branches()) {
    compare(drift, "views", branch.id, log.views(branch.id), replay.views(branch.id));
    const view = branch.view === 0 ? undefined : replay.view(branch.view);
    const items = surfaceOf(replay, branch.tip, view);
    const sum = items.reduce((total, item) => total + item.weight.tokens, 0);
    compare(drift, "surface price", branch.id, surfaceWeight(log, branch.tip, view).tokens, sum);
  }
}

function compare(drift: Drift[], what: string, branch: number, stored: unknown, recomputed: unknown): void {
  if (canonical(stored) === canonical(recomputed)) return;
  drift.push({ what, branch, stored, recomputed });
}

/** JSON with keys in order: rows come back from SQLite with columns in its own. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

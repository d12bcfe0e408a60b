/** What a golden log holds, how it is written, and how it is put into a log again: through the fold, event by event. */
import { createHash } from "node:crypto";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import { type EventRow, isFormType, isNodeType, type NewEvent } from "../../src/log/events.ts";
import { METER_VERSION } from "../../src/meter/price.ts";
import { newestUpTo } from "../../src/projections/tree.ts";
import { appendEvents } from "../../src/projections/write.ts";
import { renderSurface } from "../../src/session/render.ts";

export interface Golden {
  dialect: DialectName;
  /** Version of the prices in it. */
  meter: number;
  envelopes: { hash: string; price: number; body: string }[];
  /** Rows as they were stored; bodies as text. */
  events: (EventRow & { body?: string })[];
  surfaces: GoldenSurface[];
}

/**
 * What a branch showed when the log ended at `at`: the digest of the messages as they go out, and where the branch changed its view for the
 * first time in this way, or for the last time, their exact JSON texts.
 */
export interface GoldenSurface {
  branch: string;
  at: number;
  generation: number;
  digest: string;
  messages?: string[];
}

const all = { limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };

export function goldenOf(log: EventLog, dialect: DialectName): Golden {
  const rows = log.read(0, all);
  const hashes = new Set(
    rows.flatMap(({ type, meta }) =>
      type === "request/header" ? [(meta as { envelope: string }).envelope] : [],
    ),
  );
  return {
    dialect,
    meter: METER_VERSION,
    envelopes: [...hashes].map((hash) => {
      const { price, body } = log.envelope(hash)!;
      return { hash, price, body: textOf(body) };
    }),
    events: rows.map((row) => (carries(row) ? { ...row, body: textOf(log.body(row.seq)) } : row)),
    surfaces: surfacesOf(log, rows, dialect),
  };
}

/** The file's text: one line per event and per Surface. */
export function goldenText({ dialect, meter, ...lists }: Golden): string {
  const members = Object.entries(lists).map(
    ([name, list]) => `"${name}": [\n${list.map((entry) => JSON.stringify(entry)).join(",\n")}\n]`,
  );
  return `{"dialect": "${dialect}", "meter": ${meter},\n${members.join(",\n")}}\n`;
}

function surfacesOf(log: EventLog, rows: readonly EventRow[], dialect: DialectName): GoldenSurface[] {
  const places = rows.filter(({ type }) => /^(surface|compaction\/undone|branch|step\/start)/.test(type));
  const ends = [...new Set([...places.flatMap(({ seq }) => [seq - 1, seq]), log.end()])];
  const told = new Set<string>();
  return log.branches().flatMap(({ id, name }) =>
    ends
      .filter((at) => at >= id)
      .map((at) => {
        const kind = log.viewAt(id, at)?.kind ?? "none";
        const whole = !told.has(`${name} ${kind}`) || at === log.end();
        told.add(`${name} ${kind}`);
        return surfaceOf(log, dialect, name, at, whole);
      }),
  );
}

export function surfaceOf(
  log: EventLog,
  dialect: DialectName,
  name: string,
  at: number,
  whole: boolean,
): GoldenSurface {
  const branch = log.branchNamed(name)!;
  const view = log.viewAt(branch.id, at);
  const messages = renderSurface(log, dialectOf(dialect), newestUpTo(log, branch.head, at), view);
  const hash = createHash("sha256");
  for (const message of messages) hash.update(`${message.byteLength}\n`).update(message);
  const surface = { branch: name, at, generation: view?.gen ?? 0, digest: hash.digest("hex") };
  return whole ? { ...surface, messages: messages.map(textOf) } : surface;
}

/** Puts the golden events into a log by the fold, and answers the rows that this release makes of them. */
export function replay(log: EventLog, golden: Golden): EventRow[] {
  const encoder = new TextEncoder();
  for (const { body, ...rest } of golden.envelopes) log.putEnvelope({ ...rest, body: encoder.encode(body) });
  const events = golden.events.map(({ body, ...row }): NewEvent => {
    const { type, at, branch, step, meta, node, price, bytes, images, sampled, mend, thinking } = row;
    const facts = { price, bytes, images, sampled, mend, thinking };
    return {
      ...{ type, at, branch, step, meta },
      ...(body === undefined ? {} : { body: encoder.encode(body), facts }),
      ...(node === null ? {} : { open: node.open, turn: node.turn }),
    } as NewEvent;
  });
  return appendEvents(log, events);
}

function carries({ type }: EventRow): boolean {
  return isNodeType(type) || isFormType(type);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/**
 * The event-log contract over the object's SQLite database. All SQL on the log and its projections lives here.
 * Bodies are split at 1.5 MiB: a row holds at most 2 MB in production, which local workerd does not enforce (platform.md 1.4).
 */
import { Defect } from "../failure.ts";
import type { Branch, Claim, EnvelopeRow, EventLog, ReadOptions, View } from "./event-log.ts";
import type { EventRow, NodeRow } from "./events.ts";
import type { Sql } from "./migrations.ts";
import {
  type BranchRecord,
  branchOf,
  type ClaimRecord,
  columnsOf,
  EVENT_COLUMNS,
  type EventRecord,
  eventOf,
  join,
  sizeOf,
  split,
  type Value,
  type ViewRecord,
  viewOfRecord,
} from "./sqlite-rows.ts";

export const PART_BYTES = 1_572_864;
/** Most that is put into one row, of the 2 MB that it may hold in production. */
const ROW_BYTES = 1_950_000;

export interface SqlDatabase {
  sql: Sql;
  transactionSync<T>(work: () => T): T;
}

const INSERT_EVENT = `INSERT INTO event (${EVENT_COLUMNS}, body, parts)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`;

/** @param committed is called after each outermost transaction that was committed. */
export function createSqliteLog(database: SqlDatabase, committed?: () => void): EventLog {
  return new SqliteLog(database, committed);
}

class SqliteLog implements EventLog {
  private readonly db: SqlDatabase;
  private readonly committed: (() => void) | undefined;
  /** Transactions that are open now, one inside the other. */
  private open = 0;

  constructor(database: SqlDatabase, committed: (() => void) | undefined) {
    this.db = database;
    this.committed = committed;
  }

  transaction<T>(work: () => T): T {
    this.open++;
    let result: T;
    try {
      result = this.db.transactionSync(work);
    } finally {
      this.open--;
    }
    if (this.open === 0) this.committed?.();
    return result;
  }

  end(): number {
    return this.one<{ seq: number }>("SELECT seq FROM event ORDER BY seq DESC LIMIT 1")?.seq ?? 0;
  }

  insert(row: EventRow, body: Uint8Array | undefined): void {
    const columns = columnsOf(row, JSON.stringify(row.meta));
    const room = ROW_BYTES - sizeOf([...columns, null, 0]);
    if (room < 0) throw new Defect(`${row.type} is too large for a row`);
    const [first, ...rest] = body === undefined ? [] : split(body, PART_BYTES, room);
    this.run(INSERT_EVENT, ...columns, first ?? null, first === undefined ? 0 : 1 + rest.length);
    for (const [n, bytes] of rest.entries()) {
      this.run("INSERT INTO part (seq, n, bytes) VALUES (?,?,?)", row.seq, n + 1, bytes);
    }
    if (row.type === "compaction/summary") {
      this.run("INSERT INTO checkpoint (seq, branch) VALUES (?,?)", row.seq, row.branch);
    }
  }

  event(seq: number): EventRow | undefined {
    const record = this.one<EventRecord>(`SELECT ${EVENT_COLUMNS} FROM event WHERE seq = ?`, seq);
    return record && eventOf(record);
  }

  body(seq: number): Uint8Array {
    const first = this.one<{ body: ArrayBuffer | null; parts: number }>(
      "SELECT body, parts FROM event WHERE seq = ?",
      seq,
    );
    if (first?.body == null) return new Uint8Array(0);
    if (first.parts <= 1) return new Uint8Array(first.body);
    const rest = this.all<{ bytes: ArrayBuffer }>("SELECT bytes FROM part WHERE seq = ? ORDER BY n", seq);
    return join([first.body, ...rest.map((row) => row.bytes)]);
  }

  read(after: number, { limit, maxBytes, branch }: ReadOptions): EventRow[] {
    const where = branch === undefined ? "seq > ?" : "seq > ? AND branch = ?";
    const bindings = branch === undefined ? [after] : [after, branch];
    const rows: EventRow[] = [];
    let bytes = 0;
    const query = `SELECT ${EVENT_COLUMNS} FROM event WHERE ${where} ORDER BY seq LIMIT ${Math.floor(limit)}`;
    for (const record of this.db.sql.exec<EventRecord>(query, ...bindings)) {
      bytes += record.size + (record.meta?.length ?? 0);
      if (rows.length > 0 && bytes > maxBytes) break;
      rows.push(eventOf(record));
    }
    return rows;
  }

  path(head: number, above: number): NodeRow[] {
    if (head === 0) return [];
    const records = this.all<EventRecord>(
      `WITH RECURSIVE up(seq, parent, depth) AS (
         SELECT seq, parent, depth FROM event WHERE seq = ?1 AND depth > ?2
         UNION ALL
         SELECT e.seq, e.parent, e.depth FROM event e JOIN up ON e.seq = up.parent WHERE e.depth > ?2)
       SELECT ${EVENT_COLUMNS} FROM event WHERE seq IN (SELECT seq FROM up) ORDER BY seq`,
      head,
      above,
    );
    return records.map((record) => eventOf(record) as NodeRow);
  }

  keyed(key: string): number[] {
    return this.all<{ seq: number }>("SELECT seq FROM event WHERE key = ? ORDER BY seq DESC", key).map(
      (row) => row.seq,
    );
  }

  branch(id: number): Branch | undefined {
    const record = this.one<BranchRecord>("SELECT * FROM branch WHERE id = ?", id);
    return record && branchOf(record);
  }

  branchNamed(name: string): Branch | undefined {
    const record = this.one<BranchRecord>("SELECT * FROM branch WHERE name = ?", name);
    return record && branchOf(record);
  }

  branches(): Branch[] {
    return this.all<BranchRecord>("SELECT * FROM branch ORDER BY id").map(branchOf);
  }

  putBranch(b: Branch): void {
    this.run(
      "INSERT OR REPLACE INTO branch VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      ...[b.id, b.name, b.from, b.head, b.view, b.gen, b.envelope, b.anchor, b.route, b.steps],
      ...[b.step, b.stepDeadline, b.sent, b.resends, b.claim],
      ...[b.tip, b.dialect, b.request === null ? null : JSON.stringify(b.request)],
    );
  }

  view(seq: number): View | undefined {
    const branch = this.one<{ branch: number }>("SELECT branch FROM event WHERE seq = ?", seq)?.branch;
    return branch === undefined ? undefined : this.firstView("branch = ? AND seq = ?", branch, seq);
  }

  viewAt(branch: number, at: number): View | undefined {
    return this.firstView("branch = ? AND seq <= ?", branch, at);
  }

  views(branch: number): View[] {
    return this.all<ViewRecord>("SELECT * FROM view WHERE branch = ? ORDER BY seq DESC", branch).map(
      viewOfRecord,
    );
  }

  putView(v: View): void {
    this.run(
      "INSERT INTO view VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
      ...[v.branch, v.seq, v.gen, v.base, v.kind, v.compaction, v.upto, v.uptoDepth, v.checkpoint],
      ...[v.delta.tokens, v.delta.bytes, v.delta.images, JSON.stringify(v.forms)],
    );
  }

  claims(): Claim[] {
    const rows = this.all<ClaimRecord>("SELECT * FROM claim ORDER BY seq");
    return rows.map(({ kind, ...rest }) => ({ ...rest, trigger: kind }));
  }

  putClaim(claim: Claim): void {
    const { id, branch, seq, trigger, epoch, deadline } = claim;
    this.run("INSERT INTO claim VALUES (?,?,?,?,?,?)", id, branch, seq, trigger, epoch, deadline);
  }

  dropClaim(id: string): void {
    this.run("DELETE FROM claim WHERE id = ?", id);
  }

  checkpoints(): { seq: number; branch: number }[] {
    return this.all<{ seq: number; branch: number }>("SELECT seq, branch FROM checkpoint ORDER BY seq");
  }

  state(key: string): unknown {
    const row = this.one<{ v: string }>("SELECT v FROM state WHERE k = ?", key);
    return row === undefined ? undefined : JSON.parse(row.v);
  }

  states(): { key: string; value: unknown }[] {
    const rows = this.all<{ k: string; v: string }>("SELECT k, v FROM state ORDER BY k");
    return rows.map(({ k, v }) => ({ key: k, value: JSON.parse(v) as unknown }));
  }

  putState(key: string, seq: number, value: unknown): void {
    this.run("INSERT OR REPLACE INTO state (k, seq, v) VALUES (?,?,?)", key, seq, JSON.stringify(value));
  }

  envelope(hash: string): EnvelopeRow | undefined {
    const rows = this.all<{ price: number; body: ArrayBuffer }>(
      "SELECT price, body FROM envelope WHERE hash = ? ORDER BY n",
      hash,
    );
    return rows[0] && { hash, price: rows[0].price, body: join(rows.map((row) => row.body)) };
  }

  putEnvelope({ hash, price, body }: EnvelopeRow): void {
    for (const [n, bytes] of split(body, PART_BYTES).entries()) {
      this.run("INSERT OR REPLACE INTO envelope VALUES (?,?,?,?)", hash, n, price, bytes);
    }
  }

  private firstView(where: string, ...bindings: number[]): View | undefined {
    const query = `SELECT * FROM view WHERE ${where} ORDER BY seq DESC LIMIT 1`;
    const record = this.one<ViewRecord>(query, ...bindings);
    return record && viewOfRecord(record);
  }

  private run(query: string, ...bindings: Value[]): void {
    if (sizeOf(bindings) > ROW_BYTES) throw new Defect("too large for a row");
    for (const _ of this.db.sql.exec(query, ...bindings));
  }

  private all<T extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]): T[] {
    return [...this.db.sql.exec<T>(query, ...bindings)];
  }

  private one<T extends Record<string, SqlStorageValue>>(
    query: string,
    ...bindings: unknown[]
  ): T | undefined {
    return this.all<T>(query, ...bindings)[0];
  }
}

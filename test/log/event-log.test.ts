/** Both forms of the log under the one contract, and what only the SQLite form owes: rows, their sizes, migrations. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createIdempotency } from "../../src/log/idempotency.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { isMigrated, migrate, type Sql } from "../../src/log/migrations.ts";
import { createSqliteLog, type SqlDatabase } from "../../src/log/sqlite-log.ts";
import { appendEvents } from "../../src/projections/write.ts";
import { branch, node, noise, row, sameBytes, view } from "../support/rows.ts";
import { describeEventLog } from "./contract.ts";

/** The most that one row of a database may hold in production; the local runtime takes more. */
const MAX_ROW_BYTES = 2_000_000;

/** Runs inside a Durable Object of its own, whose database is empty. */
async function inObject<T>(use: (storage: DurableObjectStorage) => T): Promise<T> {
  const id = env.SESSIONS.newUniqueId();
  return await runInDurableObject(env.SESSIONS.get(id), (_, state) => use(state.storage));
}

describeEventLog("memory", async (use) => use(createMemoryLog()));

describeEventLog("SQLite", (use) =>
  inObject((storage) => {
    storage.transactionSync(() => migrate(storage.sql));
    use(createSqliteLog(storage));
  }),
);

interface Watched {
  db: SqlDatabase;
  /** Rows written since the last call. */
  written(): number;
  /** Bytes of the largest row written so far. */
  largest(): number;
}

/** The database with a look at every statement: how many rows it wrote and how large they were. */
function watched(storage: DurableObjectStorage): Watched {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  let largest = 0;
  const sql: Sql = {
    exec: (query, ...bindings) => {
      const cursor = storage.sql.exec(query, ...(bindings as SqlStorageValue[]));
      cursors.push(cursor);
      if (/^\s*INSERT/.test(query)) largest = Math.max(largest, bindings.reduce<number>(sizeOf, 0));
      return cursor as never;
    },
  };
  return {
    db: { sql, transactionSync: (work) => storage.transactionSync(work) },
    written: () => cursors.splice(0).reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
    largest: () => largest,
  };
}

function sizeOf(sum: number, value: unknown): number {
  if (typeof value === "string") return sum + new TextEncoder().encode(value).byteLength;
  return sum + (value instanceof Uint8Array ? value.byteLength : 8);
}

const user = (text: string) => new TextEncoder().encode(JSON.stringify({ role: "user", content: text }));

function message(body: Uint8Array) {
  const facts = { price: 3, bytes: body.byteLength, images: 0, sampled: false, mend: false, thinking: false };
  return { type: "message/user", at: 5, branch: 2, meta: {}, body, facts, open: [], turn: true } as const;
}

function openMain(db: SqlDatabase) {
  db.transactionSync(() => migrate(db.sql));
  const log = createSqliteLog(db);
  const main = { name: "main", from: 0, parent: 0, view: 0, generation: 0 };
  appendEvents(log, [
    { type: "session/created", at: 1, branch: 0, meta: { dialect: "openai-chat", version: 1 } },
    { type: "branch/opened", at: 1, branch: 0, meta: main },
  ]);
  return log;
}

describe("the SQLite form", () => {
  it("[L11] writes two rows per appended message, and one more per further part of a large one", async () => {
    await inObject((storage) => {
      const { db, written } = watched(storage);
      const log = openMain(db);
      const rowsOf = (bodies: readonly Uint8Array[]) => {
        written();
        for (const body of bodies) appendEvents(log, [message(body)]);
        return written();
      };
      expect(rowsOf([user("one")])).toBe(2);
      expect(rowsOf(Array.from({ length: 50 }, (_, at) => user(`message ${at}`)))).toBe(100);
      expect(rowsOf([user("x".repeat(4 * 1_048_576))])).toBe(4);
    });
  });

  it("[L11] writes one row for an answer that is remembered by its key", async () => {
    await inObject((storage) => {
      const { db, written } = watched(storage);
      openMain(db);
      const idempotency = createIdempotency(db.sql);
      written();
      idempotency.put("key", "digest", { seqs: [1] }, 10);
      expect(written()).toBe(1);
    });
  });

  it("[L12] writes no row over what production holds, whatever is put into it", async () => {
    await inObject((storage) => {
      const { db, largest } = watched(storage);
      db.transactionSync(() => migrate(db.sql));
      const log = createSqliteLog(db);
      const meta = { text: "ü".repeat(500_000) };
      const open = Array.from({ length: 1_000 }, (_, at) => `call_${at}_${"i".repeat(64)}`);
      log.insert(row(1, { meta, size: 8_388_608, node: node({ open }) }), noise(8_388_608));
      expect(sameBytes(log.body(1), noise(8_388_608))).toBe(true);
      log.putEnvelope({ hash: "h".repeat(64), price: 1, body: noise(8_388_608) });
      log.putBranch(branch(2, { name: "n".repeat(128), route: "r".repeat(400) }));
      log.putView(
        view(1, 2, { forms: Array.from({ length: 20_000 }, (_, at) => [at, at + 1, -9_999, -99_999, 0]) }),
      );
      expect(largest()).toBeGreaterThan(1_500_000);
      expect(largest()).toBeLessThanOrEqual(MAX_ROW_BYTES);
    });
  });

  it("[L12] refuses an event that says more than a row holds, and writes nothing of it", async () => {
    await inObject((storage) => {
      storage.transactionSync(() => migrate(storage.sql));
      const log = createSqliteLog(storage);
      const meta = { text: "ü".repeat(1_000_000) };
      expect(() => log.insert(row(1, { meta, size: 2_000_000 }), noise(2_000_000))).toThrow("too large");
      expect(() => log.putState("large", 1, meta)).toThrow("too large");
      expect(log.end()).toBe(0);
      expect([...storage.sql.exec("SELECT count(*) AS n FROM part")]).toEqual([{ n: 0 }]);
    });
  });

  it("[L13] bringing the schema up to date twice changes nothing", async () => {
    await inObject((storage) => {
      const schema = () => [...storage.sql.exec("SELECT name, sql FROM sqlite_master ORDER BY name")];
      const done = () => [...storage.sql.exec("SELECT id FROM migration ORDER BY id")];
      storage.transactionSync(() => migrate(storage.sql));
      const first = [schema(), done()];
      expect(first[1]?.length).toBeGreaterThan(0);
      createSqliteLog(storage).putState("session", 1, "kept");
      storage.transactionSync(() => migrate(storage.sql));
      expect([schema(), done()]).toEqual(first);
      expect(createSqliteLog(storage).state("session")).toBe("kept");
    });
  });

  it("[L13] a migration that fails leaves no table behind", async () => {
    await inObject((storage) => {
      const failing: Sql = {
        exec: (query, ...bindings) => {
          if (query.includes("CREATE TABLE view")) throw new Error("no room");
          return storage.sql.exec(query, ...(bindings as SqlStorageValue[])) as never;
        },
      };
      expect(() => storage.transactionSync(() => migrate(failing))).toThrow("no room");
      expect([...storage.sql.exec("SELECT name FROM sqlite_master")]).toEqual([]);
      storage.transactionSync(() => migrate(storage.sql));
      expect(isMigrated(storage.sql)).toBe(true);
    });
  });

  it("[L14] looking into an empty database creates nothing", async () => {
    await inObject((storage) => {
      expect(isMigrated(storage.sql)).toBe(false);
      expect([...storage.sql.exec("SELECT name FROM sqlite_master")]).toEqual([]);
    });
  });

  it("[L15] is told of each outermost transaction that was committed, and of no other", async () => {
    await inObject((storage) => {
      storage.transactionSync(() => migrate(storage.sql));
      const ends: number[] = [];
      const log = createSqliteLog(storage, () => ends.push(log.end()));
      log.transaction(() => {
        log.insert(row(1), undefined);
        log.transaction(() => log.insert(row(2), undefined));
      });
      const fail = () =>
        log.transaction(() => {
          log.insert(row(3), undefined);
          throw new Error("no");
        });
      expect(fail).toThrow("no");
      log.transaction(() => log.insert(row(3), undefined));
      expect(ends).toEqual([2, 3]);
    });
  });

  it("[L16] answers by key are kept for a day, then forgotten, and can be put again", async () => {
    await inObject((storage) => {
      storage.transactionSync(() => migrate(storage.sql));
      const idempotency = createIdempotency(storage.sql);
      const day = 24 * 60 * 60 * 1_000;
      idempotency.put("k", "d1", { a: ["ü\ud800"] }, 1_000);
      expect(idempotency.get("k", 1_000 + day - 1)).toEqual({ digest: "d1", answer: { a: ["ü\ud800"] } });
      expect(idempotency.get("k", 1_000 + day)).toBeUndefined();
      expect(idempotency.get("other", 1_000)).toBeUndefined();
      idempotency.put("k", "d2", 2, 2_000);
      expect(idempotency.get("k", 2_000)).toEqual({ digest: "d2", answer: 2 });
      idempotency.purge(2_000 + day - 1);
      expect(idempotency.get("k", 2_001)).toBeDefined();
      idempotency.purge(2_000 + day);
      expect([...storage.sql.exec("SELECT count(*) AS n FROM idem")]).toEqual([{ n: 0 }]);
    });
  });
});

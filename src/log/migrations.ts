/** The schema of a session's database, in numbered forward-only steps. A step that has landed is never edited. */

export interface Sql {
  exec<T extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]): Iterable<T>;
}

/**
 * Two written rows per appended message: the event row and the branch row. So no secondary index on `event`.
 * `open` holds the ids of the calls open after a node as JSON, NULL for none.
 */
const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE event (
      seq INTEGER PRIMARY KEY, type TEXT NOT NULL, at INTEGER NOT NULL, branch INTEGER NOT NULL, step INTEGER NOT NULL,
      meta TEXT, body BLOB, size INTEGER NOT NULL, parts INTEGER NOT NULL,
      price INTEGER, bytes INTEGER, images INTEGER, flags INTEGER,
      parent INTEGER, jump INTEGER, depth INTEGER, cum INTEGER, cum_bytes INTEGER, cum_images INTEGER,
      open TEXT, turn INTEGER, anchor INTEGER)`,
    `CREATE TABLE part (seq INTEGER NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, n)) WITHOUT ROWID`,
    `CREATE TABLE envelope (hash TEXT NOT NULL, n INTEGER NOT NULL, price INTEGER NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY (hash, n)) WITHOUT ROWID`,
    `CREATE TABLE idem (key TEXT PRIMARY KEY, digest TEXT NOT NULL, answer TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE branch (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, from_seq INTEGER NOT NULL, head INTEGER NOT NULL, view INTEGER NOT NULL,
      gen INTEGER NOT NULL, envelope TEXT NOT NULL, anchor INTEGER NOT NULL, route TEXT NOT NULL, steps INTEGER NOT NULL,
      step INTEGER NOT NULL, deadline INTEGER NOT NULL, sent INTEGER NOT NULL, resends INTEGER NOT NULL, claim TEXT NOT NULL)`,
    `CREATE TABLE view (
      branch INTEGER NOT NULL, seq INTEGER NOT NULL, gen INTEGER NOT NULL, base INTEGER NOT NULL, kind TEXT NOT NULL,
      compaction TEXT NOT NULL, upto INTEGER NOT NULL, upto_depth INTEGER NOT NULL, checkpoint INTEGER NOT NULL,
      delta INTEGER NOT NULL, delta_bytes INTEGER NOT NULL, delta_images INTEGER NOT NULL, forms TEXT NOT NULL,
      PRIMARY KEY (branch, seq)) WITHOUT ROWID`,
    `CREATE TABLE checkpoint (seq INTEGER PRIMARY KEY, branch INTEGER NOT NULL)`,
    `CREATE TABLE claim (
      id TEXT PRIMARY KEY, branch INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, epoch TEXT NOT NULL,
      deadline INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE state (k TEXT PRIMARY KEY, seq INTEGER NOT NULL, v TEXT NOT NULL) WITHOUT ROWID`,
  ],
  // Drop-in branches: nodes are found by link key, which only they have.
  [
    "ALTER TABLE event ADD COLUMN key TEXT",
    "ALTER TABLE event ADD COLUMN own TEXT",
    "ALTER TABLE event ADD COLUMN context INTEGER",
    "CREATE INDEX event_key ON event (key) WHERE key IS NOT NULL",
    "ALTER TABLE branch ADD COLUMN tip INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE branch ADD COLUMN dialect TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE branch ADD COLUMN request TEXT",
    "UPDATE branch SET tip = head",
  ],
];

/** Whether the database holds a session: false before the first accepted write. Reading this creates nothing. */
export function isMigrated(sql: Sql): boolean {
  return [...sql.exec("SELECT 1 AS one FROM sqlite_master WHERE name = 'migration'")].length > 0;
}

/** Brings the schema up to date; to be run inside a transaction. */
export function migrate(sql: Sql): void {
  let done = 0;
  if (isMigrated(sql)) {
    for (const row of sql.exec<{ id: number | null }>("SELECT max(id) AS id FROM migration"))
      done = row.id ?? 0;
  } else {
    drain(sql.exec("CREATE TABLE migration (id INTEGER PRIMARY KEY)"));
  }
  for (const [index, statements] of migrations.entries()) {
    if (index < done) continue;
    for (const statement of statements) drain(sql.exec(statement));
    drain(sql.exec("INSERT INTO migration (id) VALUES (?)", index + 1));
  }
}

function drain(rows: Iterable<unknown>): void {
  for (const _ of rows);
}

/** Rows kept in memory: under the same contract as the stores, never other than the store, and worth keeping. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { EventLog } from "../../src/log/event-log.ts";
import type { BodyFacts, NewEvent } from "../../src/log/events.ts";
import { createKeptLog } from "../../src/log/kept-log.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { migrate } from "../../src/log/migrations.ts";
import { createSqliteLog } from "../../src/log/sqlite-log.ts";
import { appendEvents } from "../../src/projections/write.ts";
import { branch, claim, node, row, view } from "../support/rows.ts";
import { describeEventLog } from "./contract.ts";

async function inObject<T>(use: (storage: DurableObjectStorage) => T): Promise<T> {
  const id = env.SESSIONS.newUniqueId();
  return await runInDurableObject(env.SESSIONS.get(id), (_, state) => {
    state.storage.transactionSync(() => migrate(state.storage.sql));
    return use(state.storage);
  });
}

describeEventLog("kept rows over SQLite", (use) =>
  inObject((storage) => use(createKeptLog(createSqliteLog(storage)))),
);

/** Everything that the log may keep, read once more. */
function look(log: EventLog) {
  const seqs = Array.from({ length: 12 }, (_, i) => i);
  return {
    end: log.end(),
    events: seqs.map((seq) => log.event(seq)),
    views: seqs.map((seq) => log.view(seq)),
    branches: log.branches(),
    byId: seqs.map((id) => log.branch(id)),
    byName: ["b1", "b2", "b3"].map((name) => log.branchNamed(name)),
    claims: log.claims(),
    states: ["a", "b"].map((key) => log.state(key)),
    envelopes: ["e1", "e2"].map((hash) => log.envelope(hash)?.price),
  };
}

type Write = (log: EventLog, n: number) => void;

const writes: Record<string, Write> = {
  node: (log, n) => log.insert(row(log.end() + 1, { node: node({ depth: n }) }), new Uint8Array(n)),
  event: (log, n) => log.insert(row(log.end() + 1, { type: "step/end", meta: { step: n } }), undefined),
  branch: (log, n) => log.putBranch(branch((n % 3) + 1, { name: `b${(n % 3) + 1}`, head: n })),
  view: (log, n) => log.putView(view(log.end() + 1 + n, (n % 3) + 1)),
  claim: (log, n) => log.putClaim(claim(`c${n}`)),
  drop: (log, n) => log.dropClaim(`c${n}`),
  state: (log, n) => log.putState(n % 2 === 0 ? "a" : "b", 1, { n }),
  envelope: (log, n) =>
    log.putEnvelope({ hash: n % 2 === 0 ? "e1" : "e2", price: n, body: new Uint8Array(n) }),
};

const write = fc.record({ what: fc.constantFrom(...Object.keys(writes)), n: fc.nat(6) });
const story = fc.array(fc.record({ inner: fc.array(write, { maxLength: 4 }), fails: fc.boolean() }), {
  maxLength: 12,
});

it("[L26] whatever is written, read between, taken back or nested, what is kept is what the store holds", () => {
  fc.assert(
    fc.property(story, (transactions) => {
      const store = createMemoryLog();
      const kept = createKeptLog(store);
      for (const { inner, fails } of transactions) {
        try {
          kept.transaction(() => {
            for (const { what, n } of inner) {
              kept.transaction(() => writes[what]?.(kept, n));
              look(kept);
            }
            if (fails) throw new Error("taken back");
          });
        } catch {
          // The store has refused it, or the story did.
        }
        expect(look(kept)).toEqual(look(store));
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 100) },
  );
});

const facts: BodyFacts = { price: 1, bytes: 2, images: 0, sampled: false, mend: false, thinking: false };
const opened: NewEvent[] = [
  { type: "session/created", at: 1, branch: 0, meta: { dialect: "openai-chat", version: 1 } },
  {
    type: "branch/opened",
    at: 1,
    branch: 0,
    meta: { name: "main", from: 0, parent: 0, view: 0, generation: 0 },
  },
];
const said: NewEvent = {
  type: "message/user",
  at: 1,
  branch: 2,
  meta: {},
  body: new Uint8Array([123, 125]),
  facts,
  turn: true,
};

/** The statements of `times` appends of the events behind others. */
async function statementsOf(events: readonly NewEvent[], times: number): Promise<string[]> {
  return await inObject((storage) => {
    const seen: string[] = [];
    const sql = {
      exec: (query: string, ...bindings: unknown[]) => {
        seen.push(query);
        return storage.sql.exec(query, ...(bindings as SqlStorageValue[])) as never;
      },
    };
    const log = createKeptLog(
      createSqliteLog({ sql, transactionSync: (work) => storage.transactionSync(work) }),
    );
    appendEvents(log, opened);
    for (let i = 0; i < 40; i++) appendEvents(log, [said]);
    seen.length = 0;
    for (let i = 0; i < times; i++) appendEvents(log, events);
    return seen;
  });
}

it("[L26] an append behind another one reads nothing from the database", async () => {
  const statements = await statementsOf([said], 40);
  expect(statements.length).toBe(80);
  expect(statements.filter((query) => !/^\s*INSERT/.test(query))).toEqual([]);
});

it("[L26] a transaction puts a branch once, however often it changes there", async () => {
  const statements = await statementsOf([said, said, said], 10);
  expect(statements.filter((query) => query.includes("INTO event"))).toHaveLength(30);
  expect(statements.filter((query) => query.includes("INTO branch"))).toHaveLength(10);
});

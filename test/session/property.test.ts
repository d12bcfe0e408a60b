/**
 * Random sessions: everything that a harness, a person, a provider and the platform may do to one, in any order, with the
 * model's answers coming when they like. After every step everything that can be recomputed is. A failure prints its
 * seed; see `test/support/runs.ts`.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type DialectName, dialectNames } from "../../src/dialects/dialect.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import { createIdempotency, type Idempotency } from "../../src/log/idempotency.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { migrate } from "../../src/log/migrations.ts";
import { createSqliteLog } from "../../src/log/sqlite-log.ts";
import { repeats, runs, times } from "../support/runs.ts";
import { memoryIdempotency, World } from "../support/world.ts";
import { type Deed, deed } from "./deeds.ts";
import { Player } from "./player.ts";
import { Watcher } from "./watcher.ts";

async function run(
  log: EventLog,
  idempotency: Idempotency,
  dialect: DialectName,
  deeds: readonly Deed[],
  counts: Map<string, number>,
): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const world = new World(log, idempotency, dialect);
  const watcher = new Watcher(world, counts);
  const player = new Player(world, watcher);
  try {
    await watcher.check();
    for (const one of deeds) {
      await player.play(one);
      await watcher.check();
    }
    await world.close();
  } finally {
    vi.useRealTimers();
  }
  await watcher.check();
  expect(world.operations).toEqual([]);
  expect(log.claims()).toEqual([]);
  await watcher.checkAllPast();
  watcher.tally();
}

/** How often things must have happened in all runs together. */
const often = {
  requests: 200,
  "summary calls": 10,
  "replaced by prune": 10,
  "replaced by checkpoint": 10,
  "rung summary": 1,
  "rung extractive": 1,
  "ended done": 10,
  "ended failed": 5,
  "ended interrupted": 1,
  "ended cancelled": 1,
  "manual summaries": 1,
  "overflow retries": 1,
  "late replies after a restart": 1,
  "late replies after a cancel": 1,
  undos: 1,
  dispatched: 10,
  landed: 5,
  failed: 1,
};
const oftenThinking = { "open loops with thinking": 20, "replaced by route": 5 };

const deeds = fc.array(deed, { minLength: 10, maxLength: 55, size: "max" });

describe.each(dialectNames)("a session in %s", (dialect) => {
  it("[B14] [T10] keeps every promise after every step, whatever happens to it", {
    timeout: 600_000,
  }, async () => {
    const counts = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(deeds, (some) => run(createMemoryLog(), memoryIdempotency(), dialect, some, counts)),
      { ...runs(40), endOnFailure: !repeats },
    );
    // The sessions were not all plain: what matters happened, and often.
    for (const [what, least] of Object.entries({
      ...often,
      ...(dialect === "anthropic" ? oftenThinking : {}),
    }))
      expect(counts.get(what) ?? 0, what).toBeGreaterThanOrEqual(least);
    if (times > 1) console.log(dialect, JSON.stringify(Object.fromEntries([...counts].sort())));
  });

  it("[B14] [T10] does so on a real database too", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(deeds, (some) =>
        runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), (_, { storage }) => {
          storage.transactionSync(() => migrate(storage.sql));
          return run(createSqliteLog(storage), createIdempotency(storage.sql), dialect, some, new Map());
        }),
      ),
      { ...runs(4), endOnFailure: !repeats },
    );
  });
});

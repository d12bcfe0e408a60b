/** Logs that older releases wrote: this one folds them to the same rows and renders them to the same bytes, in either form of the log. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { dialectOf } from "../../src/dialects/registry.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import { metaSchemas } from "../../src/log/events.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { migrate } from "../../src/log/migrations.ts";
import { createSqliteLog } from "../../src/log/sqlite-log.ts";
import { createMeter, METER_VERSION } from "../../src/meter/price.ts";
import { countTokens } from "../../src/meter/vocabulary.ts";
import { audit } from "../../src/session/audit.ts";
import { type Golden, replay, surfaceOf } from "../support/golden-format.ts";

// As text: a loader of JSON modules may refuse or change what `JSON.parse` takes as it stands.
const files = import.meta.glob<string>("../golden/*.json", { eager: true, query: "?raw", import: "default" });
const goldens = Object.entries(files).map(
  ([path, text]) => [path.replace(/.*\//, ""), JSON.parse(text) as Golden] as const,
);

/** The golden events in a log of each form. */
async function inBoth(golden: Golden, use: (log: EventLog) => Promise<void> | void): Promise<void> {
  const memory = createMemoryLog();
  replay(memory, golden);
  await use(memory);
  await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
    storage.transactionSync(() => migrate(storage.sql));
    const log = createSqliteLog(storage);
    replay(log, golden);
    await use(log);
  });
}

it("[L19] there are golden logs of both dialects, with everything in them that a view can do", () => {
  expect(new Set(goldens.map(([, { dialect }]) => dialect))).toEqual(new Set(["openai-chat", "anthropic"]));
  for (const [name, { events, dialect }] of goldens) {
    const seen = new Set(
      events.map(({ type, meta }) => `${type} ${(meta as { kind?: string }).kind ?? ""}`.trim()),
    );
    const wanted = [
      "compaction/prune prune",
      "surface/replace prune",
      "surface/replace checkpoint",
      "compaction/undone",
    ];
    if (dialect === "anthropic") wanted.push("compaction/prune thinking", "surface/replace route");
    expect(
      wanted.filter((one) => !seen.has(one)),
      name,
    ).toEqual([]);
    const by = events
      .filter(({ type }) => type === "compaction/summary")
      .map(({ meta }) => (meta as { by: string }).by);
    expect(new Set(by).size, name).toBeGreaterThan(1);
    expect(events.filter(({ type }) => type === "branch/opened").length, name).toBeGreaterThan(2);
  }
});

describe.each(goldens)("the golden log %s", (_, golden) => {
  it("[L19] folds to the same rows", async () => {
    await inBoth(golden, (log) => {
      const rows = log.read(0, { limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER });
      expect(rows).toEqual(golden.events.map(({ body: _, ...row }) => row));
      const decoder = new TextDecoder();
      for (const { seq, body } of golden.events)
        if (body !== undefined) expect(decoder.decode(log.body(seq))).toBe(body);
    });
  });

  it("[L19] still holds what the schemas of this release say, and has no drift", async () => {
    for (const { type, meta } of golden.events)
      expect(metaSchemas[type].safeParse(meta).error).toBeUndefined();
    await inBoth(golden, async (log) => {
      const meter = createMeter(countTokens);
      const recount =
        golden.meter === METER_VERSION ? { dialect: dialectOf(golden.dialect), meter } : undefined;
      expect(await audit(log, recount, () => Promise.resolve())).toMatchObject({ ok: true, drift: [] });
    });
  });

  it("[L19] renders every branch at every place to the same bytes", async () => {
    expect(golden.surfaces.length).toBeGreaterThan(20);
    expect(golden.surfaces.filter(({ messages }) => messages !== undefined).length).toBeGreaterThan(5);
    await inBoth(golden, (log) => {
      for (const surface of golden.surfaces) {
        const { branch, at, messages } = surface;
        expect(surfaceOf(log, golden.dialect, branch, at, messages !== undefined)).toEqual(surface);
      }
    });
  });
});

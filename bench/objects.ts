/** What the object costs: append against a bare insert, opening a long log, pressure over a large Surface. Ratios of one run. */
import { type BenchWorker, startBenchWorker } from "./workerd.ts";

const CALLS = 400;
const ROUNDS = 5;

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

type Row = Record<string, string | number>;

async function create(worker: BenchWorker, id: string): Promise<void> {
  const body = JSON.stringify({
    dialect: "openai-chat",
    route: "replay/o200k",
    capacity: { window: 100_000_000 },
  });
  await worker.ask("/bench/call", { id, method: "PUT", path: "/", body });
}

/** Rounds alternate between the two, so that both see the same machine; counting is timed apart on the same texts. */
async function appends(worker: BenchWorker, size: number): Promise<Row> {
  const times = { bare: [] as number[], session: [] as number[], counting: [] as number[] };
  const id = `append-${size}`;
  await create(worker, id);
  for (let round = 0; round <= ROUNDS; round++) {
    const run = { id, calls: CALLS, size, seed: round * CALLS, at: 1 };
    const bare = await worker.ask<{ ms: number }>("/bench/append", { ...run, kind: "bare" });
    const session = await worker.ask<{ ms: number }>("/bench/append", { ...run, kind: "session" });
    const counting = await worker.ask<{ ms: number }>("/bench/count", { calls: CALLS, size, seed: run.seed });
    // The first round warms up both objects and the counter.
    if (round === 0) continue;
    times.bare.push(bare.ms);
    times.session.push(session.ms);
    times.counting.push(counting.ms);
  }
  const [bare, session, counting] = [times.bare, times.session, times.counting].map(median) as [
    number,
    number,
    number,
  ];
  return {
    "message, characters": size,
    "bare, ms a call": (bare / CALLS).toFixed(3),
    "session, ms a call": (session / CALLS).toFixed(3),
    "counting, ms a call": (counting / CALLS).toFixed(3),
    "throughput of bare": (bare / session).toFixed(2),
    "without counting": (bare / Math.max(1e-9, session - counting)).toFixed(2),
    goal: "0.70",
  };
}

/** The first request after an eviction, over logs of two lengths that show the same Surface: a fork near the root. */
async function openings(worker: BenchWorker): Promise<Row> {
  const lengths = [1_000, 100_000] as const;
  for (const events of lengths) await fillAndFork(worker, events);
  // Both are opened in turn, so that they see the same machine. The Worker's clock has whole milliseconds: the mean of many tells more
  // than the median.
  const opens = 120;
  const sums = new Map<number, number>();
  for (let n = -5; n < opens; n++) {
    for (const events of lengths) {
      const asked = { id: `open-${events}`, path: "/surface?branch=short" };
      const { ms } = await worker.ask<{ ms: number }>("/bench/open", asked);
      if (n >= 0) sums.set(events, (sums.get(events) ?? 0) + ms);
    }
  }
  const [short, long] = lengths.map((events) => sums.get(events)! / opens) as [number, number];
  return {
    "1,000 events, ms": short.toFixed(2),
    "100,000 events, ms": long.toFixed(2),
    ratio: (long / short).toFixed(2),
    goal: "at most 1.50",
  };
}

async function fillAndFork(worker: BenchWorker, events: number): Promise<void> {
  const id = `open-${events}`;
  await create(worker, id);
  const path = `/bench/fill?messages=${events}&words=some%20words`;
  await worker.ask("/bench/call", { id, method: "POST", path });
  await worker.ask("/bench/open", { id, path: "/" });
  const fork = JSON.stringify({ from: 203, name: "short" });
  await worker.ask("/bench/call", { id, method: "POST", path: "/branches", body: fork });
}

/** One append and the pressure that it answers, behind Surfaces of two lengths. */
async function pressures(worker: BenchWorker): Promise<Row> {
  const times: Record<string, number> = {};
  for (const nodes of [100, 10_000]) {
    const id = `pressure-${nodes}`;
    await create(worker, id);
    await worker.ask("/bench/call", {
      id,
      method: "POST",
      path: `/bench/fill?messages=${nodes}&words=some%20words`,
    });
    await worker.ask("/bench/open", { id, path: "/" });
    const taken: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const run = { id, kind: "session", calls: 100, size: 200, seed: round, at: 1 };
      const { ms } = await worker.ask<{ ms: number }>("/bench/append", run);
      if (round > 0) taken.push(ms / 100);
    }
    times[nodes] = median(taken);
  }
  const [small, large] = [times[100]!, times[10_000]!];
  return {
    "100 nodes, ms": small.toFixed(3),
    "10,000 nodes, ms": large.toFixed(3),
    ratio: (large / small).toFixed(2),
    goal: "at most 1.20",
  };
}

const worker = await startBenchWorker();
try {
  console.log(
    "\nAppend: POST /events with one message, one call after the other, against a bare insert of the same bytes",
  );
  console.table([await appends(worker, 200), await appends(worker, 2_000), await appends(worker, 20_000)]);
  console.log("\nOpening: the first request after an eviction, same Surface of 200 nodes");
  console.table([await openings(worker)]);
  console.log("\nPressure after an append");
  console.table([await pressures(worker)]);
} finally {
  await worker.stop();
}

/** Planning a compaction over 10,000 nodes, in this process over a memory log: snapshot, prune forms, span and cap. */
import { readVocabulary } from "../scripts/pack-vocabulary.ts";
import { takeSnapshot } from "../src/compaction/ground.ts";
import { planPrune, planSpan } from "../src/compaction/plan.ts";
import { createCounter } from "../src/meter/counter.ts";
import { createMeter } from "../src/meter/price.ts";
import { localSession } from "./in-process.ts";

const NODES = 10_000;
const local = localSession(createMeter(createCounter(readVocabulary())));
const ask = async (method: string, path: string, body: unknown) => {
  const answer = await local.client.request(method, path, { body: JSON.stringify(body) });
  if (answer.status >= 300)
    throw new Error(`${path}: ${answer.status} ${new TextDecoder().decode(answer.body)}`);
};
await ask("PUT", "/v1/sessions/x/", {
  dialect: "openai-chat",
  route: "replay/o200k",
  capacity: { window: 200_000 },
});
for (let n = 0; n < NODES; n += 1_000) {
  const items = Array.from({ length: 1_000 }, (_, i) => ({
    type: "message",
    message: {
      role: i % 2 === 0 ? "user" : "assistant",
      content: `Message ${n + i} with a few words in it.`,
    },
  }));
  await ask("POST", "/v1/sessions/x/events", { items });
}
const branch = local.core.branch(null);
const ground = local.core.ground(branch.id);
const entering = { envelope: { tokens: 0, bytes: 0 }, batch: [], maxOutput: undefined };
const times: number[] = [];
let items = 0;
for (let round = 0; round < 21; round++) {
  const from = performance.now();
  const snapshot = takeSnapshot(ground, entering);
  planPrune(ground, snapshot, ground.policy.prune.protectGroups, true);
  const plan = planSpan(ground, snapshot, { kind: "retain", share: 1 });
  times.push(performance.now() - from);
  items = plan?.cut ?? 0;
}
const sorted = times.slice(1).sort((a, b) => a - b);
console.log("\nPlanning a compaction");
console.table([
  {
    nodes: NODES,
    "span, nodes": items,
    "first, ms": times[0]?.toFixed(2),
    "median, ms": sorted[Math.floor(sorted.length / 2)]?.toFixed(2),
    goal: "under 10",
  },
]);

/**
 * Real sessions, replayed step by step through the engine in this process, beside peers measured on the same sessions. Limit: window less
 * 4,000 tokens, by exact count. Prefix kept: the share of the bytes of the request before it (envelope and messages) that a request starts
 * with; the mean over all requests that have one before them. `node bench/transcripts.ts`; ends by itself.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Client } from "../cli/client.ts";
import { importTranscript } from "../cli/import/detect.ts";
import type { Session } from "../cli/import/session.ts";
import { createOracle, type Oracle } from "../cli/oracle.ts";
import { playSession } from "../cli/play.ts";
import { rawElements, rawMembers, utf8 } from "../cli/raw.ts";
import type { PlayResult } from "../cli/record.ts";
import { readVocabulary } from "../scripts/pack-vocabulary.ts";
import { takeSnapshot } from "../src/compaction/ground.ts";
import type { Part } from "../src/dialects/dialect.ts";
import { dialectOf } from "../src/dialects/registry.ts";
import { createCounter } from "../src/meter/counter.ts";
import { createMeter, type Meter } from "../src/meter/price.ts";
import { renderItems } from "../src/session/render.ts";
import { peerRows } from "./baseline.ts";
import { type LocalSession, localSession } from "./in-process.ts";
import { type Kept, kept, namedPaths, pathsOf, strings } from "./path-recall.ts";

const root = fileURLToPath(new URL("../../shared/transcripts/", import.meta.url));
const goals = [
  { window: 32_000, prefix: 97.5 },
  { window: 128_000, prefix: 99.6 },
];

interface Recorded {
  session: Session;
  oracle: Oracle;
}

function recorded(): Recorded[] {
  const folders = ["claude-code", "pi", "openai-chat"];
  const files = folders.flatMap((folder) =>
    readdirSync(root + folder).map((file) => `${root}${folder}/${file}`),
  );
  const chosen = files.filter((file) => !file.includes("/openai-chat/") || file.includes("/miniswe-"));
  return chosen.map((file) => {
    const session = importTranscript(readFileSync(file, "utf8"));
    return { session, oracle: createOracle(session.dialect) };
  });
}

/** The first 200 characters of the first user message, as they stand inside JSON. */
function firstWords(session: Session): string | undefined {
  const first = session.messages.find((message) => message.kind === "user");
  const { content } = JSON.parse(first?.json ?? "{}") as { content?: string | { text?: string }[] };
  const text = typeof content === "string" ? content : content?.find((block) => block.text)?.text;
  return text === undefined ? undefined : JSON.stringify(text.slice(0, 200)).slice(1, -1);
}

/** What a session came to, seen from outside of the engine. */
interface Watched {
  /** Answers of `/prepare` without the first words. */
  lost: number;
  lastBody: Uint8Array | undefined;
  /** Milliseconds of what every step does without a model: Surface, pressure, budget, and the bytes to send. */
  projecting: number;
}

/** Looks at every step before it is asked for, and at its answer. */
function watching(local: LocalSession, words: string | undefined, watched: Watched): Client {
  return {
    async request(method, path, options) {
      const asks = path.endsWith("/prepare");
      const answer = await local.client.request(method, path, options);
      if (!asks || answer.status !== 200) return answer;
      watched.lastBody = answer.body;
      if (words !== undefined && !Buffer.from(answer.body).includes(words)) watched.lost++;
      watched.projecting += project(local);
      return answer;
    },
  };
}

/** The branch's Surface as a step that begins now would see it: nothing of it is kept in memory. */
function project({ core }: LocalSession): number {
  const branch = core.branch(null);
  core.forget();
  const from = performance.now();
  const ground = core.ground(branch.id);
  const envelope = { tokens: 0, bytes: 0 };
  const { items } = takeSnapshot(ground, { envelope, batch: [], maxOutput: undefined });
  renderItems(core.log, ground.dialect, items);
  return performance.now() - from;
}

/** Milliseconds that the session's compactions took, all in all: plan, forms, facts, summary, commits, and their counting. */
function compacting({ core }: LocalSession): number {
  let sum = 0;
  let began = 0;
  for (const { type, at } of core.log.read(0, { limit: 1e9, maxBytes: 1e15 })) {
    if (type === "compaction/start") began = at;
    if (type === "compaction/end") sum += at - began;
  }
  return sum;
}

/** Which paths of the session the last request still holds. */
function pathsKept(session: Session, body: Uint8Array): { named: Kept; all: Kept } {
  const dialect = dialectOf(session.dialect);
  const read = (raw: Uint8Array, seq: number) => ({ seq, message: dialect.read(raw, "message") });
  const nodes = session.messages.map(({ json }, seq) => read(utf8(json), seq));
  const sent = rawElements(rawMembers(body).get("messages") ?? utf8("[]"));
  const texts = sent.flatMap((raw, seq) => read(raw, seq).message.parts.map(textOf));
  const checkpoint = texts[0]?.startsWith("<compacted-summary ") === true ? texts[0] : "";
  const surface = texts.join("\n");
  return {
    named: kept(nodes, nodes, namedPaths, checkpoint, surface),
    all: kept(nodes, nodes, (of) => pathsOf(of, /./), checkpoint, surface),
  };
}

function textOf(part: Part): string {
  if (part.type === "call") return strings(JSON.parse(part.args || "{}")).join("\n");
  if (part.type === "result") return part.content.map(textOf).join("\n");
  return part.type === "media" ? "" : part.text;
}

/** How often a session would have to begin anew at the threshold if each time nothing at all were kept but what enters. */
function leastFlushes({ records, threshold = Number.POSITIVE_INFINITY }: PlayResult): number {
  let flushes = 0;
  let held = 0;
  let before = 0;
  for (const { uncompacted } of records) {
    const grown = uncompacted - before;
    before = uncompacted;
    if (held > 0 && held + grown >= threshold) {
      flushes++;
      held = 0;
    }
    held += grown;
  }
  return flushes;
}

function empty() {
  return {
    ...{ steps: 0, compactions: 0, prunesOnly: 0, flushes: 0, failed: 0, notSmaller: 0, illegal: 0, over: 0 },
    ...{ followed: 0, shares: 0, keptBytes: 0, bytes: 0, lost: 0, long: 0, longKept: 0 },
    ...{ projecting: 0, compacting: 0, engine: 0, least: 0, named: 0, namedKept: 0, all: 0, allKept: 0 },
  };
}

type Sum = ReturnType<typeof empty>;

async function playOne({ session, oracle }: Recorded, window: number, meter: Meter, sum: Sum): Promise<void> {
  const local = localSession(meter);
  const watched: Watched = { lost: 0, lastBody: undefined, projecting: 0 };
  const client = watching(local, firstWords(session), watched);
  const result = await playSession(session, client, { window, sessionId: "bench" }, oracle);
  sum.illegal += result.illegalSurfaces;
  sum.engine += local.spent.requests - local.spent.counting;
  sum.projecting += watched.projecting;
  sum.compacting += compacting(local);
  sum.lost += watched.lost;
  sum.least += leastFlushes(result);
  for (const step of result.records) {
    sum.steps++;
    if (step.tokens > window - 4_000) sum.over++;
    if (step.previousBytes > 0) {
      sum.followed++;
      sum.shares += step.prefixBytes / step.previousBytes;
      sum.keptBytes += step.prefixBytes;
      sum.bytes += step.previousBytes;
      if (step.prefixBytes < step.previousBytes) sum.flushes++;
    }
    if (step.compaction === undefined) continue;
    sum.compactions++;
    const { rungs, outcome, tokensBefore, tokensAfter } = step.compaction;
    if (outcome !== "done") sum.failed++;
    if (rungs.length > 0 && rungs.every((rung) => rung === "prune")) sum.prunesOnly++;
    if (rungs.length > 0 && tokensAfter >= tokensBefore) sum.notSmaller++;
  }
  if ((result.records.at(-1)?.uncompacted ?? 0) <= window - 4_000 || watched.lastBody === undefined) return;
  sum.long++;
  if (watched.lost === 0) sum.longKept++;
  const { named, all } = pathsKept(session, watched.lastBody);
  sum.named += named.paths;
  sum.namedKept += named.surface;
  sum.all += all.paths;
  sum.allKept += all.surface;
}

const percent = (part: number, whole: number, digits = 0): string => ((100 * part) / whole).toFixed(digits);

function print(window: number, prefix: number, sum: Sum): void {
  const own = {
    who: "Plimsoll, extractive",
    steps: sum.steps,
    compactions: sum.compactions,
    "not smaller": sum.notSmaller,
    illegal: sum.illegal,
    over: sum.over,
    "prefix, %": percent(sum.shares, sum.followed, 2),
    "paths, %": `${percent(sum.namedKept, sum.named)} / ${percent(sum.allKept, sum.all)}`,
    first: `${sum.longKept}/${sum.long}`,
    "ms a step": ((sum.projecting + sum.compacting) / sum.steps).toFixed(3),
  };
  const peers = peerRows
    .filter((row) => row.window === window)
    .map((row) => ({
      who: row.who,
      steps: row.steps,
      compactions: row.compactions,
      "not smaller": row.notSmaller ?? "",
      illegal: row.illegal,
      over: row.over,
      "prefix, %": row.prefix.toFixed(1),
      "paths, %": `${row.named} / ${row.all}`,
      first: row.first,
      "ms a step": row.msPerStep.toFixed(2),
    }));
  console.log(`\nReal sessions, window ${window}`);
  console.table([own, ...peers]);
  const per = (ms: number) => (ms / sum.steps).toFixed(3);
  const lines = [
    `goals: 0 over (${sum.over}), 0 illegal (${sum.illegal}), 0 not smaller (${sum.notSmaller}), first request in every Surface (${sum.lost} without), ` +
      `prefix ${prefix} % (${percent(sum.shares, sum.followed, 2)} %), 0.4 ms a step (${per(sum.projecting + sum.compacting)})`,
    `compactions: ${sum.prunesOnly} by pruning alone, ${sum.failed} without relief; ${sum.flushes} steps began with another prefix; ` +
      `prefix weighed by bytes ${percent(sum.keptBytes, sum.bytes, 2)} %`,
    `for comparison: compactions at the same threshold that keep nothing at all would be ${sum.least}, ` +
      `prefix ${percent(sum.followed - sum.least, sum.followed, 2)} %`,
    `ms a step: projection ${per(sum.projecting)} (nothing kept in memory), compaction ${per(sum.compacting)} (all of it, with counting), ` +
      `both requests whole but for counting ${per(sum.engine)}`,
  ];
  console.log(lines.join("\n"));
}

if (existsSync(root)) {
  const all = recorded();
  const meter = createMeter(createCounter(readVocabulary()));
  for (const { window, prefix } of goals) {
    const sum = empty();
    for (const one of all) await playOne(one, window, meter, sum);
    print(window, prefix, sum);
  }
} else {
  console.log("\nReal sessions: SKIPPED, there is no ../shared/transcripts.");
}

/**
 * Real sessions, replayed step by step through the engine in this process, beside peers measured on the same transcripts. Limit: window less
 * 4,000 tokens, by exact count. Prefix kept: of each request after the first of its session, the share of the request before it (bytes of
 * envelope and messages) that it starts with; the mean over all requests, first ones counted as kept.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Client } from "../cli/client.ts";
import { importTranscript } from "../cli/import/detect.ts";
import type { Session } from "../cli/import/session.ts";
import { playSession } from "../cli/play.ts";
import { readVocabulary } from "../scripts/pack-vocabulary.ts";
import { createCounter } from "../src/meter/counter.ts";
import { createMeter } from "../src/meter/price.ts";
import { localSession } from "./in-process.ts";

const root = fileURLToPath(new URL("../../shared/transcripts/", import.meta.url));

/** Figures of peers' own code on these transcripts, measured in November 2026 (3,284 steps: resumed copies were played too). */
const peers = [
  {
    who: "pi, scaled, checked every step",
    window: 32_000,
    compactions: 98,
    notSmaller: 18,
    over: 27,
    prefix: 97.3,
    ms: 0.15,
  },
  {
    who: "LangChain summarization, keep 0.1",
    window: 32_000,
    compactions: 109,
    notSmaller: 3,
    over: 8,
    prefix: 96.7,
    ms: 0.4,
  },
  {
    who: "Cloudflare Sessions, scaled",
    window: 32_000,
    compactions: 685,
    notSmaller: 0,
    over: 485,
    prefix: 79.5,
    ms: 4.23,
  },
  {
    who: "pi, default, checked every step",
    window: 128_000,
    compactions: 14,
    notSmaller: 1,
    over: 1,
    prefix: 99.6,
    ms: 0.14,
  },
  {
    who: "LangChain summarization, keep 0.1",
    window: 128_000,
    compactions: 14,
    notSmaller: 0,
    over: 0,
    prefix: 99.6,
    ms: 0.54,
  },
];

function sessions(): Session[] {
  const folders = ["claude-code", "pi", "openai-chat"];
  const files = folders.flatMap((folder) =>
    readdirSync(root + folder).map((file) => `${root}${folder}/${file}`),
  );
  const chosen = files.filter((file) => !file.includes("/openai-chat/") || file.includes("/miniswe-"));
  return chosen.map((file) => importTranscript(readFileSync(file, "utf8")));
}

/** The first 200 characters of the first user message, as they stand inside JSON. */
function firstWords(session: Session): string | undefined {
  const first = session.messages.find((message) => message.kind === "user");
  const { content } = JSON.parse(first?.json ?? "{}") as { content?: string | { text?: string }[] };
  const text = typeof content === "string" ? content : content?.find((block) => block.text)?.text;
  return text === undefined ? undefined : JSON.stringify(text.slice(0, 200)).slice(1, -1);
}

/** Counts the answers of `/prepare` that do not hold the words. */
function watching(client: Client, words: string | undefined, lost: () => void): Client {
  return {
    async request(method, path, options) {
      const answer = await client.request(method, path, options);
      if (words !== undefined && path.endsWith("/prepare") && answer.status === 200) {
        if (!new TextDecoder().decode(answer.body).includes(words)) lost();
      }
      return answer;
    },
  };
}

async function measure(window: number, all: readonly Session[]) {
  const meter = createMeter(createCounter(readVocabulary()));
  const sum = {
    steps: 0,
    compactions: 0,
    prunesOnly: 0,
    notSmaller: 0,
    illegal: 0,
    over: 0,
    kept: 0,
    lost: 0,
    ms: 0,
  };
  for (const session of all) {
    const local = localSession(meter);
    const client = watching(local.client, firstWords(session), () => sum.lost++);
    const result = await playSession(session, client, { window, sessionId: "bench" });
    sum.illegal += result.illegalSurfaces;
    sum.ms += local.spent.requests - local.spent.counting;
    for (const step of result.records) {
      sum.steps++;
      sum.kept += step.previousBytes === 0 ? 1 : step.prefixBytes / step.previousBytes;
      if (step.tokens > window - 4_000) sum.over++;
      if (step.compaction?.outcome !== "done") continue;
      sum.compactions++;
      if (step.compaction.rungs.every((rung) => rung === "prune")) sum.prunesOnly++;
      if (step.compaction.tokensAfter >= step.compaction.tokensBefore) sum.notSmaller++;
    }
  }
  return sum;
}

if (!existsSync(root)) {
  console.log("\nReal transcripts: SKIPPED, there is no ../shared/transcripts.");
} else {
  const all = sessions();
  for (const [window, goal] of [
    [32_000, 97.5],
    [128_000, 99.6],
  ] as const) {
    const sum = await measure(window, all);
    const own = {
      who: "Plimsoll, extractive",
      steps: sum.steps,
      compactions: sum.compactions,
      "of them prune only": sum.prunesOnly,
      "not smaller": sum.notSmaller,
      illegal: sum.illegal,
      over: sum.over,
      "prefix kept, %": ((100 * sum.kept) / sum.steps).toFixed(2),
      "first request lost": sum.lost,
      "ms a step": (sum.ms / sum.steps).toFixed(3),
    };
    const others = peers
      .filter((peer) => peer.window === window)
      .map((peer) => ({
        who: peer.who,
        steps: 3_284,
        compactions: peer.compactions,
        "not smaller": peer.notSmaller,
        over: peer.over,
        "prefix kept, %": peer.prefix.toFixed(1),
        "ms a step": peer.ms,
      }));
    console.log(
      `\nReal transcripts, window ${window}: goals 0 over, 0 illegal, 0 not smaller, prefix ${goal} %, 0.4 ms`,
    );
    console.table([own, ...others]);
  }
}

/**
 * The whole server is killed at random moments while sessions are played against it, and started again on the same database:
 * nothing that was acknowledged may be lost, nothing may stand there twice, no operation may stay open.
 */
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpClient } from "../../cli/client.ts";
import { importTranscript } from "../../cli/import/detect.ts";
import { playSession } from "../../cli/play.ts";
import { type Server, startServer } from "../../cli/server.ts";
import { seed } from "../support/runs.ts";

const transcripts = new URL("../../../shared/transcripts/", import.meta.url);

interface Case {
  name: string;
  file: URL;
  window: number;
  /** How often the server is killed on the way. */
  kills: number;
  /** Only so many messages of it are played. */
  messages: number;
}

const cases: Case[] = [
  {
    name: "the bundled demo",
    file: new URL("../../cli/demo-session.jsonl", import.meta.url),
    window: 16_000,
    kills: 4,
    messages: 400,
  },
  {
    name: "a claude-code session",
    file: new URL("claude-code/cc-erk-9e8e-huge-results.jsonl", transcripts),
    window: 32_000,
    kills: 3,
    messages: 160,
  },
  {
    name: "a chat session",
    file: new URL("openai-chat/miniswe-django-13265.traj.json", transcripts),
    window: 16_000,
    kills: 3,
    messages: 160,
  },
];

/** A small generator of its own, so that a seed repeats a run as far as the machine lets it. */
function chances(state: number): () => number {
  let at = state >>> 0;
  return () => {
    at = (at + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

let server: Server;
let persistTo: string;

beforeAll(async () => {
  persistTo = await mkdtemp(join(tmpdir(), "plimsoll-kill-"));
  server = await startServer({ persistTo });
}, 120_000);

afterAll(async () => {
  await server.stop();
  await rm(persistTo, { recursive: true, force: true, maxRetries: 3 });
}, 30_000);

async function killAndRestart(): Promise<void> {
  const { port } = server;
  await server.kill();
  server = await startServer({ persistTo, port });
}

describe(`a server that is killed (seed ${seed})`, () => {
  for (const { name, file, window, kills, messages } of cases) {
    const here = existsSync(file);
    it.skipIf(!here)(
      `[T16] loses nothing of ${name} that it had acknowledged`,
      { timeout: 180_000 },
      async () => {
        const session = importTranscript(readFileSync(file, "utf8"));
        session.messages = session.messages.slice(0, messages);
        const chance = chances(seed + messages + window);
        const steps = session.messages.filter(({ kind }) => kind === "assistant").length;
        const due = new Set(Array.from({ length: kills }, () => 1 + Math.floor(chance() * (steps - 2))));
        let deaths = 0;
        let alive = Promise.resolve();
        const result = await playSession(session, httpClient(server.url, { patience: 100_000, pause: 50 }), {
          window,
          sessionId: `killed-${seed}-${messages}-${window}`,
          onStep: ({ index }) => {
            if (!due.has(index)) return;
            deaths++;
            // Some milliseconds later, so that it dies inside a request as often as between two.
            const pause = chance() * 40;
            alive = alive.then(() => sleep(pause)).then(killAndRestart);
          },
        });
        await alive;
        expect(result.faults).toEqual([]);
        expect([deaths, result.steps]).toEqual([due.size, steps]);
        expect(result.generation).toBeGreaterThan(0);
        const { auditDrift, illegalSurfaces, overWindow } = result;
        expect({ auditDrift, illegalSurfaces, overWindow }).toEqual({
          auditDrift: 0,
          illegalSurfaces: 0,
          overWindow: 0,
        });
      },
    );
  }
});

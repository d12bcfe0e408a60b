/**
 * The Worker is killed in the middle of steps and of recoveries, and started again on the same database, while agents
 * work through it whose client retries: the loops end, nothing that was acknowledged is paid for again.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createChance } from "../../../cli/demo/chance.ts";
import { type AgentOptions, type AgentResult, runAgent } from "../../../cli/loop/agent.ts";
import { startProvider } from "../../../cli/loop/provider.ts";
import type { Asked, Provider } from "../../../cli/loop/provider-options.ts";
import { type Server, startServer } from "../../../cli/server.ts";
import { seed } from "../../support/runs.ts";

const rounds = 40;
const chance = createChance(seed);

let server: Server;
let provider: Provider;
let persistTo: string;
let vars: Record<string, string>;

/** Deaths that are due: with the n-th request from now, or with the next request behind an overflow. */
let due: { atRequest: number[]; behindOverflow: boolean } = { atRequest: [], behindOverflow: false };
let alive = Promise.resolve();
let deaths = 0;
/** Of them, those in the middle of a recovery: the request that it sends again has just arrived. */
let deathsRecovering = 0;
let refusalsSeen = 0;

/** Refusals for size: of the input alone, or with the output that was asked for. */
function sizeRefusals(): number {
  const { overflows, refusals } = provider.stats();
  return overflows + (refusals.cap ?? 0);
}

/** Called with each request that reaches the provider: the Worker is in the middle of a step then. */
function strike(_asked: Asked): undefined {
  const refused = sizeRefusals();
  const recovering = due.behindOverflow && refused > refusalsSeen;
  refusalsSeen = refused;
  due.atRequest = due.atRequest.map((left) => left - 1);
  const struck = due.atRequest.includes(0);
  due.atRequest = due.atRequest.filter((left) => left > 0);
  if (recovering) due.behindOverflow = false;
  if (!recovering && !struck) return;
  deaths++;
  if (recovering) deathsRecovering++;
  const pause = chance.between(0, 60);
  alive = alive.then(() => sleep(pause)).then(killAndRestart);
}

async function killAndRestart(): Promise<void> {
  const { port } = server;
  await server.kill();
  server = await startServer({ persistTo, port, vars });
}

beforeAll(async () => {
  persistTo = await mkdtemp(join(tmpdir(), "plimsoll-kill-"));
  provider = await startProvider({
    window: 32_000,
    delayMs: 25,
    paths: { openai: "/v1", anthropic: "/v1" },
    fault: strike,
  });
  const dialects = ["openai-chat", "openai-responses", "anthropic"];
  vars = {
    PROVIDERS: JSON.stringify({ strict: { baseUrl: provider.openai, dialects } }),
    ROUTES: JSON.stringify({ "strict/known": { window: 32_000 } }),
  };
  server = await startServer({ persistTo, vars });
}, 120_000);

afterAll(async () => {
  await alive;
  await server?.stop();
  await provider?.close();
  await rm(persistTo, { recursive: true, force: true, maxRetries: 3 });
}, 60_000);

const timesOf = (round: string) =>
  provider.stats().rounds.repeated.find(({ key }) => key === round)?.times ?? 1;

/** Plays on from the last answer when a stream broke, which no client retries by itself. */
async function playToTheEnd(options: AgentOptions): Promise<AgentResult & { tries: number }> {
  let history: readonly unknown[] | undefined;
  for (let tries = 1; ; tries++) {
    const going = history === undefined ? {} : { history, ask: false };
    const played = await runAgent({ ...options, ...going });
    if (played.finished || tries > 20) return { ...played, tries };
    if (played.messages.length > 0) history = played.messages;
    await alive;
  }
}

interface Events {
  end: number;
  next: number;
  events: { type: string }[];
}

async function eventTypes(session: string): Promise<string[]> {
  const types: string[] = [];
  for (let after = 0; ; ) {
    const page = (await (await fetch(`${session}/events?after=${after}`)).json()) as Events;
    types.push(...page.events.map(({ type }) => type));
    if (page.next >= page.end) return types;
    after = page.next;
  }
}

const cases = [
  { agent: "openai-chat", stream: false, model: "known" },
  { agent: "anthropic", stream: false, model: "unknown" },
  { agent: "openai-responses", stream: true, model: "unknown" },
  { agent: "anthropic", stream: true, model: "unknown" },
  { agent: "openai-chat", stream: true, model: "known" },
] as const;

describe(`a gateway that is killed (seed ${seed})`, () => {
  it.each(cases)(
    "[G53] finishes, and pays no finished step twice: $agent, stream $stream, $model window",
    {
      timeout: 240_000,
    },
    async ({ agent, stream, model }) => {
      const task = `killed-${agent}-${stream}`;
      const session = `${server.url}/v1/sessions/${task}`;
      deaths = 0;
      deathsRecovering = 0;
      refusalsSeen = sizeRefusals();
      due = {
        atRequest: [chance.between(3, 12), chance.between(13, 24), chance.between(25, 38)],
        behindOverflow: model === "unknown",
      };
      const acknowledged = new Map<string, number>();
      const played = await playToTheEnd({
        agent,
        baseURL: agent === "anthropic" ? `${session}/anthropic` : `${session}/openai/v1`,
        model: `strict/${model}`,
        task,
        rounds,
        stream,
        retries: 30,
        onStep: () => {
          const round = `${task}#${acknowledged.size}`;
          acknowledged.set(round, timesOf(round));
        },
      });
      await alive;
      expect(played).toMatchObject({ finished: true, answer: `DONE ${task} after ${rounds} rounds` });
      expect(deaths).toBeGreaterThanOrEqual(3);
      expect(deathsRecovering).toBe(model === "unknown" ? 1 : 0);
      expect(acknowledged.size).toBe(rounds + 1);
      for (const [round, times] of acknowledged) expect([round, timesOf(round)]).toEqual([round, times]);
      // A death costs at most the one answer that was on its way.
      const again = provider.stats().rounds.repeated.filter(({ key }) => key.startsWith(`${task}#`));
      expect(again.reduce((sum, { times }) => sum + times - 1, 0)).toBeLessThanOrEqual(deaths);

      expect(await (await fetch(`${session}/audit`)).json()).toMatchObject({ ok: true, drift: [] });
      expect(await (await fetch(session)).json()).toMatchObject({ running: [] });
      const types = await eventTypes(session);
      // What is tried again is answered from the log, also where a loop sends its list again by itself.
      const ends = types.filter((type) => type === "step/end").length;
      expect(ends).toBe(rounds + 1);
      expect(types.filter((type) => type === "message/assistant").length).toBeGreaterThan(rounds);
      // The line is not bricked: it takes another task.
      const more = await runAgent({
        agent,
        baseURL: agent === "anthropic" ? `${session}/anthropic` : `${session}/openai/v1`,
        model: `strict/${model}`,
        task: `${task}-more`,
        rounds: 2,
        history: played.messages,
      });
      expect(more).toMatchObject({ finished: true, errors: [] });
      // Where the window has to be learned, the output that is asked for may be too much once.
      const { cap: _, ...illegal } = provider.stats().refusals;
      expect(illegal).toEqual({});
    },
  );
});

/** Many conversations on one URL: sub-agents, side calls on a smaller model, a client that goes back. Each gets its own history. */
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AgentResult, runAgent } from "../../../cli/loop/agent.ts";
import type { Asked } from "../../../cli/loop/provider-options.ts";
import { auditOf, digest, json, messagesOf, startThrough, type Through } from "./through.ts";

const tasks = ["main-task", "sub-alpha", "sub-beta"] as const;
let through: Through;

beforeAll(async () => {
  const window = 32_000;
  through = await startThrough({
    provider: { models: { "title-1": { window: 16_000 } } },
    routes: { "openai/strict-1": { window }, "openai/title-1": { window: 16_000 } },
  });
}, 60_000);

afterAll(() => through.stop());

function play(baseURL: string, task: string, rounds: number, more: object = {}): Promise<AgentResult> {
  return runAgent({
    agent: "openai-chat",
    baseURL,
    apiKey: "x",
    model: "strict-1",
    task,
    rounds,
    stream: true,
    ...more,
  });
}

/** Requests that were about a task, as the provider got them. */
function about(task: string, from: number): Asked[] {
  return through.asked.slice(from).filter((asked) => JSON.stringify(messagesOf(asked)).includes(task));
}

async function titles(baseURL: string, count: number): Promise<void> {
  const client = new OpenAI({ baseURL, apiKey: "x", maxRetries: 0 });
  for (let n = 0; n < count; n++) {
    const content = `Write a title for conversation ${n}: ${"some words of it ".repeat(40)}`;
    const reply = await client.chat.completions.create({
      model: "title-1",
      messages: [{ role: "user", content }],
    });
    expect(reply.choices[0]?.message.content).toBeTruthy();
  }
}

/** A client that goes back: it cuts its history in front of an older reply and goes on from there. */
async function rewinding(baseURL: string): Promise<AgentResult> {
  const first = await play(baseURL, "rewinder", 60, { abortAfter: 24 });
  const messages = first.messages as { role: string }[];
  const cut = messages.findLastIndex(
    (message, at) => message.role === "assistant" && at < messages.length - 12,
  );
  return await play(baseURL, "rewinder", 60, { history: messages.slice(0, cut), ask: false });
}

async function all(baseURL: string): Promise<void> {
  const [main, alpha, beta, rewound] = await Promise.all([
    play(baseURL, tasks[0], 60),
    play(baseURL, tasks[1], 40, { calls: 2 }),
    play(baseURL, tasks[2], 40),
    rewinding(baseURL),
    titles(baseURL, 12),
  ]);
  for (const { finished, errors } of [main, alpha, beta, rewound])
    expect({ finished, errors }).toEqual({ finished: true, errors: [] });
}

function expectNoForeignWords(from: number): void {
  for (const asked of through.asked.slice(from)) {
    const text = JSON.stringify(messagesOf(asked));
    const named = [...tasks, "rewinder"].filter((task) => text.includes(task));
    expect(named.length).toBeLessThanOrEqual(1);
  }
  const { refusals, overflows } = through.provider.stats();
  expect({ refusals, overflows }).toEqual({ refusals: {}, overflows: 0 });
}

it("[G50] on one static URL each conversation is a session of its own, and the main agent's bytes are those of a run alone", async () => {
  const { server } = through;
  const alone = through.asked.length;
  expect((await play(`${server.url}/v1/sessions/alone/openai/v1`, tasks[0], 60)).finished).toBe(true);
  const expected = about(tasks[0], alone).map((asked) => digest(messagesOf(asked)));
  const together = through.asked.length;
  await all(`${server.url}/openai/v1`);
  expect(about(tasks[0], together).map((asked) => digest(messagesOf(asked)))).toEqual(expected);
  expectNoForeignWords(together);
}, 120_000);

it("[G50] in one session each conversation is a branch of its own, and only its own compactions change what it is sent", async () => {
  const { server } = through;
  const from = through.asked.length;
  await all(`${server.url}/v1/sessions/together/openai/v1`);
  expectNoForeignWords(from);
  // A request either goes on from the one before it, or a compaction of its own branch lies between.
  // Calls for a summary forbid tools.
  const sent = about(tasks[0], from)
    .filter((asked) => asked.body.tool_choice === undefined)
    .map(messagesOf);
  const broken = sent.slice(1).filter((messages, at) => {
    const before = sent[at]!;
    return digest(messages.slice(0, before.length)) !== digest(before);
  });
  const { branches } = await json<{ branches: { branch: string; generation: number; steps: number }[] }>(
    `${server.url}/v1/sessions/together/branches`,
  );
  const main = branches.find(({ steps }) => steps >= 61);
  expect(main).toBeDefined();
  expect(broken.length).toBeGreaterThan(0);
  expect(broken.length).toBeLessThanOrEqual(main!.generation);
  expect(await auditOf(server, "together")).toMatchObject({ ok: true, drift: [] });
}, 120_000);

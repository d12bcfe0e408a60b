/** Many conversations on one URL: sub-agents, side calls on a smaller model, a client that goes back. Each gets its own history. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentOptions, type AgentResult, runAgent } from "../../../cli/loop/agent.ts";
import type { Asked } from "../../../cli/loop/provider-options.ts";
import { auditOf, digest, json, messagesOf, startThrough, type Through } from "./through.ts";

const agents = ["openai-chat", "openai-responses", "anthropic"] as const;
type Agent = (typeof agents)[number];
/** Where an agent's client goes: OpenAI's takes the version into its base URL. */
const pathOf = (agent: Agent) => (agent === "anthropic" ? "/anthropic" : "/openai/v1");

/** A session is derived from the first words: on one static URL other dialects' conversations have other ones. */
const tasksOf = (agent: Agent) =>
  ({
    main: `main-${agent}.`,
    alpha: `alpha-${agent}.`,
    beta: `beta-${agent}.`,
    rewound: `rewound-${agent}.`,
  }) as const;

let through: Through;

beforeAll(async () => {
  const routes = Object.fromEntries(
    ["openai", "anthropic"].flatMap((vendor) => [
      [`${vendor}/strict-1`, { window: 32_000 }],
      [`${vendor}/title-1`, { window: 16_000 }],
    ]),
  );
  through = await startThrough({ provider: { models: { "title-1": { window: 16_000 } } }, routes });
}, 60_000);

afterAll(() => through.stop());

interface Url {
  agent: Agent;
  baseURL: string;
}

function play(
  url: Url,
  task: string,
  rounds: number,
  more: Partial<AgentOptions> = {},
): Promise<AgentResult> {
  return runAgent({ ...url, apiKey: "x", model: "strict-1", task, rounds, stream: true, ...more });
}

/** Cache marks move with the end of the list, and turn a string into the one block that it stands for; all else stays. */
function unmarked(messages: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(messages), (key, value: unknown) => {
    if (key === "cache_control") return undefined;
    const [only, ...others] = key === "content" && Array.isArray(value) ? (value as { text?: string }[]) : [];
    return typeof only?.text === "string" && others.length === 0 ? only.text : value;
  });
}

/** Calls for a summary end with words of their own, the agent's requests with results. */
function asksForSummary(messages: readonly unknown[]): boolean {
  const last = messages.at(-1) as { role?: string };
  return messages.length > 1 && last.role === "user" && !JSON.stringify(last).includes('"tool_result"');
}

/** Requests that were about a task, as the provider got them. */
function about(task: string, from: number): Asked[] {
  return through.asked.slice(from).filter((asked) => JSON.stringify(messagesOf(asked)).includes(task));
}

/** Side calls on a smaller model, each with a past of one message. */
async function titles({ agent, baseURL }: Url, count: number): Promise<void> {
  const openai = new OpenAI({ baseURL, apiKey: "x", maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL, apiKey: "x", maxRetries: 0 });
  const model = "title-1";
  for (let n = 0; n < count; n++) {
    const content = `Write a title for conversation ${n}: ${"some words of it ".repeat(40)}`;
    const messages = [{ role: "user" as const, content }];
    const title = {
      "openai-chat": async () =>
        (await openai.chat.completions.create({ model, messages })).choices[0]?.message.content,
      "openai-responses": async () => (await openai.responses.create({ model, input: messages })).output_text,
      anthropic: async () =>
        (await anthropic.messages.create({ model, messages, max_tokens: 200 })).content[0],
    };
    expect(await title[agent]()).toBeTruthy();
  }
}

/** A client that goes back: it cuts its history in front of an older reply and goes on from there. */
async function rewinding(url: Url): Promise<AgentResult> {
  const first = await play(url, tasksOf(url.agent).rewound, 60, { abortAfter: 24 });
  const messages = first.messages as { role?: string; type?: string }[];
  // A reply of Responses is several items: the cut must not fall between them.
  const said = (at: number) => messages[at]?.role === "assistant" || messages[at]?.type === "reasoning";
  const cut = messages.findLastIndex((_, at) => said(at) && !said(at - 1) && at < messages.length - 12);
  return await play(url, tasksOf(url.agent).rewound, 60, { history: messages.slice(0, cut), ask: false });
}

async function all(url: Url): Promise<void> {
  const tasks = tasksOf(url.agent);
  const [main, alpha, beta, rewound] = await Promise.all([
    play(url, tasks.main, 60),
    play(url, tasks.alpha, 40, { calls: 2 }),
    play(url, tasks.beta, 40),
    rewinding(url),
    titles(url, 12),
  ]);
  for (const { finished, errors } of [main, alpha, beta, rewound])
    expect({ finished, errors }).toEqual({ finished: true, errors: [] });
}

function expectNoForeignWords(agent: Agent, from: number): void {
  for (const asked of through.asked.slice(from)) {
    const text = JSON.stringify(messagesOf(asked));
    const named = Object.values(tasksOf(agent)).filter((task) => text.includes(task));
    expect(named.length).toBeLessThanOrEqual(1);
  }
  const { refusals, overflows } = through.provider.stats();
  expect({ refusals, overflows }).toEqual({ refusals: {}, overflows: 0 });
}

describe.each(agents)("conversations of %s", (agent) => {
  const { main: mine } = tasksOf(agent);
  it("[G50] on one static URL each conversation is a session of its own, and the main agent's bytes are those of a run alone", async () => {
    const { server } = through;
    const alone = through.asked.length;
    const apart = { agent, baseURL: `${server.url}/v1/sessions/alone-${agent}${pathOf(agent)}` };
    expect((await play(apart, mine, 60)).finished).toBe(true);
    const expected = about(mine, alone).map((asked) => digest(messagesOf(asked)));
    const together = through.asked.length;
    await all({ agent, baseURL: `${server.url}${pathOf(agent)}` });
    expect(about(mine, together).map((asked) => digest(messagesOf(asked)))).toEqual(expected);
    expectNoForeignWords(agent, together);
  }, 120_000);

  it("[G50] in one session each conversation is a branch of its own, and only its own compactions change what it is sent", async () => {
    const { server } = through;
    const from = through.asked.length;
    const session = `together-${agent}`;
    await all({ agent, baseURL: `${server.url}/v1/sessions/${session}${pathOf(agent)}` });
    expectNoForeignWords(agent, from);
    // A request either goes on from the one before it, or a compaction of its own branch lies between.
    const sent = about(mine, from)
      .map(messagesOf)
      .filter((messages) => !asksForSummary(messages));
    const broken = sent.slice(1).filter((messages, at) => {
      const before = sent[at]!;
      return digest(unmarked(messages.slice(0, before.length))) !== digest(unmarked(before));
    });
    const { branches } = await json<{ branches: { branch: string; generation: number; steps: number }[] }>(
      `${server.url}/v1/sessions/${session}/branches`,
    );
    const main = branches.find(({ steps }) => steps >= 61);
    expect(main).toBeDefined();
    expect(broken.length).toBeGreaterThan(0);
    expect(broken.length).toBeLessThanOrEqual(main!.generation);
    expect(await auditOf(server, session)).toMatchObject({ ok: true, drift: [] });
  }, 120_000);
});

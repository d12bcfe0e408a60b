/**
 * The provider's prompt cache under a long loop: the share of input that stood in an earlier request's prefix, through Plimsoll at a window,
 * beside a client that is sent directly and has no window. By the provider's own books, as it would bill.
 */
import { type AgentName, runAgent } from "../cli/loop/agent.ts";
import { startProvider } from "../cli/loop/provider.ts";
import { startServer } from "../cli/server.ts";

const rounds = 300;

async function direct(agent: AgentName): Promise<number> {
  const provider = await startProvider({});
  const baseURL = agent === "anthropic" ? provider.anthropic : provider.openai;
  const played = await runAgent({ agent, baseURL, model: "strict-1", task: "direct", rounds, stream: true });
  if (!played.finished) throw new Error(`direct: ${JSON.stringify(played.errors)}`);
  const { cachedShare } = provider.stats();
  await provider.close();
  return cachedShare;
}

async function through(agent: AgentName, window: number): Promise<{ share: number; generation: number }> {
  const provider = await startProvider({ window });
  const server = await startServer({
    vars: {
      PROVIDERS: JSON.stringify({
        openai: { baseUrl: provider.openai, dialects: ["openai-chat"] },
        anthropic: { baseUrl: provider.anthropic, dialects: ["anthropic"] },
      }),
      ROUTES: JSON.stringify({ "openai/strict-1": { window }, "anthropic/strict-1": { window } }),
    },
  });
  try {
    const session = `${server.url}/v1/sessions/cache`;
    const baseURL = agent === "anthropic" ? `${session}/anthropic` : `${session}/openai/v1`;
    const played = await runAgent({
      agent,
      baseURL,
      model: "strict-1",
      task: "through",
      rounds,
      stream: true,
    });
    if (!played.finished) throw new Error(`through: ${JSON.stringify(played.errors)}`);
    const { generation } = (await (await fetch(session)).json()) as { generation: number };
    return { share: provider.stats().cachedShare, generation };
  } finally {
    await server.stop();
    await provider.close();
  }
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
const rows: Record<string, string | number>[] = [];
for (const agent of ["openai-chat", "anthropic"] as const) {
  const unlimited = await direct(agent);
  for (const window of [32_000, 128_000]) {
    const { share, generation } = await through(agent, window);
    rows.push({
      loop: `${agent}, ${rounds} rounds`,
      window,
      compactions: generation,
      "cached, direct without a window": percent(unlimited),
      "cached, through Plimsoll": percent(share),
      "of what direct gets": percent(share / unlimited),
      goal: "95 %",
    });
  }
}
console.table(rows);

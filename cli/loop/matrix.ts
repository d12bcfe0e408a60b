/**
 * The loops that a gateway has to carry to their end: dialects, streaming or not, one call or four at once,
 * against providers with a 32k window that are as counted, denser than counted, unknown, or bind thinking.
 */
import { type Server, startServer } from "../server.ts";
import { type AgentOptions, runAgent } from "./agent.ts";
import { type ProviderProcess, spawnProvider } from "./provider-process.ts";

export const matrixWindow = 32_000;

export const variantNames = ["plain", "dense", "unknown", "bound", "bound-manual"] as const;
export type VariantName = (typeof variantNames)[number];

interface Variant {
  /** Arguments of the provider's process besides its window. */
  provider: readonly string[];
  /** What configuration knows about the route; nothing: overflows have to teach it. */
  route: object | undefined;
  thinking?: "adaptive" | "manual";
  /** The provider may refuse for size; the gateway has to recover. */
  mayOverflow: boolean;
}

const window = matrixWindow;
const binding = ["--binding", "prefix"];
const bound = {
  provider: binding,
  route: { window, thinkingBinding: "prefix" },
  mayOverflow: false,
} as const;

const variants: Record<VariantName, Variant> = {
  plain: { provider: [], route: { window }, mayOverflow: false },
  dense: { provider: ["--density", "1.6"], route: { window }, mayOverflow: true },
  unknown: { provider: [], route: undefined, mayOverflow: true },
  bound: { ...bound, thinking: "adaptive" },
  "bound-manual": { ...bound, thinking: "manual" },
};

type Agent = "openai-chat" | "openai-responses" | "anthropic";

export interface LoopCase {
  name: string;
  variant: VariantName;
  agent: Agent;
  stream: boolean;
  calls: number;
}

/** All of them, the most telling first. Only Anthropic's thinking is bound. */
export function loopCases(): LoopCase[] {
  return variantNames.flatMap((variant) =>
    [true, false].flatMap((stream) =>
      [1, 4].flatMap((calls) =>
        agentsOf(variant).map((agent) => {
          const name = [variant, agent, stream ? "stream" : "whole", calls].join("/");
          return { name, variant, agent, stream, calls };
        }),
      ),
    ),
  );
}

function agentsOf(variant: VariantName): Agent[] {
  return variants[variant].thinking === undefined
    ? ["openai-chat", "openai-responses", "anthropic"]
    : ["anthropic"];
}

export interface LoopOutcome {
  name: string;
  rounds: number;
  ms: number;
  /** The final answer of this very task was given. */
  finished: boolean;
  requests: number;
  /** What the client saw. */
  errors: string[];
  /** Refusals at the provider by kind, overflows apart; `cap` is one for size too. */
  refusals: Record<string, number>;
  overflows: number;
  mayOverflow: boolean;
  /** Rounds that were answered, that is billed, more than once. */
  repeated: number;
  /** Largest input that was answered, of all loops of this provider so far. */
  largest: number;
  cachedShare: number;
  audit: boolean;
  branches: number;
  generation: number;
}

/** Why a loop did not go as it must; empty: it did. */
export function faultsOf(outcome: LoopOutcome): string[] {
  const { finished, errors, refusals, overflows, mayOverflow, repeated, audit, branches } = outcome;
  return [
    ...(finished ? [] : ["no final answer"]),
    ...errors,
    // `cap`: the input fits, but not with the output that was asked for. It is a matter of size like an overflow.
    ...Object.entries(refusals)
      .filter(([kind]) => !(mayOverflow && kind === "cap"))
      .map(([kind, times]) => `${times} refused: ${kind}`),
    ...(overflows > 0 && !mayOverflow ? [`${overflows} overflows with a known window`] : []),
    ...(repeated > 0 ? [`${repeated} rounds billed twice`] : []),
    ...(audit ? [] : ["the audit found drift"]),
    ...(branches === 1 ? [] : [`${branches} branches`]),
  ];
}

export interface Matrix {
  play(one: LoopCase, rounds: number, options?: Partial<AgentOptions>): Promise<LoopOutcome>;
  close(): Promise<void>;
}

/** Starts one Worker and the providers that the cases ask for. */
export async function openMatrix(cases: readonly LoopCase[]): Promise<Matrix> {
  const providers = new Map<VariantName, ProviderProcess>();
  let server: Server | undefined;
  const close = async () => {
    await server?.stop();
    await Promise.all([...providers.values()].map((provider) => provider.close()));
  };
  try {
    for (const { variant } of cases) {
      if (providers.has(variant)) continue;
      const args = ["--window", String(window), ...variants[variant].provider];
      providers.set(variant, await spawnProvider(args));
    }
    server = await startServer({ vars: varsOf(providers) });
  } catch (error) {
    await close();
    throw error;
  }
  const { url } = server;
  return { close, play: (one, rounds, options) => play({ one, rounds, options, url, providers }) };
}

function varsOf(providers: ReadonlyMap<VariantName, ProviderProcess>): Record<string, string> {
  const dialects = ["openai-chat", "openai-responses", "anthropic"];
  const entries = [...providers].map(([name, { base }]) => [name, { baseUrl: base, dialects }]);
  const routes = [...providers.keys()].flatMap((name) => {
    const { route } = variants[name];
    return route === undefined ? [] : [[`${name}/strict-1`, route]];
  });
  return {
    PROVIDERS: JSON.stringify(Object.fromEntries(entries)),
    ROUTES: JSON.stringify(Object.fromEntries(routes)),
  };
}

interface Play {
  one: LoopCase;
  rounds: number;
  options: Partial<AgentOptions> | undefined;
  url: string;
  providers: ReadonlyMap<VariantName, ProviderProcess>;
}

async function play({ one, rounds, options, url, providers }: Play): Promise<LoopOutcome> {
  const { variant, agent, stream, calls } = one;
  const provider = providers.get(variant);
  if (provider === undefined) throw new Error(`the matrix was opened without ${variant}`);
  const id = one.name.replaceAll("/", "-");
  const session = `${url}/v1/sessions/${id}`;
  const { thinking, mayOverflow } = variants[variant];
  const before = await provider.stats();
  const started = performance.now();
  const played = await runAgent({
    agent,
    baseURL: agent === "anthropic" ? `${session}/anthropic` : `${session}/openai/v1`,
    model: `${variant}/strict-1`,
    task: id,
    rounds,
    calls,
    stream,
    ...(thinking === undefined ? {} : { thinking }),
    ...options,
  });
  const ms = Math.round(performance.now() - started);
  const after = await provider.stats();
  const audit = (await (await fetch(`${session}/audit`)).json()) as { ok: boolean };
  const { branches } = (await (await fetch(`${session}/branches`)).json()) as {
    branches: { generation: number }[];
  };
  const input = after.inputTokens - before.inputTokens;
  return {
    name: one.name,
    rounds,
    ms,
    finished: played.finished,
    requests: played.requests,
    errors: played.errors.map(({ request, status, code, message }) =>
      [`request ${request}`, status, code, message].filter((word) => word !== undefined).join(" "),
    ),
    refusals: added(before.refusals, after.refusals),
    overflows: after.overflows - before.overflows,
    mayOverflow,
    repeated: after.rounds.repeated.filter(({ key }) => key.startsWith(`${id}#`)).length,
    largest: after.largestInput,
    cachedShare: input === 0 ? 0 : (after.cachedTokens - before.cachedTokens) / input,
    audit: audit.ok,
    branches: branches.length,
    generation: Math.max(0, ...branches.map(({ generation }) => generation)),
  };
}

function added(before: Record<string, number>, after: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).flatMap(([kind, times]) => {
      const more = times - (before[kind] ?? 0);
      return more === 0 ? [] : [[kind, more]];
    }),
  );
}

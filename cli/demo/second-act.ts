/**
 * The demo's second act: one agent loop against one provider with a small window, direct and through Plimsoll,
 * in one picture. The agent is the vendor's own client; between the two runs only its base URL changes.
 */
import { classifyRefusal } from "../../src/providers/overflow.ts";
import { type AgentError, type AgentName, type AgentResult, runAgent } from "../loop/agent.ts";
import type { Paper } from "../picture.ts";
import { drawSecondAct } from "./second-act-picture.ts";

export interface Address {
  /** Base URL as the vendor's client takes it: OpenAI's with `/v1`, Anthropic's without. */
  url: string;
  headers?: Record<string, string>;
  apiKey?: string;
  /** As this address names the model. Default `strict-1`. */
  model?: string;
}

export interface SecondActOptions {
  /** The provider itself. */
  direct: string | Address;
  /** The same provider through Plimsoll; without it only the direct half is played. */
  gateway?: Address;
  /** Default `openai-chat`. */
  agent?: AgentName;
  /** Of the provider, for the line in the picture. Default 32,000. */
  window?: number;
  /** Default 100 rounds of one call, streaming. */
  rounds?: number;
  calls?: number;
  stream?: boolean;
  paper?: Paper;
  /** Told of each answered step of either half. */
  onStep?: (half: "direct" | "gateway", step: number, tokens: number) => void;
}

export interface Half {
  finished: boolean;
  answer: string;
  /** Input tokens of each answered request, as the provider reported them. */
  tokens: number[];
  /** The error that ended the loop; `refusedTokens` is what the provider said the request had. */
  died?: AgentError & { refusedTokens?: number; overflow: boolean };
}

export interface SecondActResult {
  window: number;
  rounds: number;
  direct: Half;
  gateway?: Half;
  /** Lines of the picture, without line ends. */
  picture: string[];
}

/** Plays both halves, one after the other. Rejects only for what is no part of the play. */
export async function runSecondAct(options: SecondActOptions): Promise<SecondActResult> {
  const { window = 32_000, rounds = 100, paper = { width: 80, colour: false } } = options;
  const address = typeof options.direct === "string" ? { url: options.direct } : options.direct;
  const direct = await playHalf("direct", address, { ...options, rounds });
  const gateway =
    options.gateway === undefined
      ? undefined
      : await playHalf("gateway", options.gateway, { ...options, rounds });
  const result = { window, rounds, direct, ...(gateway === undefined ? {} : { gateway }) };
  return { ...result, picture: drawSecondAct(result, paper) };
}

async function playHalf(
  half: "direct" | "gateway",
  { url, headers, apiKey, model }: Address,
  { agent = "openai-chat", rounds = 100, calls = 1, stream = true, onStep }: SecondActOptions,
): Promise<Half> {
  const played = await runAgent({
    agent,
    baseURL: url,
    task: "second-act",
    rounds,
    calls,
    stream,
    ...(headers === undefined ? {} : { headers }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(model === undefined ? {} : { model }),
    onStep: ({ request, input }) => onStep?.(half, request, input),
  });
  return halfOf(played);
}

function halfOf({ finished, answer, inputs, errors: [error] }: AgentResult): Half {
  const half = { finished, answer, tokens: inputs };
  if (error === undefined) return half;
  const { status, code, message } = error;
  const judged = classifyRefusal({
    ...(status === undefined ? {} : { status }),
    body: JSON.stringify({ error: { message, code: code ?? null } }),
  });
  const overflow = judged.kind === "overflow";
  const tokens = overflow ? (judged.inputTokens ?? judged.tokens) : undefined;
  return {
    ...half,
    died: { ...error, overflow, ...(tokens === undefined ? {} : { refusedTokens: tokens }) },
  };
}

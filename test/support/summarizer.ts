/** A scripted writer of summaries for the engine in memory: no upstream, no clock of its own. */
import type { Ended, Invocation, Run, Summarizer } from "../../src/compaction/invocation.ts";
import { conclude, runCompaction } from "../../src/compaction/run.ts";
import { holds } from "../../src/compaction/transaction.ts";
import type { CallResult, Capacity, ModelReply } from "../../src/providers/provider.ts";
import { type Bed, entered, invocation, textOf } from "./engine.ts";

export const wrote = (text: string, changes: Partial<ModelReply> = {}): CallResult => {
  const usage = { input: 500, cacheRead: 400, cacheWrite: 0, output: 20 };
  const reply = {
    text,
    toolCalls: 0,
    finish: "stop" as const,
    finishReason: "stop",
    usage,
    requestId: "req_1",
  };
  return { ok: true, reply: { ...reply, model: "model-0001", ...changes }, ms: 5 };
};

type Failed = Extract<CallResult, { ok: false }>;
export const broke = (reason: Failed["reason"], retryable = false): CallResult => ({
  ok: false,
  reason,
  detail: "provider said so",
  retryable,
  ms: 5,
});

export interface Seen {
  text: string;
  body: Record<string, unknown>;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface Writer {
  summarizer: Summarizer;
  seen: Seen[];
}

type Answer = CallResult | (() => CallResult);

/** Answers call by call; beyond the script with a good summary. */
export function writer(script: readonly Answer[] = [], capacity: Capacity = {}): Writer {
  const seen: Seen[] = [];
  const upstream = {
    provider: "fake",
    model: "model",
    baseUrl: "https://llm.example/v1",
    dialect: "openai-chat" as const,
  };
  const model = {
    route: "fake/model",
    upstream,
    sameRoute: true,
    capacity,
    ratio: 1,
    envelope: { tokens: 0 },
  };
  const call: Extract<Summarizer, { kind: "model" }>["call"] = async (bytes, options) => {
    const text = textOf(bytes);
    seen.push({ text, body: JSON.parse(text) as Record<string, unknown>, ...options });
    const answer = script[seen.length - 1] ?? wrote("All is done as asked.");
    return typeof answer === "function" ? answer() : answer;
  };
  return { summarizer: { kind: "model", model, call, wait: () => Promise.resolve() }, seen };
}

export const byCode: Summarizer = { kind: "extractive" };

export interface Outcome {
  ended: Ended | undefined;
  run: Run;
}

/** One invocation from claim to release. `ended` is undefined when the claim was lost on the way. */
export function compacted(
  bed: Bed,
  summarizer: Summarizer,
  changes: Partial<Invocation> = {},
  entering: Parameters<typeof entered>[0] = {},
): Promise<Outcome> {
  const wanted = invocation(changes);
  return runCompaction(
    bed.ground,
    () => entered(entering),
    summarizer,
    wanted,
    (run) => ({
      run,
      ended: holds(bed.ground, wanted.compaction) ? conclude(run) : undefined,
    }),
  );
}

/** What a model and a provider may answer: good and bad summaries, failures, refusals with and without numbers. */
import type { CallResult, ModelReply } from "../../src/providers/provider.ts";
import type { OverflowReport } from "../../src/session/overflow.ts";
import { talks, words } from "../support/talk.ts";
import { routes } from "../support/world.ts";
import type { Deed, Request } from "./deeds.ts";

/** What a call of the summarizer ends with. Aborted calls end as cancelled, or with a reply that comes all the same. */
export function modelAnswer({ b, size, bits }: Deed, aborted: boolean, name: string): CallResult {
  const good = reply({ text: words(`Summary ${name}.`, 60 + size * 3) });
  if (aborted) return b % 2 === 0 ? failure("cancelled", false) : good;
  if (b < 55) return good;
  const bad: CallResult[] = [
    reply({ text: "" }),
    reply({ text: "   \n " }),
    reply({ text: "I call a tool", toolCalls: 1, finish: "tool", finishReason: "tool_calls" }),
    reply({ text: "cut in the mid", finish: "length", finishReason: "length" }),
    reply({ text: words(name, 40_000) }),
    reply({ text: "<summary></summary>" }),
    reply({ text: "no", finish: "filter", finishReason: "content_filter" }),
    failure("timeout", false),
    failure("network", true),
    failure("http", (bits & 1) === 0),
    failure("garbage", false),
    failure("overflow", false),
    failure("overflow", false),
    failure("rate-limit", false),
    failure("stream", true),
  ];
  return bad[b % bad.length]!;
}

function reply(changes: Partial<ModelReply>): CallResult {
  const usage = { input: 900, cacheRead: 0, cacheWrite: 0, output: 90 };
  const base: ModelReply = {
    text: "",
    toolCalls: 0,
    finish: "stop",
    finishReason: "stop",
    usage,
    model: "m-1",
  };
  return { ok: true, reply: { ...base, ...changes }, ms: 12 };
}

function failure(reason: Extract<CallResult, { ok: false }>["reason"], retryable: boolean): CallResult {
  return {
    ok: false,
    reason,
    detail: "it failed",
    retryable,
    ms: 7,
    ...(reason === "http" ? { status: 500 } : {}),
  };
}

/** What a harness reports of a request that weighs `counted`. */
export function overflowReport(
  { dialect, route }: Request,
  counted: number,
  { b, size }: Deed,
): Omit<OverflowReport, "branch" | "prepareId"> {
  const window = routes[route]?.window ?? 3_000;
  const limit = size % 3 === 0 ? Math.ceil(counted * 0.8) : window;
  const tokens = Math.max(limit + 1, Math.ceil(counted * (1 + (b % 5) / 10)));
  const say = (message: string, code?: string) => ({
    status: 400,
    body:
      dialect === "anthropic"
        ? { type: "error", error: { type: "invalid_request_error", message } }
        : { error: { message, type: "invalid_request_error", code: code ?? null } },
  });
  const numbers =
    dialect === "anthropic"
      ? `prompt is too long: ${tokens} tokens > ${limit} maximum`
      : `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens.`;
  const reports = [
    say(numbers, "context_length_exceeded"),
    say(numbers),
    say("prompt is too long", "context_length_exceeded"),
    say(`input length and \`max_tokens\` exceed context limit: ${counted} + 9000 > ${counted + 400}`),
    { status: 429, body: "rate limit" },
    { usage: talks[dialect].usage(window + 50, 0), finish: dialect === "anthropic" ? "end_turn" : "stop" },
    say("something else is wrong"),
  ];
  return reports[b % reports.length]!;
}

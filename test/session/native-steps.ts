/** Steps for the tests of `POST /steps`, and what a provider answers them with. */
import { overflowRefusal } from "../../cli/loop/checks.ts";
import type { Message, Pressure, Rig } from "../support/rig.ts";

export interface Stepped {
  stepId: string;
  head: number;
  generation: number;
  pressure: Pressure;
  finish: string | null;
  usage: Record<string, number> | null;
  seqs: number[];
  replySeqs: number[];
  reply: Message[];
  compaction: { id: string; outcome: string; tokensBefore: number; tokensAfter: number } | null;
}

export const step = (rig: Rig, body: object = {}) => rig.session.expect<Stepped>(200, "POST", "/steps", body);
export const enqueue = (rig: Rig, text: string) =>
  rig.session.expect<{ seq: number; waiting: number }>(202, "POST", "/messages", { text });
export const state = (rig: Rig) =>
  rig.session.expect<{ head: number; running: { kind: string; id: string }[] }>(200, "GET", "/");
/** A reply as the provider writes it whole; a streamed one has no empty fields. */
export const reply = (content: string) => ({ role: "assistant", content, refusal: null, annotations: [] });
export const sent = (rig: Rig, n: number) =>
  (rig.provider.requests[n]!.body as { messages: Message[] }).messages;
export const limited = (headers: Record<string, string>) => ({
  do: "refuse" as const,
  status: 429,
  body: { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } },
  headers,
});
export const unavailable = {
  do: "refuse" as const,
  status: 503,
  body: { error: { message: "Service unavailable" } },
  headers: { "retry-after": "0" },
};
export const tooLong = () => {
  const { status, body } = overflowRefusal("openai-chat", { limit: 5_000, input: 6_600 });
  return { do: "refuse" as const, status, body };
};

export async function until(fits: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await fits()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("it did not come to that");
}

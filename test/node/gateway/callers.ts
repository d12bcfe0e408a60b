/** What tests of the drop-in endpoints ask and read. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { json, type Through } from "./through.ts";

export interface Event {
  seq: number;
  type: string;
  branch: string;
  body: Record<string, unknown>;
}

export const user = (content: string) => ({ role: "user", content }) as const;
export const chat = "/openai/v1/chat/completions";
export const asking = (text: string, more: object = {}) => ({
  model: "strict-1",
  messages: [user(text)],
  ...more,
});

export function callers(of: () => Through) {
  const url = (session: string, path: string) => `${of().server.url}/v1/sessions/${session}${path}`;

  async function events(session: string): Promise<Event[]> {
    return (await json<{ events: Event[] }>(url(session, "/events?after=0"))).events;
  }

  async function types(session: string): Promise<string[]> {
    return (await events(session)).map(({ type }) => type);
  }

  function openai(session: string, more: object = {}): OpenAI {
    return new OpenAI({ baseURL: url(session, "/openai/v1"), apiKey: "x", maxRetries: 0, ...more });
  }

  function anthropic(session: string): Anthropic {
    return new Anthropic({ baseURL: url(session, "/anthropic"), apiKey: "x", maxRetries: 0 });
  }

  async function post(
    session: string,
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return await fetch(url(session, path), {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  }

  async function settle(session: string): Promise<void> {
    for (let n = 0; n < 100; n++) {
      const { running } = await json<{ running: unknown[] }>(url(session, "/"));
      if (running.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("something still runs");
  }
  return { url, events, types, openai, anthropic, post, settle };
}

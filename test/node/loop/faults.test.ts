/** What goes wrong at a provider, seen by the vendors' own clients; the books; the process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { runAgent } from "../../../cli/loop/agent.ts";
import type { ProviderStats } from "../../../cli/loop/provider-options.ts";
import { type Clients, withProvider } from "./clients.ts";

const task = "task=A rounds=2 calls=1";
const chat = ({ openai }: Clients, stream: boolean) =>
  stream
    ? openai.chat.completions
        .stream({ model: "m", messages: [{ role: "user", content: task }] })
        .finalMessage()
    : openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: task }] });
const claude = ({ anthropic }: Clients) =>
  anthropic.messages
    .stream({ model: "m", max_tokens: 500, messages: [{ role: "user", content: task }] })
    .finalMessage();
const codex = async ({ openai }: Clients) => {
  const types: string[] = [];
  for await (const event of await openai.responses.create({ model: "m", input: task, stream: true }))
    types.push(event.type);
  return types;
};

describe("faults", () => {
  it("are the vendor's own errors where the status says so", async () => {
    await withProvider({}, async (clients) => {
      clients.provider.will(
        { do: "status", status: 429 },
        { do: "status", status: 500 },
        { do: "status", status: 529, headers: { "retry-after": "3" } },
      );
      await expect(chat(clients, false)).rejects.toBeInstanceOf(OpenAI.RateLimitError);
      await expect(chat(clients, true)).rejects.toBeInstanceOf(OpenAI.InternalServerError);
      await expect(claude(clients)).rejects.toMatchObject({
        status: 529,
        error: { error: { type: "overloaded_error" } },
      });
      expect(clients.provider.stats()).toMatchObject({
        requests: 3,
        answered: 0,
        faults: { 429: 1, 500: 1, 529: 1 },
      });
    });
  });

  it("break streams in the middle, and nothing of them is billed", async () => {
    await withProvider({}, async (clients) => {
      const { provider } = clients;
      for (const broken of ["die", "cut"] as const) {
        provider.will({ do: broken }, { do: broken }, { do: broken });
        await expect(chat(clients, true)).rejects.toThrow();
        await expect(claude(clients)).rejects.toThrow();
        if (broken === "die") await expect(codex(clients)).rejects.toThrow();
        else expect(await codex(clients)).not.toContain("response.completed");
      }
      provider.will({ do: "garbage" }, { do: "die" });
      await expect(claude(clients)).rejects.toThrow();
      await expect(chat(clients, false)).rejects.toBeInstanceOf(OpenAI.APIConnectionError);
      expect(provider.stats()).toMatchObject({ answered: 0, faults: { die: 4, cut: 3, garbage: 1 } });
    });
  });

  it("are errors inside a stream that began well", async () => {
    await withProvider({}, async (clients) => {
      clients.provider.will(
        { do: "error-event" },
        { do: "error-event" },
        { do: "error-event", overflow: true },
      );
      await expect(chat(clients, true)).rejects.toThrow("Overloaded");
      await expect(claude(clients)).rejects.toBeInstanceOf(Anthropic.APIError);
      await expect(codex(clients)).rejects.toMatchObject({ code: "context_length_exceeded" });
    });
  });

  it("are answers that never come, or come late", async () => {
    await withProvider({}, async (clients) => {
      const { openai, provider } = clients;
      provider.will({ do: "hang" }, { do: "stall" }, { do: "slow", everyMs: 2 });
      const request = { model: "m", messages: [{ role: "user" as const, content: task }] };
      await expect(openai.chat.completions.create(request, { timeout: 50 })).rejects.toBeInstanceOf(
        OpenAI.APIConnectionTimeoutError,
      );
      const controller = new AbortController();
      const stalled = openai.chat.completions.stream(request, { signal: controller.signal });
      setTimeout(() => controller.abort(), 50);
      await expect(stalled.finalMessage()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
      const began = performance.now();
      expect(await claude(clients)).toMatchObject({ stop_reason: "tool_use" });
      expect(performance.now() - began).toBeGreaterThan(10);
    });
  });

  it("are counted as left when the client leaves a slow stream", async () => {
    await withProvider({}, async ({ openai, provider }) => {
      provider.will({ do: "slow", everyMs: 20 });
      const stream = await openai.chat.completions.create({
        model: "m",
        messages: [{ role: "user", content: task }],
        stream: true,
      });
      for await (const _ of stream) break;
      await expect.poll(() => provider.stats().abandoned).toBe(1);
      expect(provider.stats().answered).toBe(0);
    });
  });

  it("are retried by the client, and the loop ends with every round billed once", async () => {
    const faultEvery = {
      every: 3,
      fault: { do: "status", status: 503, headers: { "retry-after-ms": "1" } },
    } as const;
    await withProvider({ faultEvery }, async ({ provider }) => {
      const played = await runAgent({
        agent: "anthropic",
        baseURL: provider.anthropic,
        rounds: 10,
        retries: 3,
      });
      expect(played).toMatchObject({ finished: true, requests: 11, errors: [] });
      expect(provider.stats()).toMatchObject({
        answered: 11,
        rounds: { distinct: 11, repeated: [] },
        faults: { 503: 5 },
      });
    });
  });

  it("are asked for per request", async () => {
    const seen: string[] = [];
    await withProvider(
      {
        fault: ({ nth, dialect, body }) => {
          seen.push(`${nth} ${dialect} ${String(body.model)}`);
          return nth === 1 ? { do: "status", status: 500 } : undefined;
        },
      },
      async (clients) => {
        await expect(chat(clients, false)).rejects.toMatchObject({ status: 500 });
        await expect(claude(clients)).resolves.toMatchObject({ stop_reason: "tool_use" });
        expect(seen).toEqual(["1 openai-chat m", "2 anthropic m"]);
      },
    );
  });
});

describe("the provider as a process", () => {
  const main = fileURLToPath(new URL("../../../cli/loop/provider-main.ts", import.meta.url));

  it("says where it listens, takes its window and faults, shows its books and ends when told", async () => {
    const args = ["--window", "9000", "--model", "tiny=50", "--density", "1.6"];
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [line] = (await once(createInterface(child.stdout), "line")) as [string];
      const { url, openai, port } = JSON.parse(line) as { url: string; openai: string; port: number };
      expect(url).toBe(`http://127.0.0.1:${port}`);
      const faults = [{ do: "status", status: 500 }];
      await fetch(`${url}/faults`, { method: "POST", body: JSON.stringify(faults) });
      const tiny = await runAgent({
        agent: "openai-chat",
        baseURL: openai,
        model: "tiny",
        retries: 1,
        rounds: 3,
      });
      expect(tiny.errors).toMatchObject([{ request: 1, code: "context_length_exceeded" }]);
      const played = await runAgent({
        agent: "openai-chat",
        baseURL: openai,
        rounds: 3,
        sizes: [[1, 50, 90]],
      });
      expect(played.finished).toBe(true);
      const stats = (await (await fetch(`${url}/stats`)).json()) as ProviderStats;
      expect(stats).toMatchObject({ requests: 6, answered: 4, overflows: 1, faults: { 500: 1 } });
    } finally {
      child.kill("SIGTERM");
    }
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

/**
 * What the gateway adds to a warm step: the same growing conversation is sent directly, through another gateway without state, and through
 * Plimsoll, in turn, so that all see the same machine. The provider and both gateways run in processes of their own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startBareWorker } from "./bare-worker.ts";

const ROUNDS = 60;
const WARM = 10;
const window = 1_000_000;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

interface Target {
  name: string;
  url: string;
  headers: Record<string, string>;
}

async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

async function answering(url: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (answered) return;
    await sleep(50);
  }
  throw new Error(`nothing answers at ${url}`);
}

function start(file: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [path(file), ...args], { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

interface Asked {
  /** Milliseconds until the first byte of the body and until its end. */
  first: number;
  whole: number;
  /** What the model said. */
  said: string;
}

async function ask(target: Target, body: string): Promise<Asked> {
  const began = performance.now();
  const response = await fetch(target.url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer x", ...target.headers },
    body,
  });
  if (!response.ok) throw new Error(`${target.name}: ${response.status} ${await response.text()}`);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  const begin = await reader.read();
  const first = performance.now() - began;
  let text = "";
  for (let part = begin; !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
  }
  return { first, whole: performance.now() - began, said: saidIn(text) };
}

interface Completion {
  choices: { message?: { content: string }; delta?: { content?: string } }[];
}

/** The words of a reply, from a whole answer or from the chunks of a stream. */
function saidIn(text: string): string {
  if (!text.startsWith("data:")) return (JSON.parse(text) as Completion).choices[0]?.message?.content ?? "";
  return text
    .split("\n")
    .filter((line) => line.startsWith("data:") && !line.includes("[DONE]"))
    .map((line) => (JSON.parse(line.slice(5)) as Completion).choices[0]?.delta?.content ?? "")
    .join("");
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
}

const words = "The build fails in the linker; the log names a symbol that two objects define. ";

/** An agent's conversation: it grows by the reply that was given, and by what the agent says next. */
class Conversation {
  private readonly messages: object[] = [];

  constructor(start: number) {
    for (let n = 0; n < start / 2; n++) this.add(`${n}: ${words.repeat(6)}`, `${n}: ${words.repeat(3)}`);
  }

  add(user: string, assistant: string): void {
    this.messages.push({ role: "user", content: user }, { role: "assistant", content: assistant });
  }

  body(next: string, stream: boolean): string {
    return JSON.stringify({
      model: "strict-1",
      stream,
      messages: [...this.messages, { role: "user", content: next }],
    });
  }
}

/** A conversation of so many messages, then one more exchange each round, as an agent re-sends it. */
async function compare(targets: readonly Target[], start: number, stream: boolean): Promise<void> {
  const taken = new Map(targets.map(({ name }) => [name, { first: [] as number[], whole: [] as number[] }]));
  const lines = new Map(targets.map(({ name }) => [name, new Conversation(start)]));
  const failing = new Map<string, string>();
  for (let round = 0; round < WARM + ROUNDS; round++) {
    const next = `${round}: ${words.repeat(6)}`;
    // Whoever goes first changes from round to round.
    for (let n = 0; n < targets.length; n++) {
      const target = targets[(round + n) % targets.length]!;
      if (failing.has(target.name)) continue;
      const line = lines.get(target.name)!;
      const asked = await ask(target, line.body(next, stream)).catch((error: unknown) => {
        failing.set(target.name, String(error));
      });
      if (asked === undefined) continue;
      line.add(next, asked.said);
      if (round < WARM) continue;
      taken.get(target.name)!.first.push(asked.first);
      taken.get(target.name)!.whole.push(asked.whole);
    }
  }
  const direct = taken.get(targets[0]!.name)!;
  for (const [name, why] of failing) console.log(`${name} does not take part: ${why.slice(0, 200)}`);
  const taking = targets.filter(({ name }) => !failing.has(name));
  const rows = taking.map(({ name }) => {
    const { first, whole } = taken.get(name)!;
    const added = (a: readonly number[], b: readonly number[]) =>
      (quantile(a, 0.5) - quantile(b, 0.5)).toFixed(2);
    return {
      through: name,
      "p50, ms": quantile(whole, 0.5).toFixed(2),
      "p95, ms": quantile(whole, 0.95).toFixed(2),
      "added, p50": added(whole, direct.whole),
      "first byte p50": quantile(first, 0.5).toFixed(2),
      "first byte added": added(first, direct.first),
    };
  });
  console.log(`\n${start} messages and more, ${stream ? "streaming" : "not streaming"}`);
  console.table(rows);
}

const providerPort = await freePort();
const portkeyPort = await freePort();
const provider = start(
  "../cli/loop/provider-main.ts",
  "--port",
  String(providerPort),
  "--window",
  String(window),
);
const portkey = start(
  "../node_modules/@portkey-ai/gateway/build/start-server.js",
  "--headless",
  `--port=${portkeyPort}`,
);
const base = `http://127.0.0.1:${providerPort}/openai/v1`;
const server = startBareWorker(await freePort(), {
  DEV_OPEN: "1",
  PROVIDERS: JSON.stringify({ openai: { baseUrl: base, dialects: ["openai-chat"] } }),
  ROUTES: JSON.stringify({ "openai/strict-1": { window } }),
});
try {
  await answering(`http://127.0.0.1:${providerPort}/stats`);
  await answering(`http://127.0.0.1:${portkeyPort}/`);
  await answering(`${server.url}/healthz`);
  for (const [start, stream] of [
    [4, false],
    [4, true],
    [200, false],
    [200, true],
  ] as const) {
    const session = `bench-${start}-${stream}`;
    await compare(
      [
        { name: "direct", url: `${base}/chat/completions`, headers: {} },
        {
          name: "portkey",
          url: `http://127.0.0.1:${portkeyPort}/v1/chat/completions`,
          headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": base },
        },
        {
          name: "plimsoll",
          url: `${server.url}/v1/sessions/${session}/openai/v1/chat/completions`,
          headers: {},
        },
      ],
      start,
      stream,
    );
  }
} finally {
  server.stop();
  provider.kill();
  portkey.kill();
}

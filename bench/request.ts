/** What it costs to read a re-sent history of 2,000 messages and 5 MB, and to edit it: ratios to `JSON.parse` of the same body. */
import { createHash } from "node:crypto";
import { prefixOf, readRequest } from "../src/dialects/request/read.ts";
import { upstreamBody } from "../src/dialects/request/upstream.ts";
import type { WireDialect } from "../src/dialects/wire.ts";

const MESSAGES = 2_000;
const BYTES = 5_000_000;
const ROUNDS = 15;

/** Code and prose with the escapes that such texts have. */
function words(size: number, seed: number): string {
  const line = `  const total${seed} = rows.filter((row) => row.name !== "x\\n").length; // größer als nötig\n`;
  return line.repeat(Math.ceil(size / line.length)).slice(0, size);
}

function conversation(dialect: WireDialect): Uint8Array {
  const size = Math.floor((BYTES / MESSAGES) * 0.87); // what quotes, escapes and members add
  const messages = Array.from({ length: MESSAGES }, (_, n) => {
    const text = words(size, n);
    const role = n % 2 === 0 ? "user" : "assistant";
    if (dialect === "anthropic") return { role, content: [{ type: "text", text }] };
    if (dialect === "openai-chat") return { role, content: text };
    return { type: "message", role, content: [{ type: n % 2 === 0 ? "input_text" : "output_text", text }] };
  });
  const tools = Array.from({ length: 20 }, (_, n) => ({ name: `tool${n}`, description: words(600, n) }));
  const list = dialect === "openai-responses" ? { input: messages } : { messages };
  return new TextEncoder().encode(
    JSON.stringify({ model: "m", max_tokens: 4_096, ...list, tools, stream: true }),
  );
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Rounds alternate between the runs, so that all see the same machine; the first warms up. */
function timed<K extends string>(runs: Record<K, () => unknown>): Record<K, number> {
  const names = Object.keys(runs) as K[];
  const times = new Map<K, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const from = performance.now();
      runs[name]();
      if (round > 0) times.get(name)?.push(performance.now() - from);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<K, number>;
}

function row(dialect: WireDialect): Record<string, string | number> {
  const body = conversation(dialect);
  const text = new TextDecoder().decode(body);
  const whole = readRequest(dialect, body);
  const known = prefixOf(whole, MESSAGES - 2);
  if (known === undefined) throw new Error("there is no prefix to go on behind");
  const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const kept = digest(body.subarray(0, known.bytes));
  const ms = timed({
    parse: () => JSON.parse(text),
    whole: () => readRequest(dialect, body),
    behind: () => {
      if (digest(body.subarray(0, known.bytes)) !== kept) throw new Error("the prefix has changed");
      return readRequest(dialect, body, known);
    },
    edit: () => upstreamBody(whole, { model: "other", messages: undefined }),
  });
  return {
    dialect,
    MB: (body.byteLength / 1e6).toFixed(1),
    "JSON.parse, ms": ms.parse.toFixed(1),
    "read whole, ratio": (ms.whole / ms.parse).toFixed(2),
    "hash and read behind the prefix, ratio": (ms.behind / ms.parse).toFixed(2),
    goal: "at most 1.5",
    "edit, ratio": (ms.edit / ms.parse).toFixed(2),
  };
}

console.log("\nA re-sent request");
console.table((["openai-chat", "openai-responses", "anthropic"] as const).map(row));

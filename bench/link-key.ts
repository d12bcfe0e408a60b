/**
 * What it costs to know a whole re-sent history by its keys: 2,000 messages, 5 MB, every message canonicalised and linked, against
 * `JSON.parse` of the same body: of its bytes, as it arrives, and of a text that is already decoded.
 */
import { contentKey, linkKey } from "../src/dialects/link-key.ts";
import type { WireDialect } from "../src/dialects/wire.ts";
import { elements, locate } from "../src/log/scanner.ts";

const messages = 2_000;
const megabytes = 5;
const rounds = 15;

/** Prose, code with its line breaks and quotes, and text beyond ASCII, as tool results have them. */
const samples = [
  "The deploy of the service failed twice this week, once because the migration held a lock and once for memory. ",
  'export function read(path: string): string {\n\tconst text = readFileSync(path, "utf8");\n\treturn text.replace(/\\r\\n/g, "\\n");\n}\n',
  "東京の船は載貨線を守る。Größe ≤ 12 µm — naïve café. 🚢\n",
];

function text(seed: number, size: number): string {
  const sample = samples[seed % samples.length]!;
  return sample.repeat(Math.ceil(size / sample.length)).slice(0, size);
}

const args = (i: number, size: number) => ({
  path: `src/file-${i}.ts`,
  limit: i,
  content: text(i + 1, size),
  options: { deep: [1, 2.5, null] },
});

/** Four messages of a tool loop: a question, a call, its result, an answer. `size` is about the bytes of each. */
const turns: Record<WireDialect, (i: number, size: number) => object[]> = {
  "openai-chat": (i, size) => [
    { role: "user", content: [{ type: "text", text: text(i, size) }] },
    {
      role: "assistant",
      content: null,
      refusal: null,
      annotations: [],
      tool_calls: [
        {
          id: `call_${i}`,
          type: "function",
          function: { name: "write", arguments: JSON.stringify(args(i, size)) },
        },
      ],
    },
    { role: "tool", tool_call_id: `call_${i}`, content: text(i + 1, size) },
    { role: "assistant", content: text(i + 2, size), refusal: null, annotations: [] },
  ],
  "openai-responses": (i, size) => [
    { role: "user", content: [{ type: "input_text", text: text(i, size) }] },
    {
      type: "function_call",
      id: `fc_${i}`,
      call_id: `call_${i}`,
      name: "write",
      arguments: JSON.stringify(args(i, size)),
      status: "completed",
    },
    { type: "function_call_output", call_id: `call_${i}`, output: text(i + 1, size) },
    {
      type: "message",
      id: `msg_${i}`,
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: text(i + 2, size), annotations: [], logprobs: [] }],
    },
  ],
  anthropic: (i, size) => [
    { role: "user", content: text(i, size) },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: text(i, size / 4), signature: "x".repeat(300) },
        { type: "tool_use", id: `toolu_${i}`, name: "write", input: args(i, size) },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: `toolu_${i}`,
          content: [{ type: "text", text: text(i + 1, size) }],
        },
      ],
    },
    {
      role: "assistant",
      content: [{ type: "text", text: text(i + 2, size), cache_control: { type: "ephemeral" } }],
    },
  ],
};

function bodyOf(dialect: WireDialect): string {
  const list = dialect === "openai-responses" ? "input" : "messages";
  const build = (size: number) =>
    JSON.stringify({
      model: "m",
      [list]: Array.from({ length: messages / 4 }, (_, i) => turns[dialect](i, size)).flat(),
    });
  const probe = Buffer.byteLength(build(1_000));
  return build(Math.round((1_000 * megabytes * 1e6) / probe));
}

function keys(dialect: WireDialect, body: Uint8Array): string {
  const list = locate(body, [dialect === "openai-responses" ? "input" : "messages"])!;
  let parent = "";
  for (const { start, end } of elements(body, list.start)) {
    parent = linkKey(parent, contentKey(dialect, body.subarray(start, end)));
  }
  return parent;
}

/** The median of some rounds, in milliseconds. */
function median(work: () => void): number {
  work();
  work();
  const times = Array.from({ length: rounds }, () => {
    const from = performance.now();
    work();
    return performance.now() - from;
  });
  return times.sort((a, b) => a - b)[rounds >> 1]!;
}

for (const dialect of Object.keys(turns) as WireDialect[]) {
  const json = bodyOf(dialect);
  const body = Buffer.from(json);
  const parsing = median(() => void JSON.parse(json));
  const decoding = median(() => void JSON.parse(body.toString("utf8")));
  const keying = median(() => void keys(dialect, body));
  const against = (ms: number) => `${ms.toFixed(1)} ms (ratio ${(keying / ms).toFixed(2)})`;
  console.log(
    `${dialect.padEnd(16)} ${messages} messages, ${(body.length / 1e6).toFixed(1)} MB: keys ${keying.toFixed(1)} ms, ` +
      `JSON.parse of the bytes ${against(decoding)}, of a text already decoded ${against(parsing)}`,
  );
}

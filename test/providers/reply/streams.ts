/** Streams and replies as tests write them, in the three dialects. */
import fc from "fast-check";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { createAssembler } from "../../../src/providers/reply/assemble.ts";
import { FrameSplitter } from "../../../src/providers/reply/frames.ts";
import type { Meaning, Reply, StoredReply } from "../../../src/providers/reply/reply.ts";
import { text, utf8 } from "../../log/json-text.ts";

/** A frame of a value: named after its `type` where it has one. Text is the data as it stands. */
export function sse(value: unknown): Uint8Array {
  if (typeof value === "string") return utf8(`data: ${value}\n\n`);
  const { type } = value as { type?: unknown };
  const name = typeof type === "string" ? `event: ${type}\n` : "";
  return utf8(`${name}data: ${JSON.stringify(value)}\n\n`);
}

export interface Run {
  kinds: Meaning["kind"][];
  meanings: Meaning[];
  reply: Reply;
  /** How many frames there were when the provider had said its last word. */
  doneAfter: number | undefined;
  /** The messages of all choices as text. */
  messages: string[];
}

export function run(dialect: WireDialect, values: readonly unknown[], n = 1): Run {
  return runFrames(dialect, values.map(sse), n);
}

export function runFrames(dialect: WireDialect, frames: readonly Uint8Array[], n = 1): Run {
  const assembler = createAssembler(dialect, n);
  let doneAfter: number | undefined;
  const meanings = frames.map((frame, i) => {
    const meaning = assembler.push(frame);
    if (assembler.done) doneAfter ??= i + 1;
    return meaning;
  });
  const reply = assembler.reply();
  return { kinds: meanings.map(({ kind }) => kind), meanings, reply, doneAfter, messages: messagesOf(reply) };
}

export function messagesOf(reply: Reply): string[] {
  return reply.choices.flatMap((choice) => choice.messages.map(text));
}

/** The one message of a reply, decoded. */
export function onlyMessage({ messages }: Run): unknown {
  if (messages.length !== 1) throw new Error(`${messages.length} messages`);
  return JSON.parse(messages[0]!);
}

/** Cuts bytes at these places, in any order, and splits what comes out into frames. */
export function framesOf(bytes: Uint8Array, cuts: readonly number[] = []): Uint8Array[] {
  const splitter = new FrameSplitter();
  const places = [...cuts, bytes.length].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
  let from = 0;
  const frames = [...places, bytes.length].flatMap((to) => {
    const part = splitter.push(bytes.slice(from, to));
    from = to;
    return part;
  });
  return [...frames, ...splitter.end()];
}

/** A chat chunk of one choice. */
export function delta(value: object, finish: string | null = null, index = 0): object {
  return {
    id: "chatcmpl-1",
    created: 7,
    model: "m-1",
    choices: [{ index, delta: value, finish_reason: finish }],
  };
}

/** Events of Anthropic blocks, from `message_start` to `message_stop`. */
export function claudeStream(
  blocks: readonly (readonly [block: object, ...deltas: object[]])[],
  stop_reason = "end_turn",
): object[] {
  return [
    {
      type: "message_start",
      message: { id: "msg_1", model: "c-1", usage: { input_tokens: 7, output_tokens: 1 } },
    },
    ...blocks.flatMap(([content_block, ...deltas], index) => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: "message_stop" },
  ];
}

const words = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("\n\n", "data: x\r\n", "\u2028", '"\\"', "日本語 👍🏽", "{}"),
);
const speech = words.map((value) => `a${value}`);
const name = fc.stringMatching(/^[a-z_]{1,8}$/);
const args = fc.oneof(fc.dictionary(name, fc.oneof(words, fc.integer())), fc.constant({}));
const calls = fc.array(fc.record({ name, args }), { maxLength: 3 });

const chatMessage = fc
  .record({
    content: fc.option(speech),
    refusal: fc.option(speech),
    reasoning_content: fc.option(words, { nil: undefined }),
    reasoning_details: fc.option(
      fc.array(fc.record({ type: fc.constant("reasoning.text"), text: words }), {
        minLength: 1,
        maxLength: 2,
      }),
      { nil: undefined },
    ),
    calls,
  })
  .filter(({ content, refusal, calls }) => content !== null || refusal !== null || calls.length > 0)
  .map(({ content, refusal, reasoning_content, reasoning_details, calls }) => ({
    role: "assistant",
    content,
    ...(refusal === null ? {} : { refusal }),
    ...(reasoning_content === undefined ? {} : { reasoning_content }),
    ...(reasoning_details === undefined ? {} : { reasoning_details }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call, i) => ({
            id: `call_${i}`,
            type: "function",
            function: { name: call.name, arguments: JSON.stringify(call.args) },
          })),
        }),
  }));

const claudeBlock = fc.oneof(
  speech.map((value) => ({ type: "text", text: value })),
  speech.map((value) => ({
    type: "text",
    text: value,
    citations: [{ type: "char_location", cited_text: "x" }],
  })),
  fc.record({ type: fc.constant("thinking"), thinking: words, signature: words }),
  fc.record({ type: fc.constant("redacted_thinking"), data: speech }),
  fc.constant({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ url: "u" }] }),
  fc.record({ type: fc.constant("server_tool_use"), id: fc.constant("srvtoolu_1"), name, input: args }),
);
const claudeMessage = fc
  .record({ blocks: fc.array(claudeBlock, { maxLength: 4 }), last: speech, calls })
  .map(({ blocks, last, calls }) => ({
    role: "assistant",
    content: [
      ...blocks,
      { type: "text", text: last },
      ...calls.map((call, i) => ({ type: "tool_use", id: `toolu_${i}`, name: call.name, input: call.args })),
    ],
  }));

const message = fc.record({
  type: fc.constant("message"),
  id: fc.constant("msg_1"),
  role: fc.constant("assistant"),
  status: fc.constant("completed"),
  content: fc.array(
    fc.oneof(
      speech.map((value) => ({ type: "output_text", text: value, annotations: [] })),
      speech.map((refusal) => ({ type: "refusal", refusal })),
    ),
    { minLength: 1, maxLength: 2 },
  ),
});
const reasoning = fc.record({
  type: fc.constant("reasoning"),
  id: fc.constant("rs_1"),
  summary: fc.array(
    words.map((value) => ({ type: "summary_text", text: value })),
    { maxLength: 2 },
  ),
  encrypted_content: words,
});
const items = fc
  .record({ reasoning: fc.option(reasoning), message: fc.option(message), calls })
  .map(({ reasoning, message, calls }) => [
    ...(reasoning === null ? [] : [reasoning]),
    ...(message === null ? [] : [message]),
    ...calls.map((call, i) => ({
      type: "function_call",
      id: `fc_${i}`,
      call_id: `call_${i}`,
      status: "completed",
      name: call.name,
      arguments: JSON.stringify(call.args),
    })),
  ])
  .filter((list) => list.some(({ type }) => type !== "reasoning"));

const usages = {
  "openai-chat": { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  anthropic: { input_tokens: 5, output_tokens: 2 },
  "openai-responses": { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
};

/** Any reply of a dialect. */
export function anyReply(dialect: WireDialect): fc.Arbitrary<StoredReply & Reply> {
  const finish = { "openai-chat": "stop", anthropic: "end_turn", "openai-responses": "completed" }[dialect];
  const reply = (choices: unknown[][]): StoredReply & Reply => ({
    choices: choices.map((list, index) => ({ index, messages: list.map(utf8), finish })),
    usage: usages[dialect],
    finish,
    model: "m-1",
    id: "id_1",
    ...(dialect === "anthropic" ? {} : { created: 7 }),
    usable: true,
  });
  if (dialect === "anthropic") return claudeMessage.map((one) => reply([[one]]));
  if (dialect === "openai-responses") return items.map((list) => reply([list]));
  return fc.array(chatMessage, { minLength: 1, maxLength: 3 }).map((list) => reply(list.map((one) => [one])));
}

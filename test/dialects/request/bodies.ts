/** Request bodies as clients may write them: any order of members, any whitespace, escapes that need not be. */
import fc from "fast-check";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { wireDialects } from "../../../src/dialects/wire.ts";

export const listKey = {
  "openai-chat": "messages",
  "openai-responses": "input",
  anthropic: "messages",
} as const;

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const word = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("", "👍🏽", '"}],{[', "\\", '\\\\"', "日本", "cache_control", "\u0000"),
);

function textBlock(text: string): Json {
  return { type: "text", text };
}

const chatMessage: fc.Arbitrary<Json> = fc.oneof(
  word.map((content) => ({ role: "user", content })),
  word.map((content) => ({ content, role: "assistant" })),
  word.map((content) => ({ role: "user", content: [textBlock(content)] })),
  fc.tuple(word, word).map(([id, args]) => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name: "f", arguments: args } }],
  })),
);

const item: fc.Arbitrary<Json> = fc.oneof(
  word.map((text) => ({ role: "user", content: text })),
  word.map((text) => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] })),
  word.map((call_id) => ({ type: "function_call_output", call_id, output: "x" })),
  word.map((encrypted_content) => ({ type: "reasoning", summary: [], encrypted_content })),
);

const mark = fc.constantFrom<Json>({ type: "ephemeral" }, { ttl: "1h", type: "ephemeral" });
const marked: fc.Arbitrary<Json> = fc
  .tuple(word, fc.option(mark))
  .map(([text, cache_control]) => ({ type: "text", text, ...(cache_control && { cache_control }) }));
const claude: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ role: fc.constantFrom("user", "assistant"), content: word }),
  fc.record({ role: fc.constantFrom("user", "assistant"), content: fc.array(marked, { maxLength: 3 }) }),
  word.map((thinking) => ({ role: "assistant", content: [{ type: "thinking", thinking, signature: "s" }] })),
);

const leading: fc.Arbitrary<Json> = fc.record({
  role: fc.constantFrom("system", "developer"),
  content: word,
});
const messageOf = { "openai-chat": chatMessage, "openai-responses": item, anthropic: claude };

/** A request as a value, its members in any order. */
export interface Asked {
  dialect: WireDialect;
  leading: Json[];
  messages: Json[];
  members: [string, Json][];
}

const others: Record<string, fc.Arbitrary<Json>> = {
  stream: fc.boolean(),
  temperature: fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x)),
  tools: fc.array(
    word.map((name) => ({ name, input_schema: { type: "object" } })),
    { maxLength: 2 },
  ),
  metadata: fc.constantFrom<Json>({ user_id: "u" }, {}, null),
  stream_options: fc.constantFrom<Json>(
    null,
    {},
    { include_usage: false },
    { include_usage: true, more: [1] },
  ),
  max_tokens: fc.constantFrom<Json>(null, 1, 4_096, 100_000),
  max_completion_tokens: fc.constantFrom<Json>(null, 1, 4_096, 100_000),
  max_output_tokens: fc.constantFrom<Json>(null, 1, 4_096),
  system: fc.oneof<fc.Arbitrary<Json>[]>(word, fc.array(marked, { minLength: 1, maxLength: 2 })),
  prompt_cache_key: fc.constantFrom<Json>(null, "own"),
  "ключ \u0001": fc.constant<Json>([[], {}, [{}]]),
};

export const asked: fc.Arbitrary<Asked> = fc.constantFrom(...wireDialects).chain((dialect) =>
  fc
    .record({
      leading: dialect === "anthropic" ? fc.constant<Json[]>([]) : fc.array(leading, { maxLength: 2 }),
      messages: fc.array(messageOf[dialect], { maxLength: 6 }),
      model: fc.string({ minLength: 1, maxLength: 12 }),
      more: fc
        .subarray(Object.keys(others))
        .chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, others[key]!])))),
      seed: fc.array(fc.nat(), { minLength: 16, maxLength: 16 }),
    })
    .map(({ leading, messages, model, more, seed }) => {
      const members: [string, Json][] = [
        ["model", model],
        [listKey[dialect], [...leading, ...messages]],
        ...(Object.entries(more) as [string, Json][]),
      ];
      const order = members.map((member, i) => [seed[i] ?? 0, member] as const).sort((a, b) => a[0] - b[0]);
      return { dialect, leading, messages, members: order.map(([, member]) => member) };
    }),
);

/** Draws of whitespace and escapes, used over and over. */
export const style: fc.Arbitrary<number[]> = fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 40 });

/** Writes a value so: a style is a list of choices, each token takes the next. */
export function written(members: readonly [string, Json][], choices: readonly number[]): string {
  let n = 0;
  const next = (): number => choices[n++ % choices.length]!;
  const space = (): string => ["", "", "", "", " ", "\n", "\t ", "\r\n", "", "", "", " "][next()]!;
  const text = (value: string): string => {
    const plain = JSON.stringify(value);
    if (next() % 3 > 0) return plain;
    return plain
      .replaceAll("/", "\\/")
      .replace(/^"([a-z])/, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`);
  };
  const value = (given: Json): string => {
    if (typeof given === "string") return text(given);
    if (Array.isArray(given))
      return list(
        "[",
        given.map((each) => () => value(each)),
        "]",
      );
    if (typeof given === "object" && given !== null) return object(Object.entries(given));
    return JSON.stringify(given);
  };
  const list = (open: string, items: (() => string)[], close: string): string =>
    `${open}${items.map((item) => space() + item() + space()).join(",") || space()}${close}`;
  const object = (entries: readonly [string, Json][]): string =>
    list(
      "{",
      entries.map(
        ([key, of]) =>
          () =>
            `${text(key)}${space()}:${space()}${value(of)}`,
      ),
      "}",
    );
  return space() + object(members) + space();
}

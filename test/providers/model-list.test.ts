import { describe, expect, it } from "vitest";
import { MOST_MODELS, readModelList } from "../../src/providers/model-list.ts";

const read = (list: unknown) => {
  const models = readModelList(list);
  return models && Object.fromEntries(models);
};
const only = (entry: object) => read({ data: [{ id: "m", ...entry }] })?.m;

describe("a provider's own list", () => {
  it.each([
    [
      "Anthropic's, whose input is the whole window",
      {
        data: [
          {
            type: "model",
            id: "claude-x",
            display_name: "X",
            max_input_tokens: 1_000_000,
            max_tokens: 128_000,
          },
          { type: "model", id: "claude-old", display_name: "Old", max_input_tokens: null, max_tokens: null },
        ],
        has_more: false,
        first_id: "claude-x",
        last_id: "claude-old",
      },
      { "claude-x": { window: 1_000_000, maxOutput: 128_000 } },
    ],
    [
      "OpenRouter's, of two windows the lower",
      {
        data: [
          {
            id: "a/narrow",
            context_length: 262_144,
            top_provider: { context_length: 131_072, max_completion_tokens: 16_384, is_moderated: false },
          },
          {
            id: "a/wide",
            context_length: 65_536,
            top_provider: { context_length: 131_072, max_completion_tokens: null },
          },
          { id: "a/bare", context_length: 8_192, top_provider: { context_length: null } },
        ],
      },
      {
        "a/narrow": { window: 131_072, maxOutput: 16_384 },
        "a/wide": { window: 65_536 },
        "a/bare": { window: 8_192 },
      },
    ],
    [
      "Groq's",
      {
        object: "list",
        data: [
          {
            id: "o/g",
            object: "model",
            active: true,
            context_window: 131_072,
            max_completion_tokens: 65_536,
          },
        ],
      },
      { "o/g": { window: 131_072, maxOutput: 65_536 } },
    ],
    [
      "vLLM's, with an adapter that states nothing",
      {
        object: "list",
        data: [
          { id: "q/local", object: "model", owned_by: "vllm", root: "q/local", max_model_len: 40_960 },
          { id: "adapter", object: "model", parent: "q/local", max_model_len: null },
        ],
      },
      { "q/local": { window: 40_960 } },
    ],
    [
      "Mistral's",
      { object: "list", data: [{ id: "mi", max_context_length: 32_768, capabilities: { vision: false } }] },
      { mi: { window: 32_768 } },
    ],
    [
      "Together's, a bare array",
      [
        { id: "t/chat", type: "chat", context_length: 131_072 },
        { id: "t/image", type: "image", context_length: 0 },
      ],
      { "t/chat": { window: 131_072 } },
    ],
    [
      "OpenAI's, which states none",
      { object: "list", data: [{ id: "gpt-5", object: "model", created: 1, owned_by: "openai" }] },
      {},
    ],
    [
      "Plimsoll's own, behind another one",
      { object: "list", data: [{ id: "p", context_window: 32_000, max_output_tokens: 4_000 }] },
      { p: { window: 32_000, maxOutput: 4_000 } },
    ],
  ])("[V47] is read: %s", (_, list, models) => {
    expect(read(list)).toEqual(models);
  });

  it("[V47] an input limit beside a window is one, unless it says nothing more", () => {
    expect(only({ context_length: 400_000, max_input_tokens: 272_000 })).toEqual({
      window: 400_000,
      inputLimit: 272_000,
    });
    expect(only({ context_length: 400_000, max_input_tokens: 400_000 })).toEqual({ window: 400_000 });
  });

  it("[V47] `max_tokens` counts only where Anthropic's other number stands: elsewhere it may be the window", () => {
    expect(only({ max_tokens: 32_768 })).toBeUndefined();
    expect(only({ context_length: 32_768, max_tokens: 32_768 })).toEqual({ window: 32_768 });
  });

  it.each([0, -1, 1.5, 2 ** 53, "131072", null, true, [131_072], { value: 1 }])(
    "[V47] %j is no count of tokens",
    (value) => {
      const top_provider = { context_length: value, max_completion_tokens: value };
      expect(
        only({ context_window: value, max_input_tokens: value, max_tokens: value, top_provider }),
      ).toBeUndefined();
      expect(only({ context_window: value, max_model_len: 9_000 })).toEqual({ window: 9_000 });
    },
  );

  it.each([
    undefined,
    null,
    7,
    "text",
    {},
    { data: null },
    { data: {} },
    { data: "x" },
    { error: { message: "no" } },
  ])("[V47] %j is none", (list) => {
    expect(read(list)).toBeUndefined();
  });

  it("[V47] entries that are none are passed over, a second one of a name too", () => {
    const good = { id: "m", context_length: 9_000 };
    const junk = [
      null,
      1,
      "m",
      [],
      {},
      { id: 7, context_length: 1 },
      { id: "x".repeat(257), context_length: 1 },
    ];
    expect(read({ data: [...junk, good, { id: "m", context_length: 1 }] })).toEqual({ m: { window: 9_000 } });
    expect(read(JSON.parse('{"data":[{"id":"__proto__","context_length":5}]}'))).toEqual(
      Object.fromEntries([["__proto__", { window: 5 }]]),
    );
  });

  it("[V48] of a list without end the first thousand are kept", () => {
    const data = Array.from({ length: MOST_MODELS + 9 }, (_, n) => ({ id: `m${n}`, context_length: 9_000 }));
    const models = readModelList({ data: [{ id: "nothing" }, ...data] })!;
    expect([models.size, models.has("m999"), models.has("m1000")]).toEqual([MOST_MODELS, true, false]);
  });
});

import { describe, expect, it } from "vitest";
import { clampOutput } from "../../../src/dialects/request/clamp.ts";
import { readRequest } from "../../../src/dialects/request/read.ts";
import { type UpstreamChange, upstreamBody } from "../../../src/dialects/request/upstream.ts";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { text, utf8 } from "../../log/json-text.ts";

const out = (dialect: WireDialect, body: string, change: Partial<UpstreamChange>): string => {
  const request = readRequest(dialect, utf8(body));
  return text(upstreamBody(request, { model: request.model, messages: undefined, ...change }));
};

describe("an upstream body", () => {
  it.each<[string, WireDialect, string, Partial<UpstreamChange>, string]>([
    [
      "the model",
      "anthropic",
      '{ "model" : "p\\/m", "messages": [] }',
      { model: "m" },
      '{ "model" : "m", "messages": [] }',
    ],
    [
      "a model that only is escaped",
      "anthropic",
      '{"model":"p\\/m","messages":[]}',
      { model: "p/m" },
      '{"model":"p\\/m","messages":[]}',
    ],
    [
      "messages behind the envelope's",
      "openai-chat",
      '{"messages":[ {"role":"system","content":"s"} , {"role":"user"} ], "model":"m"}',
      { messages: [utf8({ a: 1 }), utf8('{"b" :2}')] },
      '{"messages":[ {"role":"system","content":"s"},{"a":1},{"b" :2}], "model":"m"}',
    ],
    [
      "messages where there were none",
      "anthropic",
      '{"model":"m","messages":[ ]}',
      { messages: [utf8({ a: 1 })] },
      '{"model":"m","messages":[{"a":1}]}',
    ],
    [
      "no messages",
      "anthropic",
      '{"model":"m","messages":[{},{}]}',
      { messages: [] },
      '{"model":"m","messages":[]}',
    ],
    [
      "messages for a text",
      "openai-responses",
      '{"input":"x","model":"m"}',
      { messages: [utf8({ a: 1 }), utf8({ b: 2 })] },
      '{"input":[{"a":1},{"b":2}],"model":"m"}',
    ],
    [
      "a first response resolved",
      "openai-responses",
      '{"previous_response_id":"r" , "input":"x","model":"m"}',
      { withoutPrevious: true },
      '{"input":"x","model":"m"}',
    ],
    [
      "a last response resolved",
      "openai-responses",
      '{"input":"x","model":"m", "previous_response_id":"r" }',
      { withoutPrevious: true, promptCacheKey: "k" },
      '{"input":"x","model":"m","prompt_cache_key":"k" }',
    ],
    [
      "no response to resolve",
      "openai-responses",
      '{"input":"x","model":"m"}',
      { withoutPrevious: true },
      '{"input":"x","model":"m"}',
    ],
    [
      "a cache key of the client's",
      "openai-responses",
      '{"input":"x","model":"m","prompt_cache_key":"c"}',
      { promptCacheKey: "k" },
      '{"input":"x","model":"m","prompt_cache_key":"c"}',
    ],
    [
      "no cache key for Anthropic",
      "anthropic",
      '{"model":"m","messages":[]}',
      { promptCacheKey: "k" },
      '{"model":"m","messages":[]}',
    ],
    [
      "usage",
      "openai-chat",
      '{"model":"m","messages":[],"stream":true}\n',
      { includeUsage: true },
      '{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}\n',
    ],
    [
      "usage among options",
      "openai-chat",
      '{"stream_options":{"a":1 },"model":"m","messages":[],"stream":true}',
      { includeUsage: true },
      '{"stream_options":{"a":1 ,"include_usage":true},"model":"m","messages":[],"stream":true}',
    ],
    [
      "usage refused before",
      "openai-chat",
      '{"stream_options":{"include_usage":false},"model":"m","messages":[],"stream":true}',
      { includeUsage: true },
      '{"stream_options":{"include_usage":true},"model":"m","messages":[],"stream":true}',
    ],
    [
      "no usage without a stream",
      "openai-chat",
      '{"model":"m","messages":[]}',
      { includeUsage: true },
      '{"model":"m","messages":[]}',
    ],
    [
      "both bounds",
      "openai-chat",
      '{"max_tokens":90,"model":"m","messages":[],"max_completion_tokens":80}',
      { maxOutput: 70 },
      '{"max_tokens":70,"model":"m","messages":[],"max_completion_tokens":70}',
    ],
    [
      "a bound that is low enough",
      "anthropic",
      '{"max_tokens":9e1,"model":"m","messages":[]}',
      { maxOutput: 90 },
      '{"max_tokens":9e1,"model":"m","messages":[]}',
    ],
    [
      "no bound unless asked",
      "openai-chat",
      '{"model":"m","messages":[]}',
      { maxOutput: 90 },
      '{"model":"m","messages":[]}',
    ],
    [
      "a bound in place of null",
      "openai-chat",
      '{"model":"m","max_completion_tokens":null,"messages":[]}',
      { maxOutput: 90, addMaxOutput: true },
      '{"model":"m","max_completion_tokens":90,"messages":[]}',
    ],
    [
      "a new bound",
      "openai-responses",
      '{"model":"m","input":"x"}',
      { maxOutput: 90, addMaxOutput: true },
      '{"model":"m","input":"x","max_output_tokens":90}',
    ],
  ])("has %s", (_, dialect, body, change, expected) => {
    expect(out(dialect, body, change)).toBe(expected);
  });
});

describe("the output that is asked for", () => {
  const thinking = (budget_tokens: number, type = "enabled") => ({ thinking: { type, budget_tokens } });
  it.each<[WireDialect, object, number, object]>([
    ["openai-chat", { max_tokens: 100 }, 200, {}],
    ["openai-chat", { max_tokens: 100 }, 100, {}],
    ["openai-chat", { max_tokens: 100 }, 50.9, { write: 50 }],
    ["openai-chat", {}, 50, {}],
    ["openai-chat", {}, 0, { cannot: "no room is left for an answer" }],
    ["openai-chat", { max_tokens: 100 }, Number.NaN, { cannot: "no room is left for an answer" }],
    ["openai-chat", { max_tokens: 9_000, ...thinking(4_000) }, 3_000, { write: 3_000 }],
    ["anthropic", { max_tokens: 9_000, ...thinking(4_000) }, 4_001, { write: 4_001 }],
    [
      "anthropic",
      { max_tokens: 9_000, ...thinking(4_000) },
      4_000,
      { cannot: "thinking needs more than the room" },
    ],
    [
      "anthropic",
      { max_tokens: 9_000, ...thinking(10) },
      1_024,
      { cannot: "thinking needs more than the room" },
    ],
    ["anthropic", { max_tokens: 9_000, ...thinking(10) }, 1_025, { write: 1_025 }],
    ["anthropic", { max_tokens: 9_000, ...thinking(4_000, "disabled") }, 100, { write: 100 }],
    ["anthropic", { max_tokens: 9_000, ...thinking(20_000) }, 3_000, { write: 3_000 }],
  ])("%s %j in a room of %d", (dialect, more, room, expected) => {
    const body = { model: "m", messages: [], ...more };
    expect(clampOutput(readRequest(dialect, utf8(body)), room)).toEqual(expected);
  });
});

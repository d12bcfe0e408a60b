/** What does not change a link key, each row with its reason. What real clients do: test/node/clients. */
import { describe, expect, it } from "vitest";
import { linkKey } from "../../src/dialects/link-key.ts";
import { type WireDialect, wireDialects } from "../../src/dialects/wire.ts";
import {
  anthropic,
  call,
  chat,
  type Given,
  item,
  key,
  mark,
  output,
  type Pair,
  responses,
  result,
  said,
  text,
  use,
  user,
} from "./link-key-messages.ts";

const equal: Pair[] = [
  [chat, "a string is one text block", user("Hi"), user([text("Hi")])],
  [responses, "a string is one text block", user("Hi"), user([{ type: "input_text", text: "Hi" }])],
  [anthropic, "a string is one text block", user("Hi"), user([text("Hi")])],
  [
    chat,
    "a tool's result too",
    { role: "tool", tool_call_id: "c", content: "r" },
    { role: "tool", tool_call_id: "c", content: [text("r")] },
  ],
  [anthropic, "a tool's result too", result("r"), result([text("r")])],
  [
    responses,
    "an output too",
    { type: "function_call_output", call_id: "c", output: "r" },
    { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "r" }] },
  ],
  [
    responses,
    "an easy message is an item",
    said("A"),
    {
      ...said([output("A", { annotations: [], logprobs: [] })]),
      type: "message",
      id: "msg_1",
      status: "completed",
    },
  ],
  [responses, "a request that is a string is the user's message", '"Hi"', user("Hi")],
  [responses, "an empty string is an empty message", '""', user("")],
  [chat, "no content is no content", call("{}"), { ...call("{}"), content: "" }],
  [
    chat,
    "no content is no content, absent",
    call("{}"),
    { role: "assistant", tool_calls: call("{}").tool_calls },
  ],
  [chat, "an empty text is none", said([text(""), text("A")]), said("A")],
  [
    chat,
    "nulls and empty lists say nothing",
    said("A"),
    said("A", { refusal: null, annotations: [], audio: null, function_call: null, tool_calls: [], name: "" }),
  ],
  [
    chat,
    "ids and status of a message do not count",
    said("A"),
    said("A", { id: "msg_1", status: "completed" }),
  ],
  [
    chat,
    "what a parser adds does not count",
    call('{"a":1}'),
    {
      ...call("{}"),
      parsed: { a: 1 },
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: "f", arguments: '{"a":1}', parsed_arguments: { a: 1 } },
        },
      ],
    },
  ],
  [chat, "annotations are the provider's", said("A"), said("A", { annotations: [{ type: "url_citation" }] })],
  [
    chat,
    "reasoning is the provider's",
    call("{}"),
    { ...call("{}"), reasoning_content: "Hm", reasoning: "Hm", reasoning_details: [{ text: "Hm" }] },
  ],
  [
    chat,
    "a call's index and type may be absent",
    call("{}"),
    { ...call("{}"), tool_calls: [{ index: 0, id: "call_1", function: { name: "f", arguments: "{}" } }] },
  ],
  [
    chat,
    "a thought signature is the provider's",
    call("{}"),
    call("{}", { extra_content: { google: { thought_signature: "x" } } }),
  ],
  [chat, "arguments: whitespace", call('{"a":[1,2]}'), call(' { "a" : [ 1 ,\n2 ] }\t')],
  [chat, "arguments: escapes", call('{"a":"é/\\n"}'), call('{"\\u0061":"\\u00e9\\/\\u000a"}')],
  [chat, "arguments: numbers of one value", call('{"a":[1,100,0.5,0]}'), call('{"a":[1.0,1e2,5E-1,-0.0]}')],
  [
    chat,
    "arguments: order, as a schema changes it",
    call('{"a":{"x":1,"y":2},"b":1}'),
    call('{"b":1,"a":{"y":2,"x":1}}'),
  ],
  [chat, "arguments: the last of a name wins", call('{"a":1}'), call('{"a":2,"a":1}')],
  [chat, "arguments: none is {}", call(""), call(" { } ")],
  [
    responses,
    "arguments of an item",
    item('{"a":1.0}'),
    item('{ "a": 1 }', { id: "fc_1", status: "completed" }),
  ],
  [
    anthropic,
    "an input's spelling",
    use({ a: ["é", 1] }),
    '{"content":[{"input":{"a":["\\u00e9",1.0]},"name":"f","id":"toolu_1","type":"tool_use"}],"role":"assistant"}',
  ],
  [anthropic, "no input is {}", use({}), use(undefined)],
  [anthropic, "a direct caller is no caller", use({}), use({}, { caller: { type: "direct" } })],
  [anthropic, "cache marks on messages and blocks", user([text("A", mark)]), user("A", mark)],
  [anthropic, "cache marks inside results", result([text("r", mark)], mark), result("r")],
  [
    anthropic,
    "cache marks inside a document's source",
    user([{ type: "document", source: { type: "content", content: [text("d", mark)] } }]),
    user([{ type: "document", source: { type: "content", content: "d" } }]),
  ],
  [
    chat,
    "marks of the prompt cache",
    user([text("A", { prompt_cache_breakpoint: { mode: "explicit" } })]),
    user("A"),
  ],
  [anthropic, "an error flag that is false", result("r", { is_error: false }), result("r")],
  [anthropic, "an empty result", result(""), result(undefined)],
  [
    anthropic,
    "thinking, hidden or not",
    said([
      { type: "thinking", thinking: "Hm", signature: "s" },
      { type: "redacted_thinking", data: "d" },
      text("A"),
    ]),
    said("A"),
  ],
  [
    anthropic,
    "citations are the provider's",
    said([text("A", { citations: [{ cited_text: "x" }] })]),
    said([text("A", { citations: null })]),
  ],
  [
    responses,
    "texts of an answer join, wherever its role stands",
    { ...said([output("A"), output("B")]) },
    '{"content":"AB","role":"assistant","type":"message"}',
  ],
  [chat, "texts of an answer join", said([text("A"), text("B"), text("C")]), said("ABC")],
  [responses, "the label of an answer is the provider's", said("A", { phase: "commentary" }), said("A")],
  [
    chat,
    "an escape is its letter",
    '{"role":"user","content":"\\u00e9\\ud83d\\udea2"}',
    '{"role":"user","content":"é🚢"}',
  ],
  [chat, "a name may be spelled with escapes", '{"\\u0072ole":"user","content":"A"}', user("A")],
  [
    chat,
    "an answer's audio is its id",
    said(null, { audio: { id: "a", data: "x", transcript: "t", expires_at: 1 } }),
    said(null, { audio: { id: "a" } }),
  ],
];

describe("a content key", () => {
  it.each(equal)("%s: equal: %s", (dialect, _reason, one, other) => {
    expect(key(dialect, one)).toMatch(/^[\w-]{22}$/);
    expect(key(dialect, one)).toBe(key(dialect, other));
  });

  it("is another in each dialect", () => {
    expect(new Set(wireDialects.map((dialect) => key(dialect, user("A")))).size).toBe(wireDialects.length);
  });

  it.each<[WireDialect, string, Given]>([
    [responses, "a reasoning item", { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "x" }],
    [
      anthropic,
      "an answer that is thinking alone",
      said([{ type: "thinking", thinking: "Hm", signature: "s" }]),
    ],
    [chat, "an answer that is reasoning alone", said(null, { reasoning_content: "Hm" })],
  ])("%s: is empty for %s", (dialect, _what, given) => {
    expect(key(dialect, given)).toBe("");
  });

  it("is not empty for a message that says nothing: taking it out is a change", () => {
    expect(key(chat, said(""))).toMatch(/^[\w-]{22}$/);
    expect(key(anthropic, user([]))).toMatch(/^[\w-]{22}$/);
  });

  it("of a large message is that of its parts, and leaves nothing behind for the next", () => {
    const large = user("x".repeat(200_000));
    const before = key(chat, user("A"));
    expect(key(chat, large)).toBe(key(chat, { content: [text("x".repeat(200_000))], role: "user" }));
    expect(key(chat, large)).not.toBe(key(chat, user("x".repeat(200_001))));
    expect(key(chat, call(JSON.stringify({ b: "y".repeat(200_000), a: 1 })))).toBe(
      key(chat, call(JSON.stringify({ a: 1, b: "y".repeat(200_000) }))),
    );
    expect(key(chat, user("A"))).toBe(before);
  });

  it("of a joined answer does not depend on its cuts, on empty pieces and on what was left out between them", () => {
    const whole = key(chat, said("x".repeat(40_000)));
    const half = text("x".repeat(20_000));
    expect(key(chat, said([half, text(""), { type: "thinking", thinking: "Hm" }, half]))).toBe(whole);
    expect(key(chat, said([half, { type: "refusal", refusal: "No" }, half]))).not.toBe(whole);
    expect(key(chat, said([half, text("x".repeat(19_999))]))).not.toBe(whole);
  });

  it("is made of the deepest JSON that is legal, and tells it apart", () => {
    const nested = (levels: number, inner: string) =>
      '{"b":1,"a":['.repeat(levels) + inner + "]}".repeat(levels);
    const deep = (inner: string) => key(chat, call(nested(250, inner)));
    expect(deep("1.0")).toBe(deep("1"));
    expect(deep("1")).not.toBe(deep("2"));
    const blocks = (inner: string) =>
      `{"role":"user","content":${'[{"content":'.repeat(200)}${inner}${"}]".repeat(200)}}`;
    expect(key(anthropic, blocks('"r"'))).not.toBe(key(anthropic, blocks('"s"')));
  });

  it("of a long list needs little memory and sees its last element", () => {
    const list = (last: number) => use({ numbers: [...new Array<number>(200_000).fill(1), last] });
    expect(key(anthropic, list(1))).not.toBe(key(anthropic, list(2)));
    expect(key(anthropic, list(1))).toBe(key(anthropic, JSON.stringify(list(1)).replaceAll(",1", ", 1.0")));
  });
});

describe("a link key", () => {
  it("depends on the parent and on the content", () => {
    const keys = [
      linkKey("", "a"),
      linkKey("", "b"),
      linkKey("a", "b"),
      linkKey("b", "a"),
      linkKey("a", "a"),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    for (const link of keys) expect(link).toMatch(/^[\w-]{22}$/);
  });

  it("of a transparent message is its parent's", () => {
    expect(linkKey("parent", "")).toBe("parent");
    expect(linkKey("", "")).toBe("");
  });
});

import { describe, expect, it } from "vitest";
import { anthropic } from "../../src/dialects/anthropic.ts";
import type { Dialect, RenderItem } from "../../src/dialects/dialect.ts";
import { openAiChat } from "../../src/dialects/openai-chat.ts";
import { text, utf8 } from "../log/json-text.ts";

function itemOf(dialect: Dialect, message: string): RenderItem {
  const bytes = utf8(message);
  const { role, mend } = dialect.read(bytes, "m");
  return { role, bytes, mend };
}

function rendered(dialect: Dialect, ...messages: string[]): string[] {
  return dialect.render(messages.map((message) => itemOf(dialect, message))).map(text);
}

const asked = '{"role":"user", "content":"go"}';
const use = (...ids: string[]) =>
  `{"role":"assistant","content":[${ids.map((id) => `{"type":"tool_use","id":"${id}","name":"f","input":{}}`)}]}`;
const block = (id: string, content = '"done"') =>
  `{ "type":"tool_result","tool_use_id":"${id}","content":${content} }`;
const user = (...blocks: string[]) => `{"content":[ ${blocks.join(", ")} ],"role":"user"}`;
const note = '{"type":"text","text":"and then"}';

describe("rendering Anthropic", () => {
  it("[P29] sends every message that is fine as its own bytes, the very same array", () => {
    const items = [
      asked,
      use("a"),
      user(block("a"), note),
      '{"role":"assistant","content":"ok"}',
      '{"role":"system","content":"x"}',
    ];
    const nodes = items.map((message) => itemOf(anthropic, message));
    const out = anthropic.render(nodes);
    for (const [index, bytes] of out.entries()) expect(bytes).toBe(nodes[index]?.bytes);
    expect(out.length).toBe(nodes.length);
  });

  it("[P29] makes one message of results that were posted one by one, each result raw", () => {
    expect(
      rendered(anthropic, asked, use("a", "b", "c"), user(block("b")), user(block("a")), user(block("c"))),
    ).toEqual([
      asked,
      use("a", "b", "c"),
      `{"role":"user","content":[${block("b")},${block("a")},${block("c")}]}`,
    ]);
  });

  it("[P29] puts all results of a group before its other blocks", () => {
    expect(rendered(anthropic, asked, use("a", "b"), user(block("a"), note), user(block("b")))).toEqual([
      asked,
      use("a", "b"),
      `{"role":"user","content":[${block("a")},${block("b")},${note}]}`,
    ]);
    expect(rendered(anthropic, user(note, block("a"), note, block("b")))).toEqual([
      `{"role":"user","content":[${block("a")},${block("b")},${note},${note}]}`,
    ]);
  });

  it("[P29] never joins two groups, nor results with a user's own message", () => {
    const second = '{"role":"user","content":"more"}';
    expect(
      rendered(anthropic, asked, use("a"), user(block("a")), use("b"), user(block("b")), second),
    ).toEqual([asked, use("a"), user(block("a")), use("b"), user(block("b")), second]);
  });

  it.each([
    [
      '[{"type":"text","text":""},{"type":"text","text":"a"},{"type":"text","text":" \\n"}]',
      '[{"type":"text","text":"a"}]',
    ],
    [
      '[{"type":"text","text":"a"}, {"type":"thinking","thinking":"x","signature":"s"}]',
      '[{"type":"text","text":"a"}]',
    ],
    [
      '[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":""},{"type":"text","text":"a"}]',
      '[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"a"}]',
    ],
  ])("[P23] drops from a reply what the API refuses: %s", (before, after) => {
    const reply = (content: string) => `{"role":"assistant","content":${content},"x":1.0}`;
    expect(rendered(anthropic, asked, reply(before))).toEqual([asked, reply(after)]);
  });

  it.each([
    '""',
    '" "',
    "[]",
    '[{"type":"text","text":""}]',
    '[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":""}]',
    '[{"type":"redacted_thinking","data":"d"}]',
  ])("[P23] leaves out a reply that says nothing: %s", (content) => {
    expect(rendered(anthropic, asked, `{"role":"assistant","content":${content}}`, asked)).toEqual([
      asked,
      asked,
    ]);
  });

  it("[P23] drops empty texts inside a result and keeps the result", () => {
    const empty = '[ {"type":"text","text":""}, {"type":"image","source":{}},{"type":"text","text":""} ]';
    expect(
      rendered(anthropic, user(block("a", empty), block("b", '[{"type":"text","text":""}]'), note)),
    ).toEqual([user(block("a", '[ {"type":"image","source":{}} ]'), block("b", "[]"), note)]);
  });

  it("[P29] leaves out forms of zero bytes", () => {
    const gone: RenderItem = { role: "assistant", bytes: new Uint8Array(0), mend: true };
    expect(anthropic.render([itemOf(anthropic, asked), gone, { ...gone, role: "tool" }]).map(text)).toEqual([
      asked,
    ]);
    expect(openAiChat.render([itemOf(openAiChat, asked), gone]).map(text)).toEqual([asked]);
    expect(anthropic.render([])).toEqual([]);
  });
});

describe("rendering OpenAI", () => {
  const call = '{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}';

  it("[P29] sends every message that is fine as its own bytes, results one by one", () => {
    const items = [
      asked,
      `{"role":"assistant","content":null,"tool_calls":[${call}]}`,
      '{"role":"tool","tool_call_id":"a","content":""}',
      '{"role":"developer","content":"x"}',
      '{"role":"assistant","content":" ","reasoning_content":"hm"}',
    ];
    const nodes = items.map((message) => itemOf(openAiChat, message));
    const out = openAiChat.render(nodes);
    for (const [index, bytes] of out.entries()) expect(bytes).toBe(nodes[index]?.bytes);
    expect(out.length).toBe(nodes.length);
  });

  it.each([
    ['{"role":"assistant","content":"a","tool_calls":[]}', '{"role":"assistant","content":"a"}'],
    ['{"tool_calls":null,"role":"assistant","content":"a"}', '{"role":"assistant","content":"a"}'],
    [
      `{"role":"assistant","content":[],"tool_calls":[${call}]}`,
      `{"role":"assistant","content":null,"tool_calls":[${call}]}`,
    ],
    [
      '{"role":"assistant","content":[ ],"tool_calls":null,"refusal":"no"}',
      '{"role":"assistant","content":null,"refusal":"no"}',
    ],
  ])("[P23] mends what the API refuses: %s", (before, after) => {
    expect(rendered(openAiChat, asked, before)).toEqual([asked, after]);
  });

  it.each([
    '"content":""',
    '"content":null',
    '"content":[]',
    '"content":[{"type":"text","text":""}],"tool_calls":[]',
    '"reasoning":"hm"',
  ])("[P23] leaves out a reply that says nothing: %s", (fields) => {
    expect(rendered(openAiChat, asked, `{"role":"assistant",${fields}}`)).toEqual([asked]);
  });
});

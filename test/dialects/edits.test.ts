import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anthropic } from "../../src/dialects/anthropic.ts";
import { openAiChat } from "../../src/dialects/openai-chat.ts";
import { scanDocument } from "../../src/log/scanner.ts";
import { text, utf8 } from "../log/json-text.ts";
import { every, shown } from "./native.ts";

describe("cache marks", () => {
  it.each(every)("[P24] leave the message and its blocks of %s and nothing else", (_, dialect) => {
    const before =
      '{"cache_control":{"type":"ephemeral"},"role":"user", "content":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}},' +
      '{"type":"text","cache_control":null,"text":"cache_control \\u00e9"} ],"n":9007199254740993 ,"cache_control":1}';
    expect(shown(dialect.withoutCacheMarks(utf8(before)))).toBe(
      '{"role":"user", "content":[ {"type":"text","text":"a"},{"type":"text","text":"cache_control \\u00e9"} ],"n":9007199254740993}',
    );
  });

  it("[P24] leave the blocks inside results, documents and searches", () => {
    const mark = '"cache_control":{"type":"ephemeral"}';
    const marked = (inner: string) => `{"type":"text","text":"${inner}",${mark}}`;
    const before = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",${mark},"content":[${marked("a")},{"type":"document","source":{"type":"content","content":[${marked("b")}]},${mark}}]}]}`;
    const after = shown(anthropic.withoutCacheMarks(utf8(before)));
    expect(after).not.toContain("cache_control");
    expect(after).toBe(before.replaceAll(`,${mark}`, ""));
  });

  it("[P24] stay inside call arguments, which are the model's own words", () => {
    const use =
      '{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"cache_control":1,"content":[{"cache_control":2}]}}]}';
    expect(shown(anthropic.withoutCacheMarks(utf8(use)))).toBe(use);
    const call =
      '{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\\"cache_control\\":1}","cache_control":1},"cache_control":2}]}';
    expect(shown(openAiChat.withoutCacheMarks(utf8(call)))).toBe(call.replace(',"cache_control":2', ""));
  });

  it.each(every)("[P24] that are not there cost no copy in %s", (_, dialect) => {
    const plain = utf8('{"role":"user","content":"no marks, \\u001b[0m just colours"}');
    expect(dialect.withoutCacheMarks(plain)).toBe(plain);
    const mentioned = utf8('{"role":"user","content":"what is cache_control?"}');
    expect(dialect.withoutCacheMarks(mentioned)).toBe(mentioned);
    const odd = utf8("[1]");
    expect(dialect.withoutCacheMarks(odd)).toBe(odd);
  });

  it("[P24] are found when their name is written with an escape", () => {
    expect(
      shown(anthropic.withoutCacheMarks(utf8('{"role":"user","cache\\u005fcontrol":{},"content":"x"}'))),
    ).toBe('{"role":"user","content":"x"}');
  });

  it("[P24] in hostile nesting cost linear time", () => {
    const deep = `${'{"content":['.repeat(250)}"${"x".repeat(4_000_000)}"${"]}".repeat(250)}`;
    const bytes = utf8(`{"cache_control":1,"content":[${deep}]}`);
    scanDocument(bytes);
    expect(anthropic.withoutCacheMarks(bytes).length).toBe(bytes.length - '"cache_control":1,'.length);
  });
});

describe("call arguments", () => {
  const shout = (value: string) => (value.startsWith("x") ? value.toUpperCase() : undefined);

  it("[P26] of Anthropic calls are rewritten at any depth, keys and all else byte for byte", () => {
    const before =
      '{"role":"assistant","content":[{"type":"text","text":"xa"},{"type":"tool_use","id":"x","name":"xn","input":' +
      '{"x1" : "xa\\u0062", "n":[12345678901234567890, "xc", {"k":"keep \\ud800"}]}},{"type":"server_tool_use","id":"s","name":"w","input":{"q":"xq"}}]}';
    expect(shown(anthropic.rewriteArguments(utf8(before), shout))).toBe(
      before.replace('"xa\\u0062"', '"XAB"').replace('"xc"', '"XC"'),
    );
    const bare = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":"xa"}]}';
    expect(shown(anthropic.rewriteArguments(utf8(bare), shout))).toBe(bare.replace('"xa"', '"XA"'));
  });

  it("[P26] of OpenAI calls are rewritten inside their JSON text, which stays valid", () => {
    const inner = '{"path":"xa", "big": 12345678901234567890,"list":["xb","c"], "path":"d"}';
    const before = `{"role":"assistant","content":"xa","tool_calls":[{"id":"x","type":"function","function":{"name":"xn","arguments":${JSON.stringify(inner)}}}]}`;
    const after = shown(openAiChat.rewriteArguments(utf8(before), shout));
    const rewrittenInner = inner.replace('"xa"', '"XA"').replace('"xb"', '"XB"');
    expect(after).toBe(before.replace(JSON.stringify(inner), JSON.stringify(rewrittenInner)));
  });

  it("[P26] that are not JSON are one text, like a custom input", () => {
    const calls = (args: string) =>
      `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":${args}}}]}`;
    expect(openAiChat.rewriteArguments(utf8(calls('""')), shout)).toBeUndefined();
    const cut = openAiChat.rewriteArguments(utf8(calls('"xa \\"b"')), shout);
    expect(shown(cut)).toBe(calls('"XA \\"B"'));
    const custom =
      '{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{"name":"sh","input":"xls\\n"}}]}';
    expect(shown(openAiChat.rewriteArguments(utf8(custom), shout))).toBe(custom.replace("xls", "XLS"));
  });

  it("[P26] with lone surrogates lose nothing", () => {
    const before =
      '{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\\"a\\":\\"\\ud800\\",\\"b\\":\\"xb\\"}"}}]}';
    const after = openAiChat.rewriteArguments(utf8(before), shout);
    const args: unknown = JSON.parse(JSON.parse(shown(after)!).tool_calls[0].function.arguments);
    expect(args).toEqual({ a: "\ud800", b: "XB" });
  });

  it.each(every)("[P26] that stay as they are give nothing back in %s", (_, dialect) => {
    const messages = [
      '{"role":"user","content":"xa"}',
      '{"role":"assistant","content":[{"type":"text","text":"xa"}]}',
    ];
    for (const message of messages) expect(dialect.rewriteArguments(utf8(message), shout)).toBeUndefined();
    const call =
      '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{"a":"xa"}}]}';
    expect(dialect.rewriteArguments(utf8(call), (value) => value)).toBeUndefined();
  });

  it("[P26] of any JSON change as the same rewrite of the parsed value would", () => {
    const deep = (value: unknown): unknown => {
      if (typeof value === "string") return `${value}!`;
      if (Array.isArray(value)) return value.map(deep);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deep(inner)]));
    };
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const args = JSON.stringify(value);
        const asText = utf8({
          role: "assistant",
          tool_calls: [{ id: "a", function: { name: "f", arguments: args } }],
        });
        const asValue = utf8({
          role: "assistant",
          content: [{ type: "tool_use", id: "a", name: "f", input: value }],
        });
        const shouted = (input: string) => `${input}!`;
        const chat = JSON.parse(shown(openAiChat.rewriteArguments(asText, shouted)) ?? text(asText));
        const claude = JSON.parse(shown(anthropic.rewriteArguments(asValue, shouted)) ?? text(asValue));
        const expected = deep(JSON.parse(args));
        expect(JSON.parse(chat.tool_calls[0].function.arguments)).toEqual(expected);
        expect(claude.content[0].input).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

describe("media", () => {
  it("[P27] outside results become text notes where they stood, in both dialects", () => {
    const note = ({ note: what }: { note: string }) => `[was ${what}]`;
    const data = "data:image/png;base64,AA";
    const chat = `{"role":"user","content":[ {"type":"text","text":"a"}, {"type":"image_url","image_url":{"url":"${data}"}} ,{"type":"file","file":{"file_id":"f"}}]}`;
    expect(shown(openAiChat.withoutMedia(utf8(chat), note))).toBe(
      '{"role":"user","content":[ {"type":"text","text":"a"}, {"type":"text","text":"[was image/png]"} ,{"type":"text","text":"[was file]"}]}',
    );
    const image = '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}';
    const document = '{"type":"document","source":{"type":"url","url":"u"}}';
    const readable = '{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}}';
    const result = `{"type":"tool_result","tool_use_id":"t","content":[${image}]}`;
    expect(
      shown(
        anthropic.withoutMedia(
          utf8(`{"role":"user","content":[${result},${image},${document},${readable}]}`),
          note,
        ),
      ),
    ).toBe(
      `{"role":"user","content":[${result},{"type":"text","text":"[was image/png]"},{"type":"text","text":"[was document]"},${readable}]}`,
    );
  });

  it.each(every)("[P27] that are not there give nothing back in %s", (_, dialect) => {
    for (const content of ['"text"', '[{"type":"text","text":"a"}]']) {
      expect(dialect.withoutMedia(utf8(`{"role":"user","content":${content}}`), () => "x")).toBeUndefined();
    }
  });
});

describe("thinking", () => {
  const thought = '{"type":"thinking","thinking":"","signature":"s"}';
  const hidden = '{"type":"redacted_thinking","data":"d"}';
  const said = '{"type":"text","text":"a"}';
  const use = '{"type":"tool_use","id":"t","name":"f","input":{}}';
  const reply = (...blocks: string[]) => `{"role":"assistant", "content": [ ${blocks.join(" , ")} ]}`;

  it.each([
    [[thought, said], [said]],
    [
      [thought, hidden, said, thought, use],
      [said, use],
    ],
    [[said, hidden], [said]],
  ])("[P28] leaves an Anthropic message by whole blocks: %j", (before, after) => {
    const bytes = anthropic.withoutThinking(utf8(reply(...before)));
    expect(shown(bytes)).toBe(reply(...after));
  });

  it("[P28] leaves zero bytes where nothing that says something would be left", () => {
    expect(anthropic.withoutThinking(utf8(reply(thought, hidden)))?.length).toBe(0);
    expect(anthropic.withoutThinking(utf8(reply(thought, '{"type":"text","text":" "}')))?.length).toBe(0);
  });

  it("[P28] that is not there, and reasoning of OpenAI's shape, stay", () => {
    expect(anthropic.withoutThinking(utf8(reply(said, use)))).toBeUndefined();
    expect(anthropic.withoutThinking(utf8('{"role":"assistant","content":"a"}'))).toBeUndefined();
    expect(
      openAiChat.withoutThinking(utf8('{"role":"assistant","content":"a","reasoning_content":"b"}')),
    ).toBeUndefined();
  });
});

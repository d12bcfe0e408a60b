import { describe, expect, it } from "vitest";
import { codePoints } from "../../src/compaction/graphemes.ts";
import { anthropic } from "../../src/dialects/anthropic.ts";
import type { ContentPart, Dialect, NewContent } from "../../src/dialects/dialect.ts";
import { openAiChat } from "../../src/dialects/openai-chat.ts";
import { Defect } from "../../src/failure.ts";
import { scanDocument } from "../../src/log/scanner.ts";
import { utf8 } from "../log/json-text.ts";
import { shown } from "./native.ts";

/** Asks a dialect to rewrite the results of a message and shows what it saw. */
function rewritten(dialect: Dialect, message: string, next: (index: number) => NewContent[] | undefined) {
  const seen: { index: number; call: string; content: ContentPart[] }[] = [];
  const bytes = dialect.rewriteResults(utf8(message), (result) => {
    seen.push(result);
    return next(result.index);
  });
  if (bytes !== undefined) scanDocument(bytes);
  return { seen, after: shown(bytes) };
}

describe("results", () => {
  const tool = (content: string) => `{"role":"tool", "tool_call_id":"c" ,"content": ${content} ,"x":1e400}`;
  const block = (content: string, id = "t") =>
    `{"is_error":true, "type":"tool_result","tool_use_id":"${id}"${content} }`;
  const user = (...blocks: string[]) =>
    `{"role":"user","content":[${blocks.join(" , ")}],"n":12345678901234567890}`;

  it("[P25] keep a string a string when the new content is one text", () => {
    expect(rewritten(openAiChat, tool('"old"'), () => [{ text: 'new "\n' }]).after).toBe(
      tool('"new \\"\\n"'),
    );
    expect(rewritten(anthropic, user(block(',"content":"old"')), () => [{ text: "new" }]).after).toBe(
      user(block(',"content":"new"')),
    );
    expect(rewritten(openAiChat, tool('"old"'), () => []).after).toBe(tool('""'));
  });

  it("[P25] keep an array an array and copy kept blocks raw", () => {
    const image = '{ "type":"image","source":{"type":"base64","data":"AA=="} }';
    const before = user(
      block(
        `,"content":[ {"type":"text","text":"long"},${image}, {"type":"text","text":"end","citations":[]} ]`,
      ),
    );
    expect(rewritten(anthropic, before, () => [{ text: "l" }, { keep: 1 }, { text: "e" }]).after).toBe(
      user(block(`,"content":[{"type":"text","text":"l"},${image},{"type":"text","text":"e"}]`)),
    );
    expect(
      rewritten(anthropic, before, () => [{ text: "long" }, { text: "note" }, { text: "end" }]).after,
    ).toBe(
      user(
        block(
          ',"content":[{"type":"text","text":"long"},{"type":"text","text":"note"},{"type":"text","text":"end","citations":[]}]',
        ),
      ),
    );
    expect(rewritten(openAiChat, tool('[{"type":"text","text":"a"}]'), () => [{ text: "b" }]).after).toBe(
      tool('[{"type":"text","text":"b"}]'),
    );
    expect(rewritten(anthropic, before, () => []).after).toBe(user(block(',"content":[]')));
  });

  it("[P25] turn a string into blocks only where several are wanted", () => {
    expect(rewritten(openAiChat, tool('"\\u006fld"'), () => [{ keep: 0 }, { text: "more" }]).after).toBe(
      tool('[{"type":"text","text":"\\u006fld"},{"type":"text","text":"more"}]'),
    );
  });

  it("[P25] without content, or with null, get what is new", () => {
    expect(rewritten(anthropic, user(block("")), () => [{ text: "x" }]).after).toBe(
      user('{"is_error":true, "type":"tool_result","tool_use_id":"t" ,"content":"x"}'),
    );
    expect(
      rewritten(anthropic, user(block(',"content":null')), () => [{ text: "x" }, { text: "y" }]).after,
    ).toBe(user(block(',"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]')));
  });

  it("[P25] are shown in order with their content, and only those that change are touched", () => {
    const before = user(
      block(',"content":"a"', "t1"),
      '{"type":"text","text":"and"}',
      block(',"content":[{"type":"text","text":"b"}]', "t2"),
      block("", "t3"),
    );
    const { seen, after } = rewritten(anthropic, before, (index) =>
      index === 1 ? [{ text: "B" }] : undefined,
    );
    expect(seen).toEqual([
      { index: 0, call: "t1", content: [{ type: "text", text: "a" }] },
      { index: 1, call: "t2", content: [{ type: "text", text: "b" }] },
      { index: 2, call: "t3", content: [] },
    ]);
    expect(after).toBe(before.replace('"text":"b"', '"text":"B"'));
  });

  it("[P25] that keep everything, or say the same, are unchanged", () => {
    const before = user(block(',"content":[{"type":"text","text":"a"},{"type":"image","source":{}}]'));
    expect(rewritten(anthropic, before, () => [{ keep: 0 }, { keep: 1 }]).after).toBeUndefined();
    expect(rewritten(anthropic, before, () => [{ text: "a" }, { keep: 1 }]).after).toBeUndefined();
    expect(rewritten(anthropic, before, () => undefined).after).toBeUndefined();
    expect(rewritten(openAiChat, tool('"a"'), () => [{ text: "a" }]).after).toBeUndefined();
    expect(rewritten(openAiChat, '{"role":"assistant","content":"a"}', () => [{ text: "b" }]).seen).toEqual(
      [],
    );
  });

  it("[P25] never get an empty text block, and never one that they did not have", () => {
    const before = user(block(',"content":[{"type":"text","text":"a"},{"type":"image","source":{}}]'));
    expect(rewritten(anthropic, before, () => [{ text: "" }, { keep: 1 }]).after).toBe(
      user(block(',"content":[{"type":"image","source":{}}]')),
    );
    expect(() => rewritten(anthropic, before, () => [{ keep: 2 }])).toThrow(Defect);
  });

  it("[P25] [DSH-070] keep blocks that are no text in their order, and texts that are gone vanish", () => {
    const reference = '{"type":"tool_reference","tool_name":"grep"}';
    const image = '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}';
    const textOf = (letter: string, count: number) => `{"type":"text","text":"${letter.repeat(count)}"}`;
    const before = user(
      block(
        `,"content":[${[textOf("A", 40), reference, textOf("B", 30), image, textOf("C", 30)].join(",")}]`,
      ),
    );
    const { after } = rewritten(anthropic, before, () => [
      { text: "AAAA…" },
      { keep: 1 },
      { keep: 3 },
      { text: "CCC" },
    ]);
    expect(after).toBe(
      user(
        block(
          `,"content":[{"type":"text","text":"AAAA…"},${reference},${image},{"type":"text","text":"CCC"}]`,
        ),
      ),
    );
  });

  it("[P25] [DSH-068] are measured by the code points of their texts alone", () => {
    const content = [
      { type: "text", text: "a👍b" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(1000) } },
    ];
    const message = anthropic.read(
      utf8({ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content }] }),
      "m",
    );
    const [result] = message.parts;
    const texts = result?.type === "result" ? result.content.filter((part) => part.type === "text") : [];
    expect(texts.map((part) => codePoints(part.text))).toEqual([3]);
  });
});

/** Edits and rendering of Responses items, and what its strictest server says. */
import { describe, expect, it } from "vitest";
import type { RenderItem } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { openAiResponses as responses } from "../../src/dialects/openai-responses.ts";
import { text, utf8 } from "../log/json-text.ts";
import { shown } from "./native.ts";

const edit = (value: string, next: Parameters<typeof responses.rewriteResults>[1]) =>
  shown(responses.rewriteResults(utf8(value), next));
const said = (text: string) => () => [{ text }];

describe("edits of outputs", () => {
  it.each([
    [
      "a text",
      '{ "type":"function_call_output","call_id":"c", "output":"long" }',
      '{ "type":"function_call_output","call_id":"c", "output":"cut" }',
    ],
    [
      "blocks",
      '{"output":[{"type":"input_text","text":"long"}],"call_id":"c","type":"custom_tool_call_output"}',
      '{"output":[{"type":"input_text","text":"cut"}],"call_id":"c","type":"custom_tool_call_output"}',
    ],
    [
      "a shell's chunks, whose outcome stays",
      '{"type":"shell_call_output","call_id":"c","output":[{"stdout":"long","stderr":"x","outcome":{"type":"timeout"}}]}',
      '{"type":"shell_call_output","call_id":"c","output":[{"stdout":"cut","stderr":"","outcome":{"type":"timeout"}}]}',
    ],
    [
      "a patch without an output",
      '{"type":"apply_patch_call_output","call_id":"c","status":"completed"}',
      '{"type":"apply_patch_call_output","call_id":"c","status":"completed","output":"cut"}',
    ],
  ])("[P25] change %s and nothing around it", (_, before, after) => {
    expect(edit(before, said("cut"))).toBe(after);
  });

  it("[P25] leave screenshots, found tools and everything that is no output", () => {
    for (const value of [
      '{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"u"}}',
      '{"type":"tool_search_output","call_id":"c","execution":"client","tools":[]}',
      '{"role":"user","content":"x"}',
    ]) {
      expect(edit(value, said("cut"))).toBeUndefined();
    }
    expect(
      edit('{"type":"function_call_output","call_id":"c","output":"same"}', said("same")),
    ).toBeUndefined();
  });
});

describe("edits of calls", () => {
  it.each([
    [
      '{"type":"function_call","call_id":"c","name":"f","arguments":"{\\"a\\": \\"x\\"}"}',
      '{"type":"function_call","call_id":"c","name":"f","arguments":"{\\"a\\": \\"X\\"}"}',
    ],
    [
      '{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}',
      '{"type":"custom_tool_call","call_id":"c","name":"f","input":"X"}',
    ],
    [
      '{"type":"shell_call","call_id":"c","action":{"commands":["x", "y"]}}',
      '{"type":"shell_call","call_id":"c","action":{"commands":["X", "Y"]}}',
    ],
  ])("[P26] change the strings of %s", (before, after) => {
    expect(shown(responses.rewriteArguments(utf8(before), (value) => value.toUpperCase()))).toBe(after);
    expect(responses.rewriteArguments(utf8(before), (value) => value)).toBeUndefined();
  });
});

describe("media and reasoning", () => {
  it("[P27] becomes notes that a message of its role may hold", () => {
    const note = ({ note: what }: { note: string }) => `[was ${what}]`;
    const user =
      '{"role":"user","content":[{"type":"input_text","text":"a"}, {"type":"input_file","file_id":"f"}]}';
    expect(shown(responses.withoutMedia(utf8(user), note))).toBe(
      '{"role":"user","content":[{"type":"input_text","text":"a"}, {"type":"input_text","text":"[was file]"}]}',
    );
    const drawn = responses.withoutMedia(utf8({ type: "image_generation_call", result: "AA" }), note);
    expect(violations("openai-responses", [utf8({ role: "user", content: "a" }), drawn!])).toEqual([]);
    expect(shown(drawn)).toContain("[was image/png]");
  });

  it("[P28] goes whole", () => {
    const reasoning = utf8({ type: "reasoning", summary: [], encrypted_content: "e" });
    expect(responses.withoutThinking(reasoning)).toEqual(new Uint8Array(0));
    expect(responses.withoutThinking(utf8({ role: "assistant", content: "a" }))).toBeUndefined();
  });
});

const user = { role: "user", content: "go" };
const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
const reply = { type: "message", role: "assistant", content: [{ type: "output_text", text: "ok" }] };
const call = (call_id: string, type = "function_call") => ({
  type,
  call_id,
  ...{
    function_call: { name: "f", arguments: "{}" },
    custom_tool_call: { name: "f", input: "" },
    shell_call: { action: {} },
    local_shell_call: { action: {} },
    apply_patch_call: { operation: {} },
    computer_call: { action: {} },
  }[type],
});
const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "done" });

function rendered(...values: object[]): unknown[] {
  const items = values.map((value): RenderItem => {
    const bytes = utf8(value);
    const { role, mend } = responses.read(bytes, "m");
    return { role, bytes, mend };
  });
  return responses.render(items).map((bytes) => JSON.parse(text(bytes)));
}

describe("rendering", () => {
  it("[P29] sends items as they came", () => {
    const items = [user, reasoning, reply, call("a"), call("b"), output("b"), output("a"), reasoning, reply];
    expect(rendered(...items)).toEqual(items);
  });

  it("[P29] leaves out reasoning that lost what it was for, and replies that say nothing", () => {
    const empty = { role: "assistant", content: [] };
    expect(rendered(user, reasoning, user)).toEqual([user, user]);
    expect(rendered(user, reasoning)).toEqual([user]);
    expect(rendered(user, reasoning, reasoning, empty, user)).toEqual([user, user]);
    expect(rendered(user, reasoning, empty, reply)).toEqual([user, reasoning, reply]);
    expect(rendered(user, call("a"), reasoning, output("a"))).toEqual([user, call("a"), output("a")]);
  });

  it.each(["custom_tool_call", "shell_call", "local_shell_call", "apply_patch_call"])(
    "[P29] closes an open %s by an output of its own type",
    (type) => {
      const closed = JSON.parse(text(responses.closedResult("a", "no result")));
      const items = rendered(user, call("a", type), closed);
      expect(items).toHaveLength(3);
      expect(JSON.stringify(items[2])).toContain("no result");
      expect(violations("openai-responses", items.map(utf8))).toEqual([]);
    },
  );

  it("[P29] leaves out a call that only an image could close", () => {
    const closed = JSON.parse(text(responses.closedResult("a", "no result")));
    expect(rendered(user, reasoning, call("a", "computer_call"), closed, user)).toEqual([user, user]);
  });
});

describe("the strict Responses server", () => {
  it.each<[string, unknown[]]>([
    [
      "a reply of several items",
      [user, reasoning, reply, call("a"), call("b"), output("b"), output("a"), reply],
    ],
    ["a reply first", [reply, user]],
    ["an id used again later", [user, call("a"), output("a"), call("a"), output("a")]],
    ["a late developer message", [user, reply, { role: "developer", content: "x" }]],
    ["a search between", [user, reasoning, { type: "web_search_call", id: "ws" }, reply]],
  ])("[P31] takes %s", (_, items) => {
    expect(violations("openai-responses", items.map(utf8))).toEqual([]);
  });

  it.each<[string, number, unknown[]]>([
    ["reasoning-without-item", 1, [user, reasoning]],
    ["reasoning-without-item", 1, [user, reasoning, user]],
    ["reasoning-without-item", 2, [user, call("a"), reasoning, output("a")]],
    ["call-without-result", 1, [user, call("a"), user, output("a")]],
    ["call-without-result", 1, [user, call("a")]],
    ["call-without-result", 2, [user, call("a"), call("b"), output("a"), reply]],
    ["result-without-call", 1, [user, output("a")]],
    ["result-without-call", 3, [user, call("a"), output("a"), output("a")]],
    ["result-of-another-type", 2, [user, call("a", "custom_tool_call"), output("a")]],
    ["result-without-content", 2, [user, call("a"), { ...output("a"), output: null }]],
    ["call-id-twice", 2, [user, call("a"), call("a"), output("a")]],
    ["empty-content", 0, [{ role: "user", content: [] }]],
    ["no-content", 0, [{ role: "user" }]],
    ["block-of-another-role", 0, [{ role: "user", content: [{ type: "output_text", text: "x" }] }]],
    ["unknown-role", 1, [user, { role: "tool", content: "x" }]],
    ["reference", 1, [user, { type: "item_reference", id: "x" }]],
  ])("[P31] finds %s at %i", (rule, at, items) => {
    expect(violations("openai-responses", items.map(utf8))).toContainEqual({ at, rule });
  });
});

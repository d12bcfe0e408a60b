/** What changes a link key, each row a change that must never be taken for the same message. */
import { describe, expect, it } from "vitest";
import {
  anthropic,
  call,
  chat,
  image,
  item,
  key,
  type Pair,
  responses,
  result,
  said,
  text,
  use,
  user,
} from "./link-key-messages.ts";

const different: Pair[] = [
  [chat, "the role", user("A"), said("A")],
  [chat, "the text", user("A"), user("B")],
  [chat, "space around a text", user("A"), user("A ")],
  [chat, "texts of a user stay apart", user([text("A"), text("B")]), user("AB")],
  [anthropic, "texts of an answer stay apart", said([text("A"), text("B")]), said("AB")],
  [anthropic, "where a text is cut", said([text("AB"), text("C")]), said([text("A"), text("BC")])],
  [anthropic, "the order of blocks", said([text("A"), text("B")]), said([text("B"), text("A")])],
  [anthropic, "a result and its text", result("A"), user("A")],
  [chat, "a call's id", call("{}"), call("{}", { id: "call_2" })],
  [responses, "a call's id", item("{}"), item("{}", { call_id: "call_2" })],
  [anthropic, "a call's id", use({}), use({}, { id: "toolu_2" })],
  [anthropic, "which call a result answers", result("r"), result("r", { tool_use_id: "toolu_2" })],
  [anthropic, "that a result is an error", result("r"), result("r", { is_error: true })],
  [
    anthropic,
    "another caller",
    use({}),
    use({}, { caller: { type: "code_execution_20250825", tool_id: "t" } }),
  ],
  [chat, "the name of a call", call("{}"), call("{}", { function: { name: "g", arguments: "{}" } })],
  [chat, "the kind of a call", call("{}"), call("{}", { type: "custom" })],
  [chat, "an argument", call('{"a":1}'), call('{"a":2}')],
  [chat, "a number and its text", call('{"a":1}'), call('{"a":"1"}')],
  [chat, "a null among arguments", call('{"a":null}'), call("{}")],
  [chat, "an empty argument", call('{"a":""}'), call("{}")],
  [chat, "whitespace inside an argument", call('{"a":"x y"}'), call('{"a":"x  y"}')],
  [chat, "large integers", call('{"a":9007199254740993}'), call('{"a":9007199254740992}')],
  [chat, "the order of a list", call('{"a":[1,2]}'), call('{"a":[2,1]}')],
  [chat, "arguments that are no JSON", call('{"a": 1'), call('{"a":1')],
  [chat, "arguments that are no JSON, and their text as JSON", call("{a}"), call('"{a}"')],
  [chat, "a cache mark among arguments", call('{"cache_control":1}'), call("{}")],
  [chat, "an id among arguments", call('{"id":1}'), call('{"id":2}')],
  [anthropic, "an id in an input", use({ id: "a" }), use({ id: "b" })],
  [
    anthropic,
    "a lone half of a pair",
    '{"role":"user","content":"\\ud83d"}',
    '{"role":"user","content":"\\udea2"}',
  ],
  [
    anthropic,
    "a lone half and the sign for what is lost",
    '{"role":"user","content":"\\ud83d"}',
    '{"role":"user","content":"\\ufffd"}',
  ],
  [
    anthropic,
    "halves in the wrong order",
    '{"role":"user","content":"\\udea2\\ud83d"}',
    '{"role":"user","content":"\\ud83d\\udea2"}',
  ],
  [anthropic, "an image", image("AAAA"), image("AAAB")],
  [
    chat,
    "an image's detail",
    user([{ type: "image_url", image_url: { url: "u", detail: "low" } }]),
    user([{ type: "image_url", image_url: { url: "u" } }]),
  ],
  [chat, "a refusal", said(null, { refusal: "No" }), said("No")],
  [chat, "a field that nobody knows", user("A"), user("A", { weight: 0 })],
  [anthropic, "a block's field that nobody knows", said([text("A")]), said([text("A", { mood: false })])],
  [chat, "a name", user("A"), user("A", { name: "Ann" })],
  [
    responses,
    "which item is meant",
    { type: "item_reference", id: "a" },
    { type: "item_reference", id: "b" },
  ],
  [
    responses,
    "a summary of the server",
    { type: "compaction", encrypted_content: "a" },
    { type: "compaction", encrypted_content: "b" },
  ],
  [
    responses,
    "an item's type",
    { type: "function_call_output", call_id: "c", output: "r" },
    { type: "custom_tool_call_output", call_id: "c", output: "r" },
  ],
  [
    responses,
    "the input of a custom tool",
    { type: "custom_tool_call", call_id: "c", name: "f", input: "{}" },
    { type: "custom_tool_call", call_id: "c", name: "f", input: "{ }" },
  ],
];

describe("a content key", () => {
  it.each(different)("%s: different: %s", (dialect, _reason, one, other) => {
    expect(key(dialect, other)).toMatch(/^[\w-]{22}$/);
    expect(key(dialect, one)).not.toBe(key(dialect, other));
  });
});

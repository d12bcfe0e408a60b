import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messagesOf, prefixOf, readRequest } from "../../../src/dialects/request/read.ts";
import { maxMembers, maxMessages } from "../../../src/dialects/request/walk.ts";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { Defect, type Failure, Refusal } from "../../../src/failure.ts";
import { scanDocument } from "../../../src/log/scanner.ts";
import { text, utf8 } from "../../log/json-text.ts";
import { asked, style, written } from "./bodies.ts";

function refusal(act: () => unknown): Failure | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
}

const read = (dialect: WireDialect, body: unknown) => readRequest(dialect, utf8(body));
const user = { role: "user", content: "hi" };

describe("what is refused", () => {
  it.each<[WireDialect, unknown, string, string | undefined]>([
    ["openai-chat", "", "bad-json", "byte 0"],
    ["openai-chat", '{"model":"m","messages":[{}]', "bad-json", "byte 28"],
    ["openai-chat", '{"model":"m","messages":[{}]}x', "bad-json", "byte 29"],
    ["openai-chat", '{"model":"m","messages":[{},]}', "bad-json", "byte 28"],
    ["openai-chat", '{"model":"m","messages":[{}],}', "bad-json", "byte 29"],
    ["openai-chat", '{"model":"m","messages":[,{}]}', "bad-json", "byte 25"],
    ["anthropic", '{"model":"m" "messages":[]}', "bad-json", "byte 13"],
    ["anthropic", "[]", "bad-request", undefined],
    ["anthropic", '"model"', "bad-request", undefined],
    ["anthropic", { model: "m" }, "bad-request", "messages"],
    ["anthropic", { model: "m", messages: null }, "bad-request", "messages"],
    ["anthropic", { model: "m", messages: "hi" }, "bad-request", "messages"],
    ["openai-chat", { model: "m", messages: { role: "user" } }, "bad-request", "messages"],
    ["openai-responses", { model: "m" }, "bad-request", "input"],
    ["openai-responses", { model: "m", previous_response_id: "r" }, "bad-request", "input"],
    ["openai-responses", { model: "m", input: 4 }, "bad-request", "input"],
    ["openai-responses", { input: "hi" }, "bad-request", "model"],
    ["openai-responses", { model: 7, input: "hi", conversation: "c" }, "bad-request", "model"],
    ["openai-chat", { model: "", messages: [user] }, "bad-request", "model"],
    ["openai-chat", { model: null, messages: [user] }, "bad-request", "model"],
    ["openai-chat", { model: "m", messages: [user, "x"] }, "bad-request", "messages[1]"],
    [
      "openai-chat",
      { model: "m", messages: [{ role: "system", content: "s" }, null] },
      "bad-request",
      "messages[1]",
    ],
    ["openai-chat", '{"model":"m","messages":[],"model":"n"}', "bad-request", "model"],
    ["openai-chat", '{"model":"m","messages":[],"m\\u006fdel":"n"}', "bad-request", "model"],
    ["anthropic", '{"model":"m","messages":[],"X 1":1,"X 1":2}', "bad-request", "byte 35"],
    ["openai-chat", `{"model":"m","messages":[{"a":${"[".repeat(600)}`, "too-deep", "byte 539"],
  ])("%s %j: %s", (dialect, body, code, at) => {
    const found = refusal(() => read(dialect, body));
    expect([found?.code, found?.at]).toEqual([code, at]);
  });

  it("is more than any client sends", () => {
    const list = (count: number) => `{"model":"m","messages":[${"{},".repeat(count - 1)}{}]}`;
    expect(read("openai-chat", list(maxMessages)).messages).toHaveLength(maxMessages);
    expect(refusal(() => read("openai-chat", list(maxMessages + 1)))).toMatchObject({
      code: "too-large",
      at: "messages",
    });
    const wide = Array.from({ length: maxMembers }, (_, n) => [`k${n}`, n]);
    const body = { model: "m", messages: [], ...Object.fromEntries(wide) };
    expect(refusal(() => read("openai-chat", body))?.code).toBe("too-large");
  });

  it("is all that is no JSON, and nothing else is called so", () => {
    fc.assert(
      fc.property(
        asked,
        style,
        fc.nat(),
        fc.constantFrom(...'{}[],:"\\x0 \n'),
        ({ dialect, members }, choices, at, put) => {
          const body = utf8(written(members, choices));
          body[at % body.length] = put.charCodeAt(0);
          const broken = refusal(() => scanDocument(body)) !== undefined;
          const code = refusal(() => readRequest(dialect, body))?.code;
          if (broken) expect(code).toBeDefined();
          else expect(code === undefined || code === "bad-request").toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("is a prefix that does not end behind a message", () => {
    const body = { model: "m", messages: [user, user] };
    expect(() => readRequest("anthropic", utf8(body), { bytes: 5, count: 1 })).toThrow(Defect);
    expect(() => readRequest("anthropic", utf8(body), { bytes: 40, count: 1 })).toThrow(Defect);
    expect(() =>
      readRequest("anthropic", utf8({ model: "m", messages: [] }), { bytes: 20, count: 1 }),
    ).toThrow(Defect);
    const request = readRequest("anthropic", utf8(body));
    expect(() => prefixOf(request, 3)).toThrow(Defect);
    const behind = readRequest("anthropic", request.body, prefixOf(request, 2)!);
    expect(() => prefixOf(behind, 1)).toThrow(Defect);
  });
});

describe("the members that a gateway needs", () => {
  const chat = { model: "m", messages: [user] };
  it.each<[WireDialect, object, object]>([
    ["openai-chat", chat, { model: "m", stream: false, n: 1, maxOutput: undefined, includeUsage: false }],
    [
      "openai-chat",
      { ...chat, stream: true, n: 3, stream_options: { include_usage: true } },
      { stream: true, n: 3, includeUsage: true },
    ],
    [
      "openai-chat",
      { ...chat, stream: "true", n: 0.5, stream_options: [true] },
      { stream: false, n: 1, includeUsage: false },
    ],
    ["openai-chat", { ...chat, max_tokens: 7 }, { maxOutput: 7 }],
    ["openai-chat", { ...chat, max_tokens: 7, max_completion_tokens: 9 }, { maxOutput: 9 }],
    ["openai-chat", { ...chat, max_tokens: 7, max_completion_tokens: null }, { maxOutput: 7 }],
    ["openai-chat", { ...chat, max_output_tokens: 7 }, { maxOutput: undefined }],
    ["anthropic", { ...chat, max_tokens: 7, n: 2 }, { maxOutput: 7, n: 1 }],
    ["anthropic", { ...chat, max_tokens: -1 }, { maxOutput: undefined }],
    ["openai-responses", { model: "m", input: [user], max_output_tokens: 5 }, { maxOutput: 5 }],
    [
      "openai-responses",
      { model: "m", input: "x", previous_response_id: "r" },
      { previousResponse: "r", managed: true },
    ],
    [
      "openai-responses",
      { model: "m", input: "x", conversation: "c" },
      { managed: { because: "conversation" } },
    ],
    ["openai-responses", { model: "m", input: "x", conversation: null }, { managed: true }],
    [
      "openai-responses",
      { model: "m", input: "x", background: true },
      { managed: { because: "background" } },
    ],
    ["openai-responses", { model: "m", input: "x", background: false }, { managed: true }],
    [
      "openai-responses",
      { prompt: { id: "p" } },
      { managed: { because: "prompt" }, model: "", messages: [], list: { start: 0, end: 0 } },
    ],
    ["openai-chat", { ...chat, audio: { voice: "v" } }, { managed: { because: "audio" } }],
    ["anthropic", { ...chat, thread: { type: "create" } }, { managed: { because: "thread" } }],
    [
      "anthropic",
      { ...chat, container: "c", context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
      { managed: true },
    ],
  ])("%s %j", (dialect, body, expected) => {
    expect(read(dialect, body)).toMatchObject(expected);
  });
});

describe("the envelope", () => {
  const parts = (dialect: WireDialect, body: object) => {
    const { envelope } = read(dialect, body);
    return Object.fromEntries(Object.entries(envelope).map(([name, raw]) => [name, text(raw as Uint8Array)]));
  };
  const message = (role: string, content: string) => ({ role, content });

  it("of a chat is its leading system and developer messages; later ones stay messages", () => {
    const messages = [message("system", "a"), message("developer", "b"), user, message("system", "c")];
    const body = { model: "m", stream: true, messages, temperature: 1, n: 2, user: "u", seed: 12 };
    expect(parts("openai-chat", body)).toEqual({
      system: JSON.stringify(messages.slice(0, 2)),
      params: '{"temperature":1,"seed":12}',
    });
    expect(messagesOf(read("openai-chat", body)).map(text)).toEqual(
      messages.slice(2).map((one) => JSON.stringify(one)),
    );
  });

  it("of Responses is its instructions and leading items", () => {
    const items = [{ type: "message", ...message("developer", "b") }, message("system", "c")];
    const input = [...items, user];
    expect(parts("openai-responses", { model: "m", input })).toEqual({ system: JSON.stringify(items) });
    expect(parts("openai-responses", { model: "m", instructions: "a", input })).toEqual({
      system: JSON.stringify(["a", ...items]),
    });
    expect(parts("openai-responses", { model: "m", instructions: "a", input: "x", store: false })).toEqual({
      system: '"a"',
      params: '{"store":false}',
    });
    expect(parts("openai-responses", { model: "m", instructions: null, input: "x" })).toEqual({});
  });

  it("of Anthropic is its system; a system message among the messages stays there", () => {
    const messages = [message("system", "x"), user];
    const request = read("anthropic", { model: "m", system: "s", messages, max_tokens: 5 });
    expect(request.messages).toHaveLength(2);
    expect(parts("anthropic", { model: "m", system: "s", messages, max_tokens: 5 })).toEqual({
      system: '"s"',
      params: '{"max_tokens":5}',
    });
  });

  it("does not change when cache marks move; a schema may have a member of that name", () => {
    const cache_control = { type: "ephemeral" };
    const input_schema = { properties: { cache_control: { type: "string" } } };
    const system = [{ type: "text", text: "a" }];
    const tools = [{ name: "t", input_schema }];
    const plain = parts("anthropic", { model: "m", messages: [], system, tools });
    const marked = { system: [{ ...system[0], cache_control }], tools: [{ cache_control, ...tools[0] }] };
    expect(parts("anthropic", { model: "m", messages: [], ...marked, cache_control })).toEqual(plain);
    expect(plain).toEqual({ system: JSON.stringify(system), tools: JSON.stringify(tools) });
  });
});

describe("a text input", () => {
  it("is one user message, its bytes as they are, and has no prefix to go on behind", () => {
    const request = read("openai-responses", '{"input": "a\\u0041\\/", "model":"m"}');
    expect(messagesOf(request).map(text)).toEqual(['{"role":"user","content":"a\\u0041\\/"}']);
    expect(prefixOf(request, 1)).toBeUndefined();
  });
});

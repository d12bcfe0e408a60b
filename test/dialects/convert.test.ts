/** Conversations in another dialect. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { convertMessages } from "../../src/dialects/convert.ts";
import { type DialectName, dialectNames } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { text, utf8 } from "../log/json-text.ts";
import { play, step } from "./conversations.ts";

const png = "data:image/png;base64,AAAA";
const pdf = "data:application/pdf;base64,JVBE";

/** One conversation as each dialect writes it. */
const told: Record<DialectName, object[]> = {
  "openai-chat": [
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: png } },
        { type: "file", file: { filename: "document.pdf", file_data: pdf } },
      ],
    },
    {
      role: "assistant",
      content: "I will.",
      tool_calls: [
        { id: "a", type: "function", function: { name: "run", arguments: '{"n":1}' } },
        { id: "b", type: "function", function: { name: "run", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "b", content: "two" },
    { role: "tool", tool_call_id: "a", content: "" },
    { role: "assistant", content: "Done." },
    { role: "user", content: "thanks" },
  ],
  "openai-responses": [
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "look" },
        { type: "input_image", image_url: png, detail: "auto" },
        { type: "input_file", filename: "document.pdf", file_data: pdf },
      ],
    },
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "I will.", annotations: [] }],
    },
    { type: "function_call", call_id: "a", name: "run", arguments: '{"n":1}' },
    { type: "function_call", call_id: "b", name: "run", arguments: "{}" },
    { type: "function_call_output", call_id: "b", output: "two" },
    { type: "function_call_output", call_id: "a", output: "" },
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Done.", annotations: [] }],
    },
    { type: "message", role: "user", content: "thanks" },
  ],
  anthropic: [
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBE" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I will." },
        { type: "tool_use", id: "a", name: "run", input: { n: 1 } },
        { type: "tool_use", id: "b", name: "run", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "b", content: "two" },
        { type: "tool_result", tool_use_id: "a", content: "" },
      ],
    },
    { role: "assistant", content: "Done." },
    { role: "user", content: "thanks" },
  ],
};

const convert = (from: DialectName, to: DialectName, messages: readonly object[]): unknown[] =>
  convertMessages(from, to, messages.map(utf8)).map((bytes) => JSON.parse(text(bytes)));

const directions = dialectNames.flatMap((from) =>
  dialectNames.map((to): [DialectName, DialectName] => [from, to]),
);

describe("a conversation", () => {
  it.each(directions)("[P33] of %s reads in %s as if it had been held there", (from, to) => {
    expect(convert(from, to, told[from])).toEqual(told[to]);
  });

  it("[P33] in its own dialect stays the very bytes", () => {
    const messages = told.anthropic.map(utf8);
    for (const [index, bytes] of convertMessages("anthropic", "anthropic", messages).entries()) {
      expect(bytes).toBe(messages[index]);
    }
  });

  it("[P33] loses thinking, which is worth nothing to another provider", () => {
    const thought = { type: "thinking", thinking: "secret", signature: "s" };
    const claude = [
      { role: "user", content: "go" },
      { role: "assistant", content: [thought, { type: "text", text: "ok" }] },
    ];
    const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "secret" }] };
    const items = [{ role: "user", content: "go" }, reasoning, { role: "assistant", content: "ok" }];
    const chat = [
      { role: "user", content: "go" },
      { role: "assistant", content: "ok", reasoning_content: "secret" },
    ];
    for (const [from, messages] of [
      ["anthropic", claude],
      ["openai-responses", items],
      ["openai-chat", chat],
    ] as const) {
      for (const to of dialectNames) {
        if (to === from) continue;
        const out = convert(from, to, messages);
        expect(out).toHaveLength(2);
        expect(JSON.stringify(out)).not.toContain("secret");
      }
    }
  });

  it("[P33] gets ids and names that the target takes, equal ones for a call and its result", () => {
    const id = `call|${"x".repeat(450)}`;
    const items = [
      { role: "user", content: "go" },
      { type: "custom_tool_call", call_id: id, name: "mcp.files/read", input: "*** Begin" },
      { type: "custom_tool_call_output", call_id: id, output: "ok" },
    ];
    const [, use, result] = convert("openai-responses", "anthropic", items) as {
      content: { id: string; name: string; input: object; tool_use_id: string }[];
    }[];
    const called = use!.content[0]!;
    expect(called.id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(called.name).toBe("mcp_files_read");
    expect(called.input).toEqual({ input: "*** Begin" });
    expect(result!.content[0]!.tool_use_id).toBe(called.id);
    const [, chat] = convert("openai-responses", "openai-chat", items) as { tool_calls: { id: string }[] }[];
    expect(chat!.tool_calls[0]!.id).toBe(called.id);
    const other = items.map((item) =>
      "call_id" in item ? { ...item, call_id: id.replace("|", "/") } : item,
    );
    const [, second] = convert("openai-responses", "anthropic", other) as { content: { id: string }[] }[];
    expect(second!.content[0]!.id).not.toBe(called.id);
  });

  it("[P33] says in words what the target has no shape for", () => {
    const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const chat = [{ role: "user", content: [{ type: "text", text: "hear" }, sound] }];
    expect(convert("openai-chat", "anthropic", chat)).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "hear" },
          { type: "text", text: "[audio/wav]" },
        ],
      },
    ]);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const claude = [
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "see", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "seen" }, image] },
        ],
      },
    ];
    expect(convert("anthropic", "openai-chat", claude)[2]).toEqual({
      role: "tool",
      tool_call_id: "a",
      content: "seen\n[image/png]",
    });
    expect(convert("anthropic", "openai-responses", claude)[2]).toMatchObject({
      output: [
        { type: "input_text", text: "seen" },
        { type: "input_image", image_url: png },
      ],
    });
  });

  it("[P33] begins with a user message and keeps system messages where Anthropic takes them", () => {
    const reply = { role: "assistant", content: "hi" };
    const user = { role: "user", content: "go" };
    const system = { role: "developer", content: "mind this" };
    const roles = (messages: readonly object[]) =>
      (convert("openai-chat", "anthropic", messages) as { role: string }[]).map(({ role }) => role);
    expect(roles([reply, user])).toEqual(["user", "assistant", "user"]);
    expect(roles([user, system, reply])).toEqual(["user", "system", "assistant"]);
    expect(roles([user, system, user, reply, system])).toEqual(["user", "user", "user", "assistant", "user"]);
  });
});

/** What a conversation says and does, in words that no dialect owns. */
function gist(dialect: DialectName, messages: readonly Uint8Array[]) {
  const read = messages.map((bytes) => dialectOf(dialect).read(bytes, "m"));
  // Anthropic's users may say something beside their results: elsewhere that is a message of its own.
  const spoken = read.filter(({ role }) => role === "user" || role === "tool").flatMap(({ parts }) => parts);
  const typed = spoken.flatMap((part) => (part.type === "text" ? part.text.split("\n") : []));
  return {
    typed: typed.filter((line) => line.trim() !== "" && line !== "[image/png]"),
    calls: read.flatMap(({ calls }) => calls),
    results: read.flatMap(({ results }) => results),
  };
}

describe.each(directions.filter(([from, to]) => from !== to))("any conversation of %s in %s", (from, to) => {
  it("[P33] is legal there and says, calls and answers the same", () => {
    let calls = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const dialect = dialectOf(from);
        const messages = dialect.render(play(dialect, steps));
        const out = convertMessages(from, to, messages);
        expect(violations(to, out), out.map(text).join("\n")).toEqual([]);
        const [before, after] = [gist(from, messages), gist(to, out)];
        calls += before.calls.length;
        expect(after.calls).toEqual(before.calls);
        expect(after.results).toEqual(before.results);
        // Words that have no place of their own in the target come as a user's.
        expect(after.typed.filter((line) => line !== "mind this" && !line.startsWith("["))).toEqual(
          before.typed.filter((line) => !line.startsWith("[")),
        );
      }),
      { numRuns: 300 },
    );
    expect(calls).toBeGreaterThan(100);
  });
});

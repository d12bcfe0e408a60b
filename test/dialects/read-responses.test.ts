import { describe, expect, it } from "vitest";
import type { NativeMessage } from "../../src/dialects/dialect.ts";
import { item, refusalOf } from "./native.ts";

const t = (text: string) => ({ type: "text", text });
const message = (role: string, content: unknown, more: object = {}) => ({
  type: "message",
  role,
  content,
  ...more,
});
const plain = (role: NativeMessage["role"], ...parts: unknown[]) => ({
  role,
  parts,
  calls: [],
  results: [],
  mend: false,
});
const called = (id: string, name: string, args: string) => ({
  ...plain("assistant", { type: "call", id, name, args }),
  calls: [id],
});
const answered = (call: string, content: unknown[], error = false) => ({
  ...plain("tool", { type: "result", call, content, error }),
  results: [call],
});
const image = "data:image/webp;base64,AA";

describe("an item of Responses", () => {
  it.each<[string, unknown, unknown]>([
    ["an easy message", { role: "user", content: "hi" }, plain("user", t("hi"))],
    [
      "a message of texts and files",
      message("user", [
        { type: "input_text", text: "look" },
        { type: "input_image", image_url: image, detail: "auto" },
        { type: "input_file", file_id: "file_1" },
      ]),
      plain("user", t("look"), { type: "media", note: "image/webp" }, { type: "media", note: "file" }),
    ],
    ["a developer message", message("developer", "mind this"), plain("system", t("mind this"))],
    [
      "a reply with a refusal",
      message("assistant", [
        { type: "output_text", text: "well", annotations: [] },
        { type: "refusal", refusal: "no" },
      ]),
      plain("assistant", t("well"), t("no")),
    ],
    [
      "reasoning",
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "first" }],
        content: [{ type: "reasoning_text", text: "then" }],
        encrypted_content: "gAAA",
      },
      plain("assistant", { type: "thinking", text: "first\nthen" }),
    ],
    [
      "a function call",
      { type: "function_call", call_id: "c", name: "run", arguments: '{"a": 1}' },
      called("c", "run", '{"a": 1}'),
    ],
    [
      "a custom call",
      { type: "custom_tool_call", call_id: "c", name: "patch", input: "*** Begin" },
      called("c", "patch", "*** Begin"),
    ],
    [
      "a local shell call",
      { type: "local_shell_call", id: "l", call_id: "c", action: { type: "exec", command: ["ls"] } },
      called("c", "local_shell", '{"type":"exec","command":["ls"]}'),
    ],
    [
      "a shell call",
      { type: "shell_call", call_id: "c", action: { commands: ["ls"] } },
      called("c", "shell", '{"commands":["ls"]}'),
    ],
    [
      "a patch call",
      { type: "apply_patch_call", call_id: "c", operation: { type: "delete_file", path: "a" } },
      called("c", "apply_patch", '{"type":"delete_file","path":"a"}'),
    ],
    [
      "a computer call",
      { type: "computer_call", id: "cu", call_id: "c", action: { type: "wait" } },
      called("c", "computer", '{"type":"wait"}'),
    ],
    [
      "an output that is a text",
      { type: "function_call_output", call_id: "c", output: "done" },
      answered("c", [t("done")]),
    ],
    [
      "an output in blocks",
      {
        type: "function_call_output",
        call_id: "c",
        output: [
          { type: "input_text", text: "done" },
          { type: "input_image", image_url: image },
        ],
      },
      answered("c", [t("done"), { type: "media", note: "image/webp" }]),
    ],
    [
      "a local shell's output, which names the call as its id",
      { type: "local_shell_call_output", id: "c", output: "{}" },
      answered("c", [t("{}")]),
    ],
    [
      "a shell's output",
      {
        type: "shell_call_output",
        call_id: "c",
        output: [{ stdout: "a", stderr: "b", outcome: { type: "exit", exit_code: 0 } }],
      },
      answered("c", [t("a\nb")]),
    ],
    [
      "a patch that failed",
      { type: "apply_patch_call_output", call_id: "c", status: "failed", output: "no such file" },
      answered("c", [t("no such file")], true),
    ],
    [
      "a screenshot",
      {
        type: "computer_call_output",
        call_id: "c",
        output: { type: "computer_screenshot", image_url: image },
      },
      answered("c", [{ type: "media", note: "image/webp" }]),
    ],
  ])("[P20] %s", (_, value, expected) => {
    expect(item(value)).toEqual(expected);
  });

  it.each<[string, object, string]>([
    [
      "a search",
      { type: "web_search_call", id: "ws_1", action: { type: "search", query: "tides" } },
      "tides",
    ],
    ["a compaction", { type: "compaction", id: "cmp_1", encrypted_content: "hidden" }, "cmp_1"],
    ["an mcp call", { type: "mcp_call", id: "m", name: "f", arguments: "{}", output: "answer" }, "answer"],
    ["a type nobody knows yet", { type: "dream_call", id: "d", dream: "sheep" }, "sheep"],
    [
      "a search that the server runs",
      { type: "tool_search_call", execution: "server", call_id: null },
      "server",
    ],
  ])("[P20] that is %s is the model's, as attached text without what is encrypted", (_, value, shown) => {
    const { role, parts, calls } = item(value);
    expect({ role, calls }).toEqual({ role: "assistant", calls: [] });
    expect(parts).toEqual([{ type: "text", text: expect.stringContaining(shown), attached: true }]);
    expect(JSON.stringify(parts)).not.toContain("hidden");
  });

  it("[P20] that brings an image counts it as an image, never as text", () => {
    const generated = { type: "image_generation_call", id: "ig", status: "completed" };
    for (const result of ["A".repeat(100_000), "AAAA"]) {
      const { parts } = item({ ...generated, result });
      expect(parts.filter((part) => part.type === "media")).toHaveLength(1);
      expect(JSON.stringify(parts).length).toBeLessThan(1_000);
    }
    const outputs = [{ type: "image", url: `data:image/png;base64,${"A".repeat(5_000)}` }];
    const ran = item({ type: "code_interpreter_call", id: "ci", code: "plot()", outputs });
    expect(ran.parts).toContainEqual({ type: "media", note: "image/png" });
    expect(JSON.stringify(ran.parts).length).toBeLessThan(1_000);
  });

  it("[P23] of the model that says nothing is to be left out", () => {
    for (const content of ["", [], null, [{ type: "output_text", text: "" }]]) {
      expect(item(message("assistant", content)).mend).toBe(true);
    }
    expect(item(message("assistant", " ")).mend).toBe(false);
  });

  it.each<[string, unknown, string]>([
    ["no object", "hi", "messages[2]"],
    ["a Chat tool message", { role: "tool", tool_call_id: "c", content: "x" }, "messages[2].tool_call_id"],
    ["Chat calls", { role: "assistant", tool_calls: [] }, "messages[2].tool_calls"],
    ["an unknown role", message("critic", "x"), "messages[2].role"],
    ["no role", { content: "x" }, "messages[2].role"],
    ["a Chat block", message("user", [{ type: "text", text: "x" }]), "messages[2].content[0].type"],
    ["an Anthropic block", message("assistant", [{ type: "tool_use" }]), "messages[2].content[0].type"],
    [
      "a user message without a text",
      message("user", [{ type: "input_text", text: "" }]),
      "messages[2].content",
    ],
    [
      "a text that is none",
      message("user", [{ type: "input_text", text: 3 }]),
      "messages[2].content[0].text",
    ],
    ["a reference", { type: "item_reference", id: "msg_1" }, "messages[2].type"],
    ["a trigger", { type: "compaction_trigger" }, "messages[2].type"],
    ["a call without an id", { type: "function_call", name: "f", arguments: "" }, "messages[2].call_id"],
    ["a call without a name", { type: "function_call", call_id: "c", arguments: "" }, "messages[2].name"],
    ["a call without arguments", { type: "custom_tool_call", call_id: "c", name: "f" }, "messages[2].input"],
    ["an output without an output", { type: "function_call_output", call_id: "c" }, "messages[2].output"],
    ["an output for nobody", { type: "function_call_output", output: "" }, "messages[2].call_id"],
  ])("[P21] is refused: %s", (_, value, at) => {
    expect(refusalOf("openai-responses", value)).toMatchObject({ code: "bad-message", at });
  });
});

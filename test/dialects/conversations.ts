/** Random conversations of every dialect: what clients send, in an order that is kept, in forms that compaction gives it. */
import fc from "fast-check";
import type { Dialect, NativeMessage, RenderItem, Role } from "../../src/dialects/dialect.ts";
import { orderOf } from "../../src/dialects/order.ts";
import { scanDocument } from "../../src/log/scanner.ts";
import { utf8 } from "../log/json-text.ts";

/** What a client does next: a message of some kind with pieces that may be empty, and what is then done to its form. */
export interface Step {
  kind: "user" | "assistant" | "results" | "system";
  texts: string[];
  thinking: number[];
  calls: number;
  /** Which of the open calls are answered, and whether in one message, with a text, with the text in front. */
  answer: boolean[];
  joined: boolean;
  says: "nothing" | "behind" | "before";
  form: "none" | "thinking" | "prune" | "arguments" | "media";
}

export const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    "user",
    "assistant",
    "assistant",
    "assistant",
    "results",
    "results",
    "results",
    "system",
  ),
  texts: fc.array(fc.constantFrom("", " ", "hello", "do it"), { maxLength: 3 }),
  thinking: fc.array(fc.nat({ max: 4 }), { maxLength: 2 }),
  calls: fc.constantFrom(0, 0, 1, 2, 3),
  answer: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  joined: fc.boolean(),
  says: fc.constantFrom("nothing", "nothing", "behind", "before"),
  form: fc.constantFrom("none", "none", "thinking", "prune", "arguments", "media"),
});

let serial = 0;
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } };

function anthropicMessages(step: Step, open: readonly string[]): unknown[] {
  const texts = step.texts.map((value) => ({ type: "text", text: value }));
  if (step.kind === "system") return [{ role: "system", content: "mind this" }];
  if (step.kind === "user")
    return [{ role: "user", content: [...texts.filter(({ text }) => text.trim() !== ""), image] }];
  if (step.kind === "assistant") {
    const uses = Array.from({ length: step.calls }, () => ({
      type: "tool_use",
      id: `toolu_${serial++}`,
      name: "f",
      input: { path: "long", content: "x" },
    }));
    const content: unknown[] = [...texts, ...uses];
    for (const at of step.thinking) content.splice(at, 0, { type: "thinking", thinking: "", signature: "s" });
    return [{ role: "assistant", content }];
  }
  const results = open
    .filter((_, index) => step.answer[index % 3])
    .map((id) => ({ type: "tool_result", tool_use_id: id, content: [...texts, image] }));
  if (results.length === 0) return [];
  const note = { type: "text", text: "and" };
  if (!step.joined) return results.map((result) => ({ role: "user", content: [result] }));
  const content = { nothing: results, behind: [...results, note], before: [note, ...results] }[step.says];
  return [{ role: "user", content }];
}

function openAiMessages(step: Step, open: readonly string[]): unknown[] {
  const texts = step.texts.map((value) => ({ type: "text", text: value }));
  if (step.kind === "system") return [{ role: "developer", content: "mind this" }];
  if (step.kind === "user") {
    return [
      {
        role: "user",
        content: [...texts, { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
      },
    ];
  }
  if (step.kind === "assistant") {
    const calls = Array.from({ length: step.calls }, () => ({
      id: `call_${serial++}`,
      function: { name: "f", arguments: '{"path": "long"}' },
    }));
    return [{ role: "assistant", content: step.joined ? texts : (step.texts[0] ?? null), tool_calls: calls }];
  }
  return open
    .filter((_, index) => step.answer[index % 3])
    .map((id) => ({ role: "tool", tool_call_id: id, content: step.joined ? texts : (step.texts[0] ?? "") }));
}

function responsesItems(step: Step, open: readonly string[]): unknown[] {
  const content = step.texts.map((text) => ({ type: "output_text", text }));
  if (step.kind === "system") return [{ role: "developer", content: "mind this" }];
  if (step.kind === "user") {
    const texts = step.texts.map((text) => ({ type: "input_text", text }));
    const picture = { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" };
    return [{ type: "message", role: "user", content: [...texts, picture] }];
  }
  if (step.kind === "results")
    return open.flatMap((id, index) => (step.answer[index % 3] ? [output(id, step)] : []));
  const calls = Array.from({ length: step.calls }, (_, index) => responsesCall(step.thinking[index] ?? 0));
  const items: unknown[] =
    step.texts.length > 0 ? [{ type: "message", role: "assistant", content }, ...calls] : calls;
  for (const at of step.thinking) {
    items.splice(at, 0, { type: "reasoning", id: `rs_${serial++}`, summary: [], encrypted_content: "e" });
  }
  return items;
}

/** Calls of every type that a client answers, told apart by their ids. */
function responsesCall(kind: number): unknown {
  const call_id = `${["fn", "custom", "local", "shell", "screen"][kind]}_${serial++}`;
  const action = { type: "exec", command: ["ls"] };
  const types = [
    { type: "function_call", call_id, name: "f", arguments: '{"path": "long"}' },
    { type: "custom_tool_call", call_id, name: "f", input: "long" },
    { type: "local_shell_call", id: `lsh_${call_id}`, call_id, action, status: "completed" },
    { type: "shell_call", call_id, action: { commands: ["ls"] }, status: "completed" },
    {
      type: "computer_call",
      id: `cu_${call_id}`,
      call_id,
      action: { type: "screenshot" },
      status: "completed",
    },
  ];
  return types[kind];
}

function output(call_id: string, step: Step): unknown {
  const texts = step.texts.map((text) => ({ type: "input_text", text }));
  const outcome = { type: "exit", exit_code: 0 };
  switch (call_id.split("_")[0]) {
    case "custom":
      return { type: "custom_tool_call_output", call_id, output: step.texts[0] ?? "" };
    case "local":
      return { type: "local_shell_call_output", id: call_id, output: "done" };
    case "shell":
      return {
        type: "shell_call_output",
        call_id,
        output: step.texts.map((stdout) => ({ stdout, stderr: "", outcome })),
      };
    case "screen":
      return {
        type: "computer_call_output",
        call_id,
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,AA" },
      };
    default:
      return { type: "function_call_output", call_id, output: step.joined ? texts : (step.texts[0] ?? "") };
  }
}

function formOf(dialect: Dialect, form: Step["form"], bytes: Uint8Array): Uint8Array {
  switch (form) {
    case "none":
      return bytes;
    case "thinking":
      return dialect.withoutThinking(bytes) ?? bytes;
    case "prune":
      return (
        dialect.rewriteResults(bytes, ({ content }) =>
          content.map((_, i) => (i === 0 ? { text: "cut" } : { keep: i })),
        ) ?? bytes
      );
    case "arguments":
      return dialect.rewriteArguments(bytes, (value) => value.slice(0, 1)) ?? bytes;
    case "media":
      return dialect.withoutMedia(bytes, ({ note }) => `[${note}]`) ?? bytes;
  }
}

const messagesOf = {
  anthropic: anthropicMessages,
  "openai-chat": openAiMessages,
  "openai-responses": responsesItems,
};

/** Plays steps the way a native route does: order first, closed calls as results of our own, then the message. */
export function play(dialect: Dialect, steps: readonly Step[]): RenderItem[] {
  const items: RenderItem[] = [];
  let open: string[] = [];
  let after: Role | undefined;
  const take = (bytes: Uint8Array, form: Step["form"]) => {
    const native: NativeMessage = dialect.read(bytes, "m");
    const order = orderOf({ dialect: dialect.name, open, first: items.length === 0, after }, native);
    if (!order.ok) return;
    for (const id of order.closes) push(dialect.closedResult(id, "no result"), "none");
    push(bytes, form);
    open = order.opens;
  };
  const push = (bytes: Uint8Array, form: Step["form"]) => {
    const formed = formOf(dialect, form, bytes);
    if (formed.length > 0) scanDocument(formed);
    const { role, mend } = dialect.read(formed.length > 0 ? formed : bytes, "m");
    const item = { role, bytes: formed, mend };
    items.push(item);
    if (dialect.render([item]).length > 0) after = role;
  };
  take(dialect.userText("begin"), "none");
  for (const step of steps) {
    const messages = messagesOf[dialect.name](step, open);
    for (const message of messages) take(utf8(message), step.form);
  }
  for (const id of open) push(dialect.closedResult(id, "no result"), "none");
  return items;
}

/** What the strictest server of OpenAI Responses would say to an item list. See `legal.ts`. */
import { isEmptyContent, list, type Report, type Value } from "./legal-values.ts";

/** The output that each call of the client's wants; written apart from the reader's own table on purpose. */
const wanted: Readonly<Record<string, string>> = {
  function_call: "function_call_output",
  custom_tool_call: "custom_tool_call_output",
  local_shell_call: "local_shell_call_output",
  shell_call: "shell_call_output",
  apply_patch_call: "apply_patch_call_output",
  computer_call: "computer_call_output",
};

/** Open calls: the output that each wants, and where the call stands. */
type Waiting = Map<unknown, { wants: string; at: number }>;

export function checkResponses(items: readonly Value[], report: Report): void {
  const waiting: Waiting = new Map();
  let answering = false;
  const missed = () => {
    for (const { at } of waiting.values()) report(at, "call-without-result");
    waiting.clear();
  };
  items.forEach((item, at) => {
    const type = typeof item.type === "string" ? item.type : "message";
    if (type.endsWith("_call_output")) {
      answering = true;
      checkOutput(item, type, at, waiting, report);
      return;
    }
    const replies = type !== "message" || item.role === "assistant";
    if (answering || !replies) missed();
    answering = false;
    const wants = wanted[type];
    if (wants !== undefined) {
      if (waiting.has(item.call_id)) report(at, "call-id-twice");
      if (type === "function_call" && typeof item.arguments !== "string")
        report(at, "call-without-arguments");
      waiting.set(item.call_id, { wants, at });
    } else if (type === "message") checkMessage(item, at, report);
    else if (type === "reasoning" && !isReply(items[at + 1])) report(at, "reasoning-without-item");
    else if (type === "item_reference") report(at, "reference");
  });
  missed();
}

function isReply(item: Value | undefined): boolean {
  if (item === undefined) return false;
  const type = typeof item.type === "string" ? item.type : "message";
  return type === "message" ? item.role === "assistant" : !type.endsWith("_output");
}

function checkOutput(item: Value, type: string, at: number, waiting: Waiting, report: Report): void {
  const id = item.call_id ?? item.id;
  const call = waiting.get(id);
  waiting.delete(id);
  if (call === undefined) report(at, "result-without-call");
  else if (call.wants !== type) report(at, "result-of-another-type");
  const { output } = item;
  const isText = typeof output === "string";
  const fits =
    type === "shell_call_output"
      ? Array.isArray(output)
      : type === "computer_call_output"
        ? typeof output === "object"
        : isText || Array.isArray(output) || (type === "apply_patch_call_output" && output === undefined);
  if (!fits) report(at, "result-without-content");
}

const blocks: Readonly<Record<string, RegExp>> = {
  user: /^input_/,
  system: /^input_text$/,
  developer: /^input_text$/,
  assistant: /^(output_text|refusal|input_text)$/,
};

function checkMessage(item: Value, at: number, report: Report): void {
  const fine = blocks[String(item.role)];
  if (fine === undefined) {
    report(at, "unknown-role");
    return;
  }
  if (typeof item.content !== "string" && !Array.isArray(item.content)) report(at, "no-content");
  else if (isEmptyContent(item.content)) report(at, "empty-content");
  if (list(item.content).some(({ type }) => !fine.test(String(type)))) report(at, "block-of-another-role");
}

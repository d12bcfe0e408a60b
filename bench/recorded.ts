/**
 * Recorded sessions as the meter bench needs them: what each request appended, and what the provider reported for it.
 * Reads leniently: a line that cannot be read breaks the chain of requests there and nothing else.
 */
import type { ContentPart, Part } from "../src/dialects/dialect.ts";

export interface Reply {
  type: "reply";
  route: string;
  /** Reported input with all cache fields; `output` only where the log's number can be trusted. */
  prompt: number;
  output?: number;
  parts: Part[];
}

/** `break`: what stands before it says nothing about the request behind it (compaction, lost line, aborted reply). */
export type Entry = { type: "appended"; parts: Part[] } | Reply | { type: "break" };

interface Block {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
  input?: unknown;
  tool_use_id?: string;
  is_error?: boolean;
  content?: Content;
}
type Content = string | Block[];

const cut: Entry = { type: "break" };
const text = (value: string): ContentPart => ({ type: "text", text: value });

function blocksOf(content: Content | undefined): Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
}

function contentOf(content: Content | undefined): ContentPart[] {
  return blocksOf(content).map((block) =>
    block.type === "text" ? text(block.text ?? "") : { type: "media", note: block.type },
  );
}

function partOf(block: Block): Part {
  switch (block.type) {
    case "text":
      return text(block.text ?? "");
    case "thinking":
      return { type: "thinking", text: block.thinking ?? "" };
    case "redacted_thinking":
      return { type: "thinking", text: "" };
    case "toolCall":
    case "tool_use": {
      const args = JSON.stringify(block.arguments ?? block.input ?? {});
      return { type: "call", id: block.id ?? "", name: block.name ?? "", args };
    }
    case "tool_result":
      return {
        type: "result",
        call: block.tool_use_id ?? "",
        content: contentOf(block.content),
        error: block.is_error === true,
      };
    default:
      return { type: "media", note: block.type };
  }
}

/** Each line's value, or undefined where a line is no JSON object. */
function linesOf<Line>(file: string): (Line | undefined)[] {
  return file
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      try {
        return JSON.parse(line) as Line;
      } catch {
        return undefined;
      }
    });
}

interface PiLine {
  type: string;
  message?: {
    role: string;
    content?: Content;
    provider?: string;
    model?: string;
    stopReason?: string;
    command?: string;
    output?: string;
    excludeFromContext?: boolean;
    usage?: { input: number; output: number; cacheRead: number; cacheWrite: number };
  };
}

export function readPi(file: string): Entry[] {
  return linesOf<PiLine>(file).flatMap((line): Entry[] => {
    if (line === undefined || line.type === "compaction" || line.type === "model_change") return [cut];
    const message = line.message;
    if (message === undefined) return [];
    const parts = blocksOf(message.content).map(partOf);
    if (message.role === "bashExecution") {
      const shown = text(`${message.command ?? ""}\n${message.output ?? ""}`);
      return message.excludeFromContext === true ? [] : [{ type: "appended", parts: [shown] }];
    }
    if (message.role !== "assistant") return [{ type: "appended", parts }];
    const { usage, stopReason } = message;
    if (usage === undefined || stopReason === "aborted" || stopReason === "error") return [cut];
    const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
    return [
      { type: "reply", route: `${message.provider}/${message.model}`, prompt, output: usage.output, parts },
    ];
  });
}

interface ClaudeLine {
  type: string;
  subtype?: string;
  isSidechain?: boolean;
  isApiErrorMessage?: boolean;
  isCompactSummary?: boolean;
  message?: {
    id?: string;
    model?: string;
    content?: Content;
    usage?: {
      input_tokens?: number;
      cache_creation_input_tokens?: number;
      cache_read_input_tokens?: number;
    };
  };
}

/** One reply is spread over lines with one message id; an id that comes again later is a resumed copy and breaks the chain. */
export function readClaudeCode(file: string): Entry[] {
  const entries: Entry[] = [];
  const seen = new Set<string>();
  let open: (Reply & { id: string }) | undefined;
  for (const line of linesOf<ClaudeLine>(file)) {
    if (line === undefined || line.subtype?.endsWith("compact_boundary") || line.isCompactSummary === true) {
      entries.push(cut);
    }
    const message = line?.message;
    if (line === undefined || message === undefined || line.isSidechain === true) continue;
    const parts = blocksOf(message.content).map(partOf);
    if (line.type === "user") entries.push({ type: "appended", parts });
    if (line.type !== "assistant") continue;
    const id = message.id ?? "";
    if (open?.id === id) {
      open.parts.push(...parts);
      continue;
    }
    const usage = message.usage;
    if (seen.has(id) || line.isApiErrorMessage === true || usage === undefined) {
      entries.push(cut);
      continue;
    }
    seen.add(id);
    const cached = (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
    open = {
      type: "reply",
      id,
      route: `anthropic/${message.model}`,
      prompt: (usage.input_tokens ?? 0) + cached,
      parts,
    };
    entries.push(open);
  }
  return entries;
}

interface MiniSwe {
  messages: {
    role: string;
    content?: string | null;
    reasoning_content?: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[] | null;
    extra?: { response?: { model?: string; usage?: { prompt_tokens: number; completion_tokens: number } } };
  }[];
}

export function readMiniSwe(file: string): Entry[] {
  return (JSON.parse(file) as MiniSwe).messages.map((message): Entry => {
    const content = text(message.content ?? "");
    const response = message.extra?.response;
    if (message.role !== "assistant") return { type: "appended", parts: [content] };
    if (response?.usage === undefined) return cut;
    const calls = (message.tool_calls ?? []).map(
      (call): Part => ({
        type: "call",
        id: call.id,
        name: call.function.name,
        args: call.function.arguments,
      }),
    );
    return {
      type: "reply",
      route: `deepseek/${response.model}`,
      prompt: response.usage.prompt_tokens,
      output: response.usage.completion_tokens,
      parts: [content, ...calls],
    };
  });
}

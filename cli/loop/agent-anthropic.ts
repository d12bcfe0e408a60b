import Anthropic from "@anthropic-ai/sdk";
import type {
  Message,
  MessageParam,
  ThinkingConfigParam,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages/messages";
import type { Loop, LoopTools } from "./agent.ts";
import { toolSchema, tools } from "./tool-schemas.ts";

const mark = { cache_control: { type: "ephemeral" as const } };

/** Messages by Anthropic's client. */
export const anthropicLoop: Loop = async (loop) => {
  const { baseURL, apiKey = "key", headers, retries = 0, timeoutMs } = loop.options;
  const client = new Anthropic({
    apiKey,
    baseURL,
    maxRetries: retries,
    ...(headers === undefined ? {} : { defaultHeaders: headers }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const messages = loop.start<MessageParam>([]);
  while (loop.next()) {
    const { content, usage, stop_reason } = await ask(client, messages, loop);
    messages.push({ role: "assistant", content });
    const results = content.flatMap((block): ToolResultBlockParam[] =>
      block.type === "tool_use"
        ? [{ type: "tool_result", tool_use_id: block.id, content: loop.run(block.name, block.input) }]
        : [],
    );
    if (results.length > 0) messages.push({ role: "user", content: results });
    const { cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
    const input = usage.input_tokens + (written ?? 0) + (read ?? 0);
    await loop.answered({ input, output: usage.output_tokens, messages });
    if (stop_reason === "max_tokens" || stop_reason === "model_context_window_exceeded")
      throw new Error("the answer was cut at its length");
    if (results.length === 0)
      return content.map((block) => (block.type === "text" ? block.text : "")).join("");
  }
  return "";
};

const thinking: Record<"manual" | "adaptive", ThinkingConfigParam> = {
  manual: { type: "enabled", budget_tokens: 1_024 },
  adaptive: { type: "adaptive" },
};

function ask(client: Anthropic, messages: MessageParam[], { options, system }: LoopTools): Promise<Message> {
  const { model = "strict-1", maxOutput = 2_048, stream = false, cacheMarks = false, signal } = options;
  const definitions = tools.map((tool) => ({ ...tool, input_schema: toolSchema }));
  const request = {
    model,
    max_tokens: maxOutput,
    system: cacheMarks ? [{ type: "text" as const, text: system, ...mark }] : system,
    messages: cacheMarks ? marked(messages) : messages,
    tools: definitions,
    ...(options.thinking === undefined ? {} : { thinking: thinking[options.thinking] }),
  };
  const more = signal === undefined ? {} : { signal };
  return stream
    ? client.messages.stream(request, more).finalMessage()
    : client.messages.create(request, more);
}

/** As agents do it: the newest block carries the mark, so it moves with every request. */
function marked(messages: readonly MessageParam[]): MessageParam[] {
  const last = messages.at(-1);
  if (last === undefined || last.role === "system") return [...messages];
  const blocks =
    typeof last.content === "string" ? [{ type: "text" as const, text: last.content }] : last.content;
  const content = blocks.map((block, at) =>
    at === blocks.length - 1 && (block.type === "text" || block.type === "tool_result")
      ? { ...block, ...mark }
      : block,
  );
  return [...messages.slice(0, -1), { ...last, content }];
}

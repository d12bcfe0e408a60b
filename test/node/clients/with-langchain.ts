/** Tool loops of LangChain's models. */
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseMessageLike } from "@langchain/core/messages";
import { type AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import type { Provider } from "./provider.ts";
import { question, results, toolParameters } from "./said.ts";

const tool = {
  type: "function" as const,
  function: { name: "read_file", parameters: toolParameters as unknown as Record<string, unknown> },
};

export function openai({ url }: Provider, useResponsesApi: boolean, options = {}) {
  return new ChatOpenAI({
    model: "gpt-5.5",
    apiKey: "key",
    maxRetries: 0,
    useResponsesApi,
    ...options,
    configuration: { baseURL: url },
  }).bindTools([tool]);
}

export function anthropic({ url }: Provider, options = {}) {
  return new ChatAnthropic({
    model: "claude-opus-5-5",
    apiKey: "key",
    maxRetries: 0,
    maxTokens: 1000,
    ...options,
    anthropicApiUrl: url.replace(/\/v1$/, ""),
  }).bindTools([tool]);
}

type Model = ReturnType<typeof openai> | ReturnType<typeof anthropic>;

/** One user's message and the tool loop to its answer; with `thanks`, one more turn. */
export async function loop(
  model: Model,
  { stream, thanks = true }: { stream: boolean; thanks?: boolean },
): Promise<void> {
  const messages: BaseMessageLike[] = [new SystemMessage("Be brief."), new HumanMessage(question)];
  const ask = async () => {
    if (!stream) return await model.invoke(messages);
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await model.stream(messages)) {
      whole = whole === undefined ? (chunk as AIMessageChunk) : whole.concat(chunk as AIMessageChunk);
    }
    return whole!;
  };
  while (true) {
    const message = await ask();
    messages.push(message);
    const calls = message.tool_calls ?? [];
    for (const [i, { id }] of calls.entries()) {
      messages.push(new ToolMessage({ content: results[i] ?? "", tool_call_id: id ?? "" }));
    }
    // What it could not read as a call it keeps apart; the answer is then an error.
    for (const { id } of message.invalid_tool_calls ?? []) {
      messages.push(new ToolMessage({ content: "not JSON", tool_call_id: id ?? "" }));
    }
    if (messages.at(-1) === message) break;
  }
  if (!thanks) return;
  messages.push(new HumanMessage("Thank you"));
  await ask();
}

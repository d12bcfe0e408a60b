import OpenAI from "openai";
import type { ChatCompletion, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { Loop, LoopTools } from "./agent.ts";
import { toolSchema, tools } from "./tool-schemas.ts";

const functions = tools.map((tool) => ({
  type: "function" as const,
  function: { ...tool, parameters: toolSchema },
}));

export function openaiClient({ options }: LoopTools): OpenAI {
  const { baseURL, apiKey = "key", headers, retries = 0, timeoutMs } = options;
  return new OpenAI({
    apiKey,
    baseURL,
    maxRetries: retries,
    ...(headers === undefined ? {} : { defaultHeaders: headers }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
}

/** Chat Completions by OpenAI's client. */
export const chatLoop: Loop = async (loop) => {
  const client = openaiClient(loop);
  const messages = loop.start<ChatCompletionMessageParam>([{ role: "system", content: loop.system }]);
  while (loop.next()) {
    const { choices, usage } = await ask(client, messages, loop);
    const message = choices[0]?.message;
    if (message === undefined) throw new Error("no choice in the answer");
    messages.push(message);
    for (const call of message.tool_calls ?? []) {
      if (call.type !== "function") continue;
      const content = loop.run(call.function.name, call.function.arguments);
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
    const { prompt_tokens = 0, completion_tokens = 0 } = usage ?? {};
    await loop.answered({ input: prompt_tokens, output: completion_tokens, messages });
    if (choices[0]?.finish_reason === "length") throw new Error("the answer was cut at its length");
    if ((message.tool_calls ?? []).length === 0) return message.content ?? "";
  }
  return "";
};

function ask(
  client: OpenAI,
  messages: ChatCompletionMessageParam[],
  { options }: LoopTools,
): Promise<ChatCompletion> {
  const { model = "strict-1", maxOutput, stream = false, signal } = options;
  const request = {
    model,
    messages,
    tools: functions,
    ...(maxOutput === undefined ? {} : { max_completion_tokens: maxOutput }),
  };
  const more = signal === undefined ? {} : { signal };
  if (!stream) return client.chat.completions.create(request, more);
  return client.chat.completions
    .stream({ ...request, stream_options: { include_usage: true } }, more)
    .finalChatCompletion();
}

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import type { Loop, LoopTools } from "./agent.ts";
import { toolSchema, tools } from "./tool-schemas.ts";

const definitions: ToolSet = Object.fromEntries(
  tools.map(({ name, description }) => [
    name,
    tool({ description, inputSchema: jsonSchema<Record<string, unknown>>(toolSchema) }),
  ]),
) as ToolSet;

/** The `ai` package over its two providers; the loop runs the tools itself, so that each request is one step. */
export const aiLoop: Loop = async (loop) => {
  const model = modelOf(loop);
  const messages = loop.start<ModelMessage>([]);
  while (loop.next()) {
    const answer = await ask(model, messages, loop);
    messages.push(...answer.messages);
    const results = answer.calls.map(({ toolCallId, toolName, input }) => ({
      type: "tool-result" as const,
      toolCallId,
      toolName,
      output: { type: "text" as const, value: loop.run(toolName, input) },
    }));
    if (results.length > 0) messages.push({ role: "tool", content: results });
    await loop.answered({ input: answer.input, output: answer.output, messages });
    if (answer.finish === "length") throw new Error("the answer was cut at its length");
    if (results.length === 0) return answer.text;
  }
  return "";
};

function modelOf({ options }: LoopTools): LanguageModel {
  const { agent, baseURL, apiKey = "key", headers, model = "strict-1" } = options;
  const settings = { apiKey, ...(headers === undefined ? {} : { headers }) };
  // This package's base ends in /v1 for both vendors.
  if (agent === "ai-anthropic") return createAnthropic({ ...settings, baseURL: `${baseURL}/v1` })(model);
  const provider = createOpenAI({ ...settings, baseURL });
  return agent === "ai-openai-chat" ? provider.chat(model) : provider.responses(model);
}

interface Answer {
  messages: ModelMessage[];
  calls: { toolCallId: string; toolName: string; input: unknown }[];
  text: string;
  finish: string;
  input: number;
  output: number;
}

async function ask(
  model: LanguageModel,
  messages: ModelMessage[],
  { options, system }: LoopTools,
): Promise<Answer> {
  const request = {
    model,
    system,
    messages,
    tools: definitions,
    maxRetries: options.retries ?? 0,
    maxOutputTokens: options.maxOutput ?? 2_048,
    providerOptions: settingsOf(options),
    ...(options.signal === undefined ? {} : { abortSignal: options.signal }),
  };
  if (options.stream !== true) {
    const { response, toolCalls, text, finishReason, usage } = await generateText(request);
    return answerOf(response.messages, toolCalls, { text, finish: finishReason, usage });
  }
  let failed: unknown;
  const streamed = streamText({
    ...request,
    onError: ({ error }) => {
      failed ??= error;
    },
  });
  await streamed.consumeStream();
  if (failed !== undefined) throw failed;
  const { messages: made } = await streamed.response;
  const ending = {
    text: await streamed.text,
    finish: await streamed.finishReason,
    usage: await streamed.usage,
  };
  return answerOf(made, await streamed.toolCalls, ending);
}

interface Ending {
  text: string;
  finish: string;
  usage: { inputTokens: number | undefined; outputTokens: number | undefined };
}

function answerOf(messages: ModelMessage[], calls: Answer["calls"], { text, finish, usage }: Ending): Answer {
  return { messages, calls, text, finish, input: usage.inputTokens ?? 0, output: usage.outputTokens ?? 0 };
}

function settingsOf({ agent, thinking }: LoopTools["options"]) {
  if (agent === "ai-openai-responses")
    return { openai: { store: false, include: ["reasoning.encrypted_content"] } };
  if (agent !== "ai-anthropic" || thinking === undefined) return {};
  return {
    anthropic: {
      thinking: thinking === "manual" ? { type: "enabled", budgetTokens: 1_024 } : { type: "adaptive" },
    },
  };
}

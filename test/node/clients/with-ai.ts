/** Tool loops of the `ai` package. */
import { type AnthropicProvider, createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI, type OpenAIProvider } from "@ai-sdk/openai";
import { generateText, type LanguageModel, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import type { Provider } from "./provider.ts";
import { question, results } from "./said.ts";

type Options = Record<string, Record<string, boolean | string[]>>;

/** In another order than the calls have their arguments: what a schema checks, it also puts in its own order. */
const inputSchema = z.object({
  limit: z.number().optional(),
  path: z.string().optional(),
  filter: z.object({ a: z.array(z.string()), z: z.number() }).optional(),
});
const tools = { read_file: tool({ inputSchema, execute: () => results[0]! }) };

export function openai({ url }: Provider): OpenAIProvider {
  return createOpenAI({ baseURL: url, apiKey: "key" });
}

export function anthropic({ url }: Provider): AnthropicProvider {
  return createAnthropic({ baseURL: url, apiKey: "key" });
}

/** One user's message and the tool loop to its answer; with `thanks`, one more turn behind what it answered with. */
export async function loop(
  model: LanguageModel,
  {
    stream,
    thanks = true,
    providerOptions = {},
  }: { stream: boolean; thanks?: boolean; providerOptions?: Options },
): Promise<void> {
  const messages: ModelMessage[] = [{ role: "user", content: question }];
  const options = { model, tools, instructions: "Be brief.", stopWhen: stepCountIs(5), maxRetries: 0 };
  const ask = async () => {
    if (!stream) return (await generateText({ ...options, messages, providerOptions })).responseMessages;
    const streamed = streamText({ ...options, messages, providerOptions });
    await streamed.consumeStream();
    return await streamed.responseMessages;
  };
  messages.push(...(await ask()));
  if (!thanks) return;
  messages.push({ role: "user", content: "Thank you" });
  await ask();
}

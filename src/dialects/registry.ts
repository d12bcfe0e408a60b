/** The one place that knows every dialect. */
import { anthropic } from "./anthropic.ts";
import type { Dialect, DialectName } from "./dialect.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";

const dialects: Record<DialectName, Dialect> = {
  "openai-chat": openAiChat,
  anthropic,
  "openai-responses": openAiResponses,
};

export function dialectOf(name: DialectName): Dialect {
  return dialects[name];
}

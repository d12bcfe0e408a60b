/**
 * Answers a stored reply again, as one JSON body or as the shortest stream that the dialect allows. Pure:
 * the same reply gives the same bytes.
 */
import type { WireDialect } from "../../dialects/wire.ts";
import { renderAnthropicJson, renderAnthropicStream } from "./render-anthropic.ts";
import { renderChatJson, renderChatStream } from "./render-chat.ts";
import { renderResponsesJson, renderResponsesStream } from "./render-responses.ts";
import type { StoredReply } from "./reply.ts";

export interface RenderHow {
  stream: boolean;
  /** Whether a Chat Completions stream ends with usage; the other dialects always tell it. */
  includeUsage: boolean;
}

export function renderReply(dialect: WireDialect, reply: StoredReply, how: RenderHow): Uint8Array {
  switch (dialect) {
    case "openai-chat":
      return how.stream ? renderChatStream(reply, how.includeUsage) : renderChatJson(reply);
    case "anthropic":
      return how.stream ? renderAnthropicStream(reply) : renderAnthropicJson(reply);
    case "openai-responses":
      return how.stream ? renderResponsesStream(reply) : renderResponsesJson(reply);
  }
}

/** Replies of Anthropic Messages around a prepared assistant message with blocks. */
import { type Json, pieces, type Said, type StreamEvent } from "./provider.ts";

const usage = {
  input_tokens: 120,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 30,
  service_tier: "standard",
};

function blocksOf(said: Said): Json[] {
  return (said[0]?.content ?? []) as Json[];
}

function stopReason(blocks: readonly Json[]): string {
  return blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
}

function envelope(body: Json): Json {
  return { id: "msg_01", type: "message", role: "assistant", model: body.model };
}

export function anthropicAnswer(said: Said, body: Json): Json {
  const content = blocksOf(said);
  return { ...envelope(body), content, stop_reason: stopReason(content), stop_sequence: null, usage };
}

export function anthropicStream(said: Said, body: Json): StreamEvent[] {
  const events: StreamEvent[] = [];
  const say = (data: Json & { type: string }) => void events.push([data.type, data]);
  say({
    type: "message_start",
    message: { ...envelope(body), content: [], stop_reason: null, stop_sequence: null, usage },
  });
  for (const [index, block] of blocksOf(said).entries()) {
    const { empty, deltas } = inPieces(block);
    say({ type: "content_block_start", index, content_block: empty });
    if (index === 0) say({ type: "ping" });
    for (const delta of deltas) say({ type: "content_block_delta", index, delta });
    say({ type: "content_block_stop", index });
  }
  const delta = { stop_reason: stopReason(blocksOf(said)), stop_sequence: null };
  say({ type: "message_delta", delta, usage });
  say({ type: "message_stop" });
  return events;
}

/** A block as it opens, and what is then added to it. */
function inPieces(block: Json): { empty: Json; deltas: Json[] } {
  switch (block.type) {
    case "text":
      return {
        empty: { type: "text", text: "" },
        deltas: [
          ...((block.citations ?? []) as Json[]).map((citation) => ({
            type: "citations_delta",
            citation,
          })),
          ...pieces(block.text as string).map((text) => ({ type: "text_delta", text })),
        ],
      };
    case "thinking":
      return {
        empty: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          ...pieces(block.thinking as string).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block.signature },
        ],
      };
    case "tool_use":
    case "server_tool_use":
      return {
        empty: { ...block, input: {} },
        deltas: ["", ...pieces(JSON.stringify(block.input))].map((partial_json) => ({
          type: "input_json_delta",
          partial_json,
        })),
      };
    default:
      return { empty: block, deltas: [] };
  }
}

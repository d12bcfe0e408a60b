/** What the model says in one frame of a streamed reply, for those who look on: text alone, of the first choice. */
import type { WireDialect } from "../../dialects/wire.ts";
import { readFrame } from "./frames.ts";

/** "" for a frame without text; never throws. */
export function saidIn(dialect: WireDialect, frame: Uint8Array): string {
  const found = readFrame(frame);
  if (typeof found === "string") return "";
  try {
    const text = textOf(dialect, JSON.parse(found.data) as Frame);
    return typeof text === "string" ? text : "";
  } catch {
    return "";
  }
}

/** As far as they are read; nothing of it is sure. */
interface Frame {
  type?: unknown;
  delta?: { type?: unknown; text?: unknown } | string;
  choices?: { index?: unknown; delta?: { content?: unknown } }[];
}

function textOf(dialect: WireDialect, { type, delta, choices }: Frame): unknown {
  switch (dialect) {
    case "openai-chat":
      return choices?.find(({ index }) => (index ?? 0) === 0)?.delta?.content;
    case "anthropic":
      return typeof delta === "object" && delta.type === "text_delta" ? delta.text : "";
    case "openai-responses":
      return type === "response.output_text.delta" ? delta : "";
  }
}

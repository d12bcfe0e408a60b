/** The one place that knows how each dialect's stream is assembled. */
import type { WireDialect } from "../../dialects/wire.ts";
import { AnthropicReading } from "./assemble-anthropic.ts";
import { ChatReading } from "./assemble-chat.ts";
import { ResponsesReading } from "./assemble-responses.ts";
import type { Assembler } from "./reply.ts";
import { assemblerOf, type Reading } from "./stream.ts";

/** `n`: how many choices the request asked for (Chat Completions alone). */
export function createAssembler(dialect: WireDialect, n = 1): Assembler {
  return assemblerOf(readingOf(dialect, n));
}

function readingOf(dialect: WireDialect, n: number): Reading {
  switch (dialect) {
    case "openai-chat":
      return new ChatReading(n);
    case "anthropic":
      return new AnthropicReading();
    case "openai-responses":
      return new ResponsesReading();
  }
}

/** Reads one native message and weighs it: what the log stores beside the bytes of a node or a form. Pure. */
import { type Dialect, type NativeMessage, startsTurn } from "../dialects/dialect.ts";
import { type BodyFacts, weightless } from "../log/events.ts";
import type { Meter } from "../meter/price.ts";

export interface Weighed {
  bytes: Uint8Array;
  message: NativeMessage;
  facts: BodyFacts;
  turn: boolean;
}

/** @throws Refusal `bad-message` with the place `at`. */
export function weighMessage(dialect: Dialect, meter: Meter, bytes: Uint8Array, at: string): Weighed {
  const message = dialect.read(bytes, at);
  const { tokens, sampled } = meter.message(message.parts);
  return {
    bytes,
    message,
    turn: startsTurn(message),
    facts: {
      price: tokens,
      bytes: bytes.byteLength,
      images: countMedia(message),
      sampled,
      mend: message.mend,
      thinking: dialect.name === "anthropic" && message.parts.some((part) => part.type === "thinking"),
    },
  };
}

/** A form of a node. No bytes: the node is left out of the Surface and weighs nothing. */
export function weighForm(dialect: Dialect, meter: Meter, bytes: Uint8Array): BodyFacts {
  if (bytes.byteLength === 0) return weightless;
  return weighMessage(dialect, meter, bytes, "form").facts;
}

function countMedia(message: NativeMessage): number {
  let media = 0;
  for (const part of message.parts) {
    if (part.type === "media") media++;
    if (part.type === "result") media += part.content.filter((block) => block.type === "media").length;
  }
  return media;
}

/**
 * What a node and an envelope weigh: the one price rule, whichever counter stands behind it. It has no settings.
 * Pure: a part's price depends on nothing but its texts.
 */
import type { Part } from "../dialects/dialect.ts";
import { assertNever } from "../failure.ts";
import type { Count } from "./counter.ts";
import { type Price, priceText } from "./sample.ts";

/** Stored with every price. Goes up when the same parts would get another price. */
export const METER_VERSION = 1;

/** Tokens that a message costs besides its texts: role, separators, block framing. */
export const PER_MESSAGE = 12;

/** Tokens of one image, file or sound, wherever it stands. */
export const PER_MEDIA = 1600;

/** `tools` is the compact JSON of the tool list. `params` belong to an envelope's identity but weigh nothing. */
export interface EnvelopeTexts {
  system?: readonly string[];
  tools?: string;
  params?: unknown;
}

export interface Meter {
  /** One text alone, without a message around it. */
  text(text: string): Price;
  /** One message or item: its texts, thinking, call names and arguments, result texts; media; its own framing. */
  message(parts: readonly Part[]): Price;
  /** Tokens of the system texts and the tool list; 0 when there are none. */
  envelope(envelope: EnvelopeTexts): number;
}

export function createMeter(count: Count): Meter {
  const text = (value: string): Price => priceText(count, value);

  return {
    text,
    message: (parts) =>
      sum([{ tokens: PER_MESSAGE, sampled: false }, ...parts.map((part) => pricePart(text, part))]),
    envelope: ({ system = [], tools = "" }) => {
      const schemas = tools === "[]" ? "" : tools;
      return sum([...system, schemas].map(text)).tokens;
    },
  };
}

function pricePart(text: (value: string) => Price, part: Part): Price {
  switch (part.type) {
    case "text":
    case "thinking":
      return text(part.text);
    case "media":
      return { tokens: PER_MEDIA, sampled: false };
    case "call":
      return sum([text(part.name), text(part.args)]);
    case "result":
      return sum(part.content.map((inner) => pricePart(text, inner)));
    default:
      return assertNever(part);
  }
}

function sum(prices: readonly Price[]): Price {
  return {
    tokens: prices.reduce((total, price) => total + price.tokens, 0),
    sampled: prices.some((price) => price.sampled),
  };
}

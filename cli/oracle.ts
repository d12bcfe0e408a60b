import { countTokens, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";
import type { DialectName } from "../src/dialects/dialect.ts";
import { violations } from "../src/dialects/legal.ts";
import { dialectOf } from "../src/dialects/registry.ts";
import { createMeter } from "../src/meter/price.ts";
import { asList, isObject } from "./import/session.ts";
import { textOf } from "./raw.ts";

/**
 * Says what a request really weighs and whether a provider would take it: the price rule over a tokenizer that is not the
 * server's own.
 */
export interface Oracle {
  /** Tokens of one native message. */
  message(raw: Uint8Array): number;
  envelope(system: unknown, tools: readonly unknown[] | undefined): number;
  /** What a provider would refuse in this list of messages; empty when it is legal. */
  violations(messages: Uint8Array[]): string[];
  /** The messages as they are sent when nothing is compacted. */
  render(messages: readonly Uint8Array[]): Uint8Array[];
  /** The message without cache marks. */
  bare(raw: Uint8Array): Uint8Array;
}

const plainText = { disallowedSpecial: new Set<string>() };

/** Counts of messages are kept by their bytes: each is counted once in a session. */
export function createOracle(name: DialectName): Oracle {
  setMergeCacheSize(0);
  const dialect = dialectOf(name);
  const meter = createMeter((text) => countTokens(text, plainText));
  const counted = new Map<string, number>();
  return {
    message(raw) {
      const text = textOf(raw);
      let tokens = counted.get(text);
      if (tokens === undefined) {
        tokens = meter.message(dialect.read(raw, "message").parts).tokens;
        counted.set(text, tokens);
      }
      return tokens;
    },
    envelope: (system, tools) =>
      meter.envelope({
        system: systemTexts(system),
        ...(tools === undefined ? {} : { tools: JSON.stringify(tools) }),
      }),
    violations: (messages) => violations(name, messages).map(({ at, rule }) => `${rule} at messages[${at}]`),
    render(messages) {
      return dialect.render(
        messages.map((bytes) => {
          const { role, mend } = dialect.read(bytes, "message");
          return { role, bytes, mend };
        }),
      );
    },
    bare: (raw) => dialect.withoutCacheMarks(raw),
  };
}

/** The texts of an envelope: a string, text blocks, or system messages. */
function systemTexts(system: unknown): string[] {
  if (typeof system === "string") return [system];
  if (Array.isArray(system)) return system.flatMap(systemTexts);
  if (!isObject(system)) return [];
  if (typeof system.text === "string") return [system.text];
  return typeof system.content === "string" ? [system.content] : asList(system.content).flatMap(systemTexts);
}

/** Settings and envelopes that a random session chooses from. */
import type { Settings } from "../../src/session/configure.ts";
import type { EnvelopeParts } from "../../src/session/envelope.ts";
import { routes } from "../support/world.ts";
import type { Deed } from "./deeds.ts";

export function settingsOf({ a, b }: Deed): Settings {
  const names = Object.keys(routes);
  const choices: Settings[] = [
    { route: names[b % names.length]! },
    { route: names[b % names.length]! },
    { policy: { auto: b % 4 !== 0 } },
    { policy: { boundary: b % 2 === 0 ? "turn" : "pair" } },
    { policy: b % 2 === 0 ? { retainTokens: b * 10 } : { retainRatio: 0.16 } },
    { policy: { compactionRetries: b % 3, maxPaidCalls: b % 4 } },
    { policy: { summary: { route: ["self", "extractive", "test/bound", "test/unknown"][b % 4]! } } },
    { policy: { overflowRecovery: b % 3 !== 0, maxContextTokens: 2_500 + b * 40 } },
    { capacity: { maxImages: 1 + (b % 4) } },
  ];
  return choices[a % choices.length]!;
}

/** What a request says of its envelope: all of it at first, later mostly nothing, now and then another one. */
export function envelopeOf({ b }: Deed, first: boolean): EnvelopeParts {
  const texts = {
    system: b % 23 === 0 ? `"You are number ${b % 3}."` : first ? '"You are."' : undefined,
    tools: first || b % 29 === 0 ? `[{"name":"run","n":${b % 2}}]` : undefined,
    params: b % 31 === 0 ? `{"temperature":0.${b % 10}}` : undefined,
  };
  const parts: EnvelopeParts = {};
  for (const field of ["system", "tools", "params"] as const) {
    const text = texts[field];
    if (text !== undefined) parts[field] = new TextEncoder().encode(text);
  }
  return parts;
}

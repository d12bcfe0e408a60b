/** What every client test asks: does the next request hold what the provider said, known again by its keys? */
import { expect } from "vitest";
import { contentKey } from "../../../src/dialects/link-key.ts";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { type Exchange, type Json, type Provider, type Said, startProvider } from "./provider.ts";
import { outputMessage } from "./said.ts";

const utf8 = new TextDecoder();

/** The keys that count of native messages, with the bytes that they were made of. */
function keysOf(dialect: WireDialect, messages: readonly Uint8Array[]): { key: string; text: string }[] {
  return messages
    .map((message) => ({ key: contentKey(dialect, message), text: utf8.decode(message) }))
    .filter(({ key }) => key !== "");
}

export function native(message: Json): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(message));
}

/** What a reference names, as the gateway puts it back from its log. */
function resolved(sent: readonly Uint8Array[], said: readonly Json[]): Uint8Array[] {
  return sent.map((bytes) => {
    const item = JSON.parse(utf8.decode(bytes)) as Json;
    if (item.type !== "item_reference") return bytes;
    const found = said.find(({ id }) => id === item.id);
    return found === undefined ? bytes : native(found);
  });
}

/** Each request must begin with the one before it and what was said to it. */
export function expectLinked(dialect: WireDialect, exchanges: readonly Exchange[]): void {
  const all = exchanges.flatMap(({ said }) => said);
  for (const [i, { sent, said }] of exchanges.entries()) {
    const following = exchanges[i + 1];
    if (following === undefined) break;
    const known = [...keysOf(dialect, resolved(sent, all)), ...keysOf(dialect, said.map(native))];
    const again = keysOf(dialect, resolved(following.sent, all)).slice(0, known.length);
    // The texts are compared only where the keys differ, so that a failure shows what the client changed.
    const shown = (list: typeof known, other: typeof known) =>
      list.map(({ key, text }, at) => (key === other[at]?.key ? key : text));
    expect(shown(again, known)).toEqual(shown(known, again));
  }
}

/** Drives one client against prepared replies; answers all exchanges after it was found linked. */
export async function drive(
  dialect: WireDialect,
  replies: readonly Said[],
  client: (provider: Provider) => Promise<unknown>,
): Promise<Exchange[]> {
  const provider = await startProvider(dialect, replies);
  try {
    await client(provider);
  } finally {
    await provider.close();
  }
  expect(provider.exchanges.length).toBe(replies.length);
  expectLinked(dialect, provider.exchanges);
  return provider.exchanges;
}

function plainReply(dialect: WireDialect): Json {
  return { role: "assistant", content: dialect === "anthropic" ? [{ type: "text", text: "done" }] : "done" };
}

/** Which messages or items of the first reply the second request holds again; "" for what is transparent. */
export async function knownAgain(
  dialect: WireDialect,
  said: Said,
  client: (provider: Provider) => Promise<unknown>,
): Promise<string[]> {
  const last = dialect === "openai-responses" ? outputMessage("msg_end", "done") : plainReply(dialect);
  const provider = await startProvider(dialect, [said, [last]]);
  try {
    await client(provider);
  } finally {
    await provider.close();
  }
  const second = provider.exchanges[1];
  expect(second).toBeDefined();
  const sent = resolved(second!.sent, said).map((bytes) => contentKey(dialect, bytes));
  return said.map((message) => {
    const key = contentKey(dialect, native(message));
    if (key === "") return "transparent";
    return sent.includes(key) ? "known" : "changed";
  });
}

/** One model call against the strict fake provider. */
import type { DialectName } from "../../src/dialects/dialect.ts";
import { callModel } from "../../src/providers/call.ts";
import type { CallModel, CallResult, Upstream } from "../../src/providers/provider.ts";
import { type Behaviour, createStrictProvider, type StrictOptions } from "../support/strict-provider.ts";

export const KEY = "sk-test-0123456789abcdef";
export const dialects: DialectName[] = ["openai-chat", "anthropic"];

export function upstreamFor(dialect: DialectName): Upstream {
  return { provider: "fake", model: "m", baseUrl: "https://llm.example/base", dialect, key: KEY };
}

export function bodyFor(fields: object = {}): Uint8Array {
  const body = { model: "m", messages: [{ role: "user", content: "Sum up." }], max_tokens: 321, ...fields };
  return new TextEncoder().encode(JSON.stringify(body));
}

interface Trial {
  dialect: DialectName;
  will?: Behaviour[];
  provider?: StrictOptions;
  call?: CallModel;
  timeoutMs?: number;
  signal?: AbortSignal;
  body?: Uint8Array;
  key?: string;
}

export async function trial({
  dialect,
  will = [],
  provider: options,
  call = callModel,
  key = KEY,
  ...rest
}: Trial) {
  const provider = createStrictProvider({ key, ...options });
  provider.will(...will);
  const result = await call({ ...upstreamFor(dialect), key }, rest.body ?? bodyFor(), {
    signal: rest.signal ?? new AbortController().signal,
    timeoutMs: rest.timeoutMs ?? 5_000,
    fetch: provider.fetch,
  });
  return { result, provider };
}

export function failure(result: CallResult): CallResult & { ok: false } {
  if (result.ok) throw new Error("the call succeeded");
  return result;
}

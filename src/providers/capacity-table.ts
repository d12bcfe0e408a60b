/**
 * What is publicly known about current models: window, input limit, output limit. A route that is not
 * listed stays unknown; nothing is guessed from a name. Numbers: models.dev catalogue (MIT, read in
 * November 2026) and the vendors' model pages.
 */
import type { Capacity } from "./provider.ts";
import { parseRouteName } from "./route-name.ts";

/** [window, maxOutput, inputLimit?], tokens. */
type Limits = readonly [window: number, maxOutput: number, inputLimit?: number];

const claude200: Limits = [200_000, 64_000];
const claude1m: Limits = [1_000_000, 128_000];
const gpt5: Limits = [400_000, 128_000, 272_000];
const gpt5Long: Limits = [1_050_000, 128_000, 922_000];
const gpt41: Limits = [1_047_576, 32_768];
const gpt4o: Limits = [128_000, 16_384];
const reasoner: Limits = [200_000, 100_000];
const deepseek: Limits = [1_000_000, 384_000];
const mistral: Limits = [262_144, 262_144];
const gptOss: Limits = [131_072, 65_536];

/** Anthropic's Messages API takes 32 MB a request and 100 images (its API overview and vision pages). */
const anthropicGauges = { maxRequestBytes: 32_000_000, maxImages: 100 } as const;

const table: Readonly<Record<string, Readonly<Record<string, Limits>>>> = {
  anthropic: {
    "claude-fable-5": claude1m,
    "claude-haiku-4-5": claude200,
    "claude-haiku-5-5": claude1m,
    "claude-mythos-5": claude1m,
    "claude-opus-4-0": [200_000, 32_000],
    "claude-opus-4-1": [200_000, 32_000],
    "claude-opus-4-5": claude200,
    "claude-opus-4-6": claude1m,
    "claude-opus-4-7": claude1m,
    "claude-opus-4-8": claude1m,
    "claude-opus-5": claude1m,
    "claude-sonnet-4-0": claude200,
    "claude-sonnet-4-5": claude200,
    "claude-sonnet-4-6": [1_000_000, 64_000],
    "claude-sonnet-5": claude1m,
  },
  deepseek: {
    "deepseek-chat": deepseek,
    "deepseek-reasoner": deepseek,
    "deepseek-v4-flash": deepseek,
    "deepseek-v4-pro": deepseek,
  },
  groq: { "openai/gpt-oss-120b": gptOss, "openai/gpt-oss-20b": gptOss },
  mistral: { "mistral-large-latest": mistral, "mistral-medium-latest": mistral },
  openai: {
    "gpt-4.1": gpt41,
    "gpt-4.1-mini": gpt41,
    "gpt-4.1-nano": gpt41,
    "gpt-4o": gpt4o,
    "gpt-4o-2024-05-13": [128_000, 4_096],
    "gpt-4o-mini": gpt4o,
    "gpt-5": gpt5,
    "gpt-5-codex": gpt5,
    "gpt-5-mini": gpt5,
    "gpt-5-nano": gpt5,
    "gpt-5.1": gpt5,
    "gpt-5.2": gpt5,
    "gpt-5.2-codex": gpt5,
    "gpt-5.3-codex": gpt5,
    "gpt-5.4": gpt5Long,
    "gpt-5.5": gpt5Long,
    "gpt-5.6": gpt5Long,
    "gpt-5.6-luna": gpt5Long,
    "gpt-5.6-sol": gpt5Long,
    "gpt-5.6-terra": gpt5Long,
    "gpt-6-astra": gpt5Long,
    "gpt-6-luna": gpt5Long,
    "gpt-6-sol": gpt5Long,
    o1: reasoner,
    o3: reasoner,
    "o3-mini": reasoner,
    "o4-mini": reasoner,
  },
  xai: {
    "grok-4": [256_000, 256_000],
    "grok-4.3": [1_000_000, 30_000],
    "grok-4.7": [500_000, 500_000],
  },
};

/** Every `provider/model` that the table lists. */
export function knownRoutes(): string[] {
  return Object.entries(table).flatMap(([provider, models]) =>
    Object.keys(models).map((model) => `${provider}/${model}`),
  );
}

/** A dated snapshot of a listed model: `-20250929` or `-2024-11-20`. */
const snapshotDate = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;

/**
 * Capacity of an exact route as the table knows it, a dated snapshot by the name it is a snapshot of; else
 * undefined.
 */
export function knownCapacity(name: string): Capacity | undefined {
  const parts = parseRouteName(name);
  if (parts === undefined || !Object.hasOwn(table, parts.provider)) return undefined;
  const models = table[parts.provider]!;
  const model = [parts.model, parts.model.replace(snapshotDate, "")].find((id) => Object.hasOwn(models, id));
  if (model === undefined) return undefined;
  const [window, maxOutput, inputLimit] = models[model]!;
  return {
    window,
    maxOutput,
    ...(inputLimit === undefined ? {} : { inputLimit }),
    ...(parts.provider === "anthropic" ? anthropicGauges : {}),
  };
}

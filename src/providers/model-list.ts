/**
 * What a provider's own list of models states about their limits. Each vendor has names of its own for them, and no two
 * mean different things by one name, so all are looked for in every list: whoever is behind a base URL, its list is read.
 * Pure.
 */
import type { ListedLimits } from "./provider.ts";

/** Models of one list that are kept. The longest public list has some hundreds. */
export const MOST_MODELS = 1_000;
/** No route names a longer model. */
const MOST_ID_CHARS = 256;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The models of a decoded list for which it states a limit, by id; undefined when it is no list at all. OpenAI's own
 * list states none.
 */
export function readModelList(list: unknown): Map<string, ListedLimits> | undefined {
  // Together answers with the bare array.
  const entries = Array.isArray(list) ? list : fieldsOf(list).data;
  if (!Array.isArray(entries)) return undefined;
  const models = new Map<string, ListedLimits>();
  for (const entry of entries as unknown[]) {
    const fields = fieldsOf(entry);
    const { id } = fields;
    if (typeof id !== "string" || id.length > MOST_ID_CHARS || models.has(id)) continue;
    const limits = limitsOf(fields);
    if (Object.keys(limits).length > 0) models.set(id, limits);
    if (models.size === MOST_MODELS) break;
  }
  return models;
}

/**
 * OpenRouter, Together, Moonshot: `context_length`; Groq and Plimsoll itself: `context_window`; vLLM: `max_model_len`;
 * Mistral: `max_context_length`. Anthropic has only `max_input_tokens`, by which it means the whole window (the
 * built-in table says so too); beside a window it is what its name says.
 */
function limitsOf(entry: Fields): ListedLimits {
  // Where OpenRouter sends a request by default, less may fit than the model could hold.
  const top = fieldsOf(entry.top_provider);
  const stated = least(
    entry.context_length,
    top.context_length,
    entry.context_window,
    entry.max_model_len,
    entry.max_context_length,
  );
  const input = least(entry.max_input_tokens);
  const window = stated ?? input;
  // Elsewhere `max_tokens` may be the window.
  const output = input === undefined ? undefined : entry.max_tokens;
  const maxOutput = least(
    entry.max_completion_tokens,
    top.max_completion_tokens,
    entry.max_output_tokens,
    output,
  );
  return {
    ...(window !== undefined && { window }),
    ...(input !== undefined && window !== undefined && input < window && { inputLimit: input }),
    ...(maxOutput !== undefined && { maxOutput }),
  };
}

/** The lowest of the values that are a count of tokens. */
function least(...values: readonly unknown[]): number | undefined {
  const counts = values.filter((value) => Number.isSafeInteger(value) && (value as number) > 0) as number[];
  return counts.length === 0 ? undefined : Math.min(...counts);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

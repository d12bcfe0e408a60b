/**
 * Provider-reported usage, read from a dialect's own shape into disjoint numbers. OpenAI's `prompt_tokens`
 * includes what was read from and written to the cache; Anthropic's `input_tokens` excludes both. Pure.
 */
import type { DialectName } from "../dialects/dialect.ts";
import type { Usage } from "./provider.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Tokens of one request; undefined when `raw` does not hold the dialect's two totals as whole numbers. */
export function usageOf(dialect: DialectName, raw: unknown): Usage | undefined {
  const fields = fieldsOf(raw);
  if (fields === undefined) return undefined;
  if (dialect === "anthropic") return anthropicUsage(fields);
  return openaiUsage(dialect === "openai-responses" ? chatNames(fields) : fields);
}

/** Responses counts as Chat Completions does and only names it otherwise. */
function chatNames(fields: Fields): Fields {
  return {
    prompt_tokens: fields.input_tokens,
    completion_tokens: fields.output_tokens,
    prompt_tokens_details: fields.input_tokens_details,
    completion_tokens_details: fields.output_tokens_details,
  };
}

function openaiUsage(fields: Fields): Usage | undefined {
  const prompt = count(fields.prompt_tokens);
  const output = count(fields.completion_tokens);
  if (prompt === undefined || output === undefined) return undefined;
  const details = fieldsOf(fields.prompt_tokens_details);
  // DeepSeek reports its cache beside the totals, everyone else in the details.
  const read = count(details?.cached_tokens) ?? count(fields.prompt_cache_hit_tokens) ?? 0;
  const cacheRead = Math.min(read, prompt);
  const cacheWrite = Math.min(count(details?.cache_write_tokens) ?? 0, prompt - cacheRead);
  const reasoning = Math.min(
    count(fieldsOf(fields.completion_tokens_details)?.reasoning_tokens) ?? 0,
    output,
  );
  const usage = { input: prompt - cacheRead - cacheWrite, cacheRead, cacheWrite, output };
  return reasoning > 0 ? { ...usage, reasoning } : usage;
}

function anthropicUsage(fields: Fields): Usage | undefined {
  const input = count(fields.input_tokens);
  const output = count(fields.output_tokens);
  if (input === undefined || output === undefined) return undefined;
  const cacheRead = count(fields.cache_read_input_tokens) ?? 0;
  const cacheWrite = count(fields.cache_creation_input_tokens) ?? 0;
  return { input, cacheRead, cacheWrite, output };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? (value as Fields) : undefined;
}

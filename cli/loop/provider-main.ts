/**
 * The strict provider as a process of its own. Prints one line of JSON when it listens; `GET /stats` answers
 * its books, `POST /faults` takes a list of faults for the next requests. Ends on SIGTERM and SIGINT.
 */
import { parseArgs } from "node:util";
import { startProvider } from "./provider.ts";
import type { ProviderFault, ProviderOptions } from "./provider-options.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string" },
    window: { type: "string" },
    /** name=window, may be repeated. */
    model: { type: "string", multiple: true },
    "only-models": { type: "boolean" },
    density: { type: "string" },
    binding: { type: "string" },
    key: { type: "string" },
    delay: { type: "string" },
    "max-output": { type: "string" },
    "events-per-write": { type: "string" },
    "reasoning-content": { type: "boolean" },
    "cache-by-marks": { type: "boolean" },
    "no-reasoning": { type: "boolean" },
    "openai-path": { type: "string" },
    "anthropic-path": { type: "string" },
    /** n:JSON of a fault. */
    "fault-every": { type: "string" },
  },
});

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new Error(`${text} is no number`);
}

/** Only the options that were given. */
function given<T extends object>(options: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

function faultEvery(text: string | undefined): ProviderOptions["faultEvery"] {
  if (text === undefined) return undefined;
  const [every = "", ...fault] = text.split(":");
  return { every: Number(every), fault: JSON.parse(fault.join(":")) as ProviderFault };
}

const models = Object.fromEntries(
  (values.model ?? []).map((pair) => {
    const [name = "", window] = pair.split("=");
    return [name, { window: numberOf(window) ?? 0 }];
  }),
);

const provider = await startProvider(
  given<ProviderOptions>({
    port: numberOf(values.port),
    window: numberOf(values.window),
    models,
    onlyModels: values["only-models"],
    density: numberOf(values.density),
    binding: values.binding === "prefix" ? "prefix" : undefined,
    key: values.key,
    delayMs: numberOf(values.delay),
    maxOutput: numberOf(values["max-output"]),
    eventsPerWrite: numberOf(values["events-per-write"]),
    cacheByMarks: values["cache-by-marks"],
    reasoningContent: values["reasoning-content"],
    reasoning: values["no-reasoning"] === true ? false : undefined,
    paths: given<NonNullable<ProviderOptions["paths"]>>({
      openai: values["openai-path"],
      anthropic: values["anthropic-path"],
    }),
    fault: undefined,
    faultEvery: faultEvery(values["fault-every"]),
  }),
);
const { url, openai, anthropic, port } = provider;
process.stdout.write(`${JSON.stringify({ url, port, openai, anthropic })}\n`);
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.once(signal, () => void provider.close().then(() => process.exit(0)));

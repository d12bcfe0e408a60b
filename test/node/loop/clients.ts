/** The vendors' own clients against one provider. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { startProvider } from "../../../cli/loop/provider.ts";
import type { Provider, ProviderOptions } from "../../../cli/loop/provider-options.ts";

export interface Clients {
  provider: Provider;
  openai: OpenAI;
  anthropic: Anthropic;
}

/** Runs a check against a provider of its own, which is closed whatever happens. */
export async function withProvider(
  options: ProviderOptions,
  check: (clients: Clients) => Promise<void>,
): Promise<void> {
  const provider = await startProvider(options);
  const settings = { apiKey: "key", maxRetries: 0 };
  try {
    await check({
      provider,
      openai: new OpenAI({ ...settings, baseURL: provider.openai }),
      anthropic: new Anthropic({ ...settings, baseURL: provider.anthropic }),
    });
  } finally {
    await provider.close();
  }
}

export type Dialect = "chat" | "responses" | "anthropic";

/** Sends fields as they are, legal or not, through the dialect's client; answers its error. */
export async function errorFor(
  { openai, anthropic }: Clients,
  dialect: Dialect,
  fields: object,
): Promise<unknown> {
  const body = { model: "m", ...fields };
  try {
    if (dialect === "chat") await openai.chat.completions.create(body as never);
    else if (dialect === "responses") await openai.responses.create(body as never);
    else await anthropic.messages.create({ max_tokens: 500, ...body } as never);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** A Worker in front of a strict provider, both over HTTP, for tests with the vendors' own clients. */
import { createHash } from "node:crypto";
import { startProvider } from "../../../cli/loop/provider.ts";
import type { Asked, Provider, ProviderOptions } from "../../../cli/loop/provider-options.ts";
import { type Server, startServer } from "../../../cli/server.ts";

export const window = 32_000;

export interface Through {
  provider: Provider;
  server: Server;
  /** What the provider was asked for, in order. */
  asked: Asked[];
  stop(): Promise<void>;
}

export interface ThroughOptions {
  provider?: ProviderOptions;
  routes?: Record<string, object>;
  persistTo?: string;
  port?: number;
}

/** Variables of a Worker whose two vendors are this provider. */
export function varsOf(provider: Provider, routes: Record<string, object>): Record<string, string> {
  return {
    PROVIDERS: JSON.stringify({
      openai: { baseUrl: provider.openai, dialects: ["openai-chat", "openai-responses"] },
      anthropic: { baseUrl: provider.anthropic, dialects: ["anthropic"] },
    }),
    ROUTES: JSON.stringify(routes),
  };
}

export async function startThrough(options: ThroughOptions = {}): Promise<Through> {
  const asked: Asked[] = [];
  const own = options.provider?.fault;
  const provider = await startProvider({
    window,
    ...options.provider,
    fault: (request) => {
      asked.push(request);
      return own?.(request);
    },
  });
  const {
    routes = { "openai/strict-1": { window }, "anthropic/strict-1": { window } },
    persistTo,
    port,
  } = options;
  const vars = varsOf(provider, routes);
  const server = await startServer({
    vars,
    ...(persistTo !== undefined && { persistTo }),
    ...(port !== undefined && { port }),
  });
  return {
    provider,
    server,
    asked,
    stop: async () => {
      await server.stop();
      await provider.close();
    },
  };
}

/** Messages of a request as the provider got them. */
export function messagesOf({ body }: Asked): unknown[] {
  return (body.messages ?? body.input ?? []) as unknown[];
}

export function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

export async function json<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}

export async function auditOf(
  server: { url: string },
  session: string,
): Promise<{ ok: boolean; drift: unknown[] }> {
  return await json(`${server.url}/v1/sessions/${session}/audit`);
}

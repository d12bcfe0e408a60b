/** The strict provider over real HTTP on the loopback address. Owns the sockets; the rules are the core's. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { WireDialect } from "../../src/dialects/wire.ts";
import type { Refusal } from "./checks.ts";
import { objectOf } from "./json.ts";
import { createLedger } from "./ledger.ts";
import { createDesk } from "./provider-desk.ts";
import type { Provider, ProviderFault, ProviderOptions } from "./provider-options.ts";
import { sendJson } from "./provider-send.ts";

interface Endpoint {
  dialect: WireDialect;
  does: "answer" | "count" | "models";
}

/** Listens on 127.0.0.1. Fails when the port is taken. */
export async function startProvider(options: ProviderOptions = {}): Promise<Provider> {
  const ledger = createLedger();
  const queue: ProviderFault[] = [];
  const bases = {
    openai: options.paths?.openai ?? "/openai/v1",
    anthropic: options.paths?.anthropic ?? "/anthropic/v1",
  };
  const endpoints = endpointsAt(bases);
  const desk = createDesk(options, ledger, queue);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://provider").pathname;
    const bytes = await bytesOf(request);
    if (path === "/stats") return sendJson(response, { status: 200, body: ledger.stats() });
    const body = decode(bytes);
    if (path === "/faults" && request.method === "POST") {
      queue.push(...((Array.isArray(body) ? body : [body]) as ProviderFault[]));
      return sendJson(response, { status: 200, body: { queued: queue.length } });
    }
    const endpoint = endpoints.get(path) ?? modelEndpoint(path, bases);
    const method = endpoint?.does === "models" ? "GET" : "POST";
    if (endpoint === undefined || request.method !== method)
      return sendJson(response, {
        status: 404,
        body: { error: { message: `no such path: ${path}`, type: "not_found" } },
      });
    const asked = objectOf(body);
    if (endpoint.does === "models") return sendJson(response, models(endpoint.dialect, path, options));
    const headers = headersOf(request);
    if (endpoint.does === "count") desk.count(response, endpoint.dialect, headers, asked);
    else await desk.serve(response, endpoint.dialect, headers, asked);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => failed(response, error));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    openai: url + bases.openai,
    anthropic: url + bases.anthropic.replace(/\/v1$/, ""),
    port,
    stats: () => ledger.stats(),
    will: (...faults) => void queue.push(...faults),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A fault of this provider itself, never of the request. */
function failed(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (response.headersSent) response.destroy();
  else sendJson(response, { status: 500, body: { error: { message, type: "fake_failed" } } });
}

function endpointsAt({ openai, anthropic }: { openai: string; anthropic: string }): Map<string, Endpoint> {
  return new Map<string, Endpoint>([
    [`${openai}/chat/completions`, { dialect: "openai-chat", does: "answer" }],
    [`${openai}/responses`, { dialect: "openai-responses", does: "answer" }],
    [`${openai}/responses/input_tokens`, { dialect: "openai-responses", does: "count" }],
    [`${anthropic}/messages`, { dialect: "anthropic", does: "answer" }],
    [`${anthropic}/messages/count_tokens`, { dialect: "anthropic", does: "count" }],
  ]);
}

function modelEndpoint(
  path: string,
  { openai, anthropic }: { openai: string; anthropic: string },
): Endpoint | undefined {
  const at = (base: string) => path === `${base}/models` || path.startsWith(`${base}/models/`);
  if (at(openai)) return { dialect: "openai-chat", does: "models" };
  return at(anthropic) ? { dialect: "anthropic", does: "models" } : undefined;
}

function models(
  dialect: WireDialect,
  path: string,
  { models: known = {}, window, maxOutput }: ProviderOptions,
): Refusal {
  const one = (id: string) => {
    const max_input_tokens = known[id]?.window ?? window;
    if (dialect !== "anthropic") return { id, object: "model", created: 1, owned_by: "strict" };
    return {
      id,
      type: "model",
      display_name: id,
      created_at: "2026-01-01T00:00:00Z",
      ...(max_input_tokens === undefined ? {} : { max_input_tokens }),
      ...(maxOutput === undefined ? {} : { max_tokens: maxOutput }),
    };
  };
  const id = /\/models\/(.+)$/.exec(path)?.[1];
  if (id !== undefined) return { status: 200, body: one(decodeURIComponent(id)) };
  const data = Object.keys(known).map(one);
  return { status: 200, body: { object: "list", data, has_more: false } };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  return headers;
}

/**
 * A strict fake model provider: speaks OpenAI Chat and Anthropic Messages, streaming and not, refuses what
 * the real one would refuse, behaves per call as scripted, and records every request. Give its `fetch` to
 * the code under test.
 */

import { faultOf, type Json, overflowRefusal, type Refusal } from "../../cli/loop/checks.ts";
import { rateLimit, serverError } from "../../cli/loop/failures.ts";
import { signatureFor } from "../../cli/loop/thinking.ts";
import {
  bodyOf,
  errorEvent,
  eventsOf,
  type FakeCall,
  type FakeReply,
  openingOf,
} from "../../cli/loop/wire.ts";
import type { DialectName } from "../../src/dialects/dialect.ts";
import type { ThinkingBinding } from "../../src/providers/provider.ts";

/** What one call is answered with, if it is legal; an illegal call is refused whatever was scripted. */
export type Behaviour =
  /** `chunk`: bytes on the wire at a time. `finish`: the provider's word. */
  | {
      do: "reply";
      text?: string;
      thinking?: string;
      calls?: readonly FakeCall[];
      finish?: string;
      usage?: Partial<FakeReply["usage"]>;
      chunk?: number;
    }
  /** The reply event by event, with a pause before each. */
  | { do: "drip"; text: string; everyMs: number }
  | { do: "refuse"; status: number; body: unknown; headers?: Record<string, string> }
  | { do: "overflow"; limit: number; input: number; output?: number }
  | { do: "rate-limit" }
  | { do: "server-error"; status?: number }
  /** The connection breaks, or the body ends, behind this text. */
  | { do: "die" | "cut" | "stall"; after: string }
  /** A stream that breaks off with the provider's own error. */
  | { do: "error-event"; after: string; error: unknown }
  | { do: "garbage"; body: string | Uint8Array; contentType?: string }
  /** No answer at all until the request is aborted. */
  | { do: "hang" }
  | { do: "unreachable" };

export interface SeenRequest {
  url: string;
  dialect: DialectName | undefined;
  headers: Headers;
  /** What the caller wants done about a redirect. */
  redirect: string;
  bytes: Uint8Array;
  body: Json | undefined;
  /** What the request was refused with because it was not legal. */
  refused?: Refusal;
  /** Whether the caller gave the request or its answer up. */
  aborted: boolean;
}

export interface StrictOptions {
  /** The only key that is let in; absent: any or none. */
  key?: string;
  window?: number;
  /** `prefix`: thinking made here is bound to everything before it. */
  binding?: ThinkingBinding;
  /** Tokens of a request, and of a reply's text. Default: a quarter of the characters. */
  count?: (body: Json) => number;
  countText?: (text: string) => number;
  /** What it answers to the request for its list of models; absent: there is none. */
  list?: unknown;
}

export interface StrictProvider {
  handle(request: Request): Promise<Response>;
  fetch: typeof fetch;
  /** Adds to the queue of behaviours; beyond its end calls are answered with a short text. */
  will(...behaviours: Behaviour[]): void;
  readonly requests: readonly SeenRequest[];
  /** Requests for its list of models, which stand apart from those to a model. */
  readonly lists: readonly SeenRequest[];
}

export function createStrictProvider(options: StrictOptions = {}): StrictProvider {
  const queue: Behaviour[] = [];
  const requests: SeenRequest[] = [];
  const lists: SeenRequest[] = [];
  const countText = options.countText ?? ((text) => Math.ceil(text.length / 4));
  const count = options.count ?? ((body) => countText(JSON.stringify(body)));

  const handle = async (request: Request): Promise<Response> => {
    const seen = await seenOf(request);
    if (request.method === "GET" && new URL(seen.url).pathname.endsWith("/models")) {
      lists.push(seen);
      return json(options.list === undefined ? noSuchPath : { status: 200, body: options.list });
    }
    requests.push(seen);
    request.signal.addEventListener("abort", () => {
      seen.aborted = true;
    });
    const { dialect, headers, body } = seen;
    if (request.method !== "POST" || dialect === undefined) return json(noSuchPath);
    const fault = faultOf(dialect, headers, body, { ...options, count });
    if (fault !== undefined) {
      seen.refused = fault;
      return json(fault);
    }
    const behaviour = queue.shift() ?? { do: "reply", text: "Done." };
    const replying = replyFor(behaviour, dialect, body ?? {}, { count, countText });
    return await behave(behaviour, {
      seen,
      dialect,
      reply: replying,
      stream: body?.stream === true,
      request,
    });
  };

  return {
    handle,
    fetch: (input, init) => handle(new Request(input as RequestInfo, init as RequestInit)),
    will: (...behaviours) => void queue.push(...behaviours),
    requests,
    lists,
  };
}

const noSuchPath: Refusal = { status: 404, body: { error: "no such path" } };

async function seenOf(request: Request): Promise<SeenRequest> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  const path = new URL(request.url).pathname;
  const dialect = path.endsWith("/chat/completions")
    ? "openai-chat"
    : path.endsWith("/v1/messages")
      ? "anthropic"
      : undefined;
  let body: Json | undefined;
  try {
    body = JSON.parse(new TextDecoder().decode(bytes)) as Json;
  } catch {
    body = undefined;
  }
  const { url, headers, redirect } = request;
  return { url, dialect, headers, redirect, bytes, body, aborted: false };
}

function replyFor(
  behaviour: Behaviour,
  dialect: DialectName,
  body: Json,
  { count, countText }: { count: (body: Json) => number; countText: (text: string) => number },
): FakeReply {
  const asked = behaviour.do === "reply" ? behaviour : undefined;
  const text =
    behaviour.do === "reply" || behaviour.do === "drip"
      ? (behaviour.text ?? "")
      : "after" in behaviour
        ? behaviour.after
        : "";
  const calls = asked?.calls ?? [];
  const [stop, tool] = dialect === "anthropic" ? ["end_turn", "tool_use"] : ["stop", "tool_calls"];
  const output = countText(text + (asked?.thinking ?? ""));
  return {
    text,
    calls,
    thinking: asked?.thinking,
    signature: signatureFor(body, body.messages as unknown[], asked?.thinking ?? ""),
    finish: asked?.finish ?? (calls.length > 0 ? tool : stop),
    model: `${String(body.model)}-0001`,
    usage: { input: count(body), cacheRead: 0, cacheWrite: 0, output, ...asked?.usage },
    withUsage: (body.stream_options as Json | undefined)?.include_usage === true,
  };
}

interface Scene {
  seen: SeenRequest;
  dialect: DialectName;
  reply: FakeReply;
  stream: boolean;
  request: Request;
}

async function behave(behaviour: Behaviour, scene: Scene): Promise<Response> {
  const { seen, dialect, reply, stream, request } = scene;
  switch (behaviour.do) {
    case "reply":
      if (!stream) return json({ status: 200, body: bodyOf(dialect, reply) });
      return sse(scene, bytesOf(eventsOf(dialect, reply), behaviour.chunk), "close");
    case "drip":
      return sse(scene, bytesOf(eventsOf(dialect, reply)), "close", behaviour.everyMs);
    case "die":
      return sse(scene, bytesOf(openingOf(dialect, reply)), "break");
    case "cut":
      return sse(scene, bytesOf(openingOf(dialect, reply)), "close");
    case "stall":
      return sse(scene, bytesOf(openingOf(dialect, reply)), "stay");
    case "error-event":
      return sse(
        scene,
        bytesOf([...openingOf(dialect, reply), errorEvent(dialect, behaviour.error)]),
        "close",
      );
    case "refuse":
      return json(behaviour, behaviour.headers);
    case "overflow":
      return json(overflowRefusal(dialect, behaviour));
    case "rate-limit":
      return json(rateLimit(dialect), { "retry-after": "7" });
    case "server-error":
      return json(serverError(dialect, behaviour.status ?? 500));
    case "garbage": {
      const headers = { "content-type": behaviour.contentType ?? "text/event-stream" };
      return new Response(behaviour.body, { headers });
    }
    case "hang":
      await new Promise((_, reject) => {
        request.signal.addEventListener("abort", () => reject(new Error("aborted")));
      });
      throw new Error("unreachable");
    case "unreachable":
      // As workerd says it, with the address in it.
      throw new TypeError(`Network connection lost: ${seen.url}`);
  }
}

function json({ status, body }: Refusal, headers: Record<string, string> = {}): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = typeof body === "string" ? "text/html" : "application/json";
  return new Response(text, {
    status,
    headers: { "content-type": type, "request-id": "req_strict", ...headers },
  });
}

/**
 * Chunks on the wire: one per event, or all bytes cut into pieces of `size`, through characters if it falls
 * so.
 */
function bytesOf(events: readonly string[], size?: number): Uint8Array[] {
  const encoder = new TextEncoder();
  if (size === undefined) return events.map((event) => encoder.encode(event));
  const all = encoder.encode(events.join(""));
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

function sse({ seen }: Scene, chunks: Uint8Array[], end: "close" | "break" | "stay", everyMs = 0): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
      const chunk = chunks[next++];
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (end === "close") controller.close();
      else if (end === "break") controller.error(new Error("connection reset by peer"));
      else await new Promise(() => undefined);
    },
    cancel() {
      seen.aborted = true;
    },
  });
  const headers = { "content-type": "text/event-stream; charset=utf-8", "x-request-id": "req_strict" };
  return new Response(body, { headers });
}

/** A client of the whole Worker for tests: HTTP as one tenant, and sockets that keep what they receive. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { parseEnv } from "../../src/env.ts";
import { createApp } from "../../src/gateway/app.ts";

export const TOKEN = "token-of-acme";
const config = parseEnv({ API_TOKENS: `acme:${TOKEN}` });
const app = createApp({ configOf: () => config });

/** A frame of the server, read. */
export interface Frame {
  type: string;
  seq?: number;
  branch?: string;
  event?: Record<string, unknown> & { seq: number; type: string; body: unknown };
}

export interface LiveClient {
  readonly frames: Frame[];
  readonly texts: string[];
  /** Seqs of the events received so far. */
  seqs(): number[];
  /** Resolves with the first frame (from the start) that fits; rejects after two seconds. */
  until(fits: (frame: Frame) => boolean): Promise<Frame>;
  send(text: string): void;
  close(code?: number): void;
  /** Resolves when the socket is closed on both sides. */
  readonly closed: Promise<{ code: number; reason: string }>;
}

export interface SessionClient {
  readonly id: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Like `request`, and the answer must have this status; its JSON. */
  expect<T>(status: number, method: string, path: string, body?: unknown): Promise<T>;
  /** Opens `/live`. */
  live(query?: string): Promise<LiveClient>;
  /** The object itself, for eviction and a look into its storage. */
  stub(): DurableObjectStub;
}

/** A session of tenant `acme`, named anew on each call unless an id is given. */
export function sessionClient(id: string = `s-${crypto.randomUUID()}`): SessionClient {
  const request: SessionClient["request"] = async (method, path, body, headers = {}) => {
    const init: RequestInit = { method, headers: { authorization: `Bearer ${TOKEN}`, ...headers } };
    if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
    const url = `https://plimsoll.test/v1/sessions/${id}${path === "/" ? "" : path}`;
    return await app.fetch(new Request(url, init), env, createExecutionContext());
  };
  return {
    id,
    request,
    async expect<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
      const response = await request(method, path, body);
      const text = await response.text();
      if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    async live(query = "") {
      const response = await request("GET", `/live${query}`, undefined, { upgrade: "websocket" });
      if (response.webSocket === null)
        throw new Error(`no socket: ${response.status} ${await response.text()}`);
      return liveClient(response.webSocket);
    },
    stub: () => env.SESSIONS.get(env.SESSIONS.idFromName(`acme:${id}`)),
  };
}

function liveClient(ws: WebSocket): LiveClient {
  const frames: Frame[] = [];
  const texts: string[] = [];
  const waiting = new Set<() => void>();
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
  });
  ws.addEventListener("message", ({ data }) => {
    const text = String(data);
    texts.push(text);
    if (text.startsWith("{")) frames.push(JSON.parse(text) as Frame);
    for (const look of waiting) look();
  });
  ws.accept();
  const until = (fits: (frame: Frame) => boolean) =>
    new Promise<Frame>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`no such frame among ${JSON.stringify(frames.map((frame) => frame.type))}`));
      }, 2_000);
      const look = () => {
        const frame = frames.find(fits);
        if (frame === undefined) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(frame);
      };
      waiting.add(look);
      look();
    });
  return {
    frames,
    texts,
    seqs: () => frames.filter((frame) => frame.type === "event").map((frame) => frame.seq ?? 0),
    until,
    send: (text) => ws.send(text),
    close: (code) => ws.close(code),
    closed,
  };
}

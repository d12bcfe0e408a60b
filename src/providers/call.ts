/**
 * The one place that calls a model: sends a body as a stream, folds the reply, and tells every failure as a
 * value. Bounded in time and in bytes; follows no redirect; holds no rule about compaction. The only file
 * of `providers/` that awaits.
 */
import { createParser } from "eventsource-parser";
import type { DialectName } from "../dialects/dialect.ts";
import { foldAnthropic } from "./anthropic-stream.ts";
import { type CallFailure, refusedCall } from "./call-failure.ts";
import { keyHeaders } from "./client-key.ts";
import { foldOpenai } from "./openai-stream.ts";
import type { CallModel, CallResult, Upstream } from "./provider.ts";
import { foldResponses } from "./responses-stream.ts";
import { endpointOf } from "./routes.ts";
import { decode, emptyStream, replyOf, type StreamFold, type StreamState } from "./stream-state.ts";
import { streamingBody } from "./streaming-body.ts";
import { startWatch, type Watch } from "./watch.ts";

export interface CallLimits {
  /** Milliseconds without a byte, before the first one too. */
  idleMs: number;
  /** Bytes of a reply on the wire. */
  replyBytes: number;
  /** Bytes of a refusal that are read. */
  refusalBytes: number;
}

export const defaultLimits: CallLimits = { idleMs: 60_000, replyBytes: 8_388_608, refusalBytes: 65_536 };

const folds: Readonly<Record<DialectName, StreamFold>> = {
  "openai-chat": foldOpenai,
  anthropic: foldAnthropic,
  "openai-responses": foldResponses,
};

/** Failed, and why; thrown inside this module alone. */
class CallFailed extends Error {
  readonly failure: CallFailure;

  constructor(failure: CallFailure) {
    super(failure.detail);
    this.failure = failure;
  }
}

function failed(reason: CallFailure["reason"], detail: string, retryable: boolean): CallFailed {
  return new CallFailed({ reason, detail, retryable });
}

export function createCallModel(limits: CallLimits): CallModel {
  return async (upstream, body, options) => {
    const watch = startWatch({
      signal: options.signal,
      totalMs: options.timeoutMs,
      idleMs: limits.idleMs,
    });
    let result: CallResult;
    try {
      const request = { upstream, body, fetch: options.fetch, limits, watch };
      result = { ok: true, reply: await exchange(request), ms: watch.ms() };
    } catch (error) {
      result = { ok: false, ...failureOf(error, watch.cause()), ms: watch.ms() };
    }
    watch.stop();
    return result;
  };
}

/** The streaming call under the limits that hold in production. */
export const callModel: CallModel = createCallModel(defaultLimits);

interface Exchange {
  upstream: Upstream;
  body: Uint8Array;
  fetch: typeof fetch;
  limits: CallLimits;
  watch: Watch;
}

async function exchange({ upstream, body, fetch, limits, watch }: Exchange) {
  const { dialect, key } = upstream;
  if (upstream.forward === true) throw failed("http", "the provider takes only the client's own key", false);
  const request = requestOf(upstream, body, watch.signal);
  if (watch.cause() !== undefined) throw new Error("struck before it began");
  const sent = unreachable(() => fetch(endpointOf(upstream), request));
  const response = await watch.over(sent).catch((error: unknown) => {
    // An answer that comes after the watch has struck is nobody's: let go of its connection.
    sent.then(dropBody, () => undefined);
    throw error;
  });
  watch.alive();
  if (!response.ok || !isEventStream(response)) throw await refusalOf(response, upstream, limits, watch);
  const state = await readStream(response, folds[dialect], limits, watch);
  const { failure, finishReason } = state;
  if (failure?.kind === "error") {
    throw new CallFailed(refusedCall({ status: response.status, body: failure.data, dialect, key }));
  }
  if (failure?.kind === "garbage") throw failed("garbage", failure.what, false);
  if (finishReason === undefined)
    throw failed("garbage", "the stream ended before the reply was whole", false);
  return replyOf(dialect, { ...state, finishReason }, requestIdOf(response));
}

function requestOf(upstream: Upstream, body: Uint8Array, signal: AbortSignal): RequestInit {
  const headers = new Headers({ "content-type": "application/json", accept: "text/event-stream" });
  if (upstream.dialect === "anthropic") headers.set("anthropic-version", "2023-06-01");
  for (const [name, value] of Object.entries(keyHeaders(upstream))) headers.set(name, value);
  const sent = streamingBody(upstream.dialect, body);
  return { method: "POST", headers, body: sent, redirect: "manual", signal };
}

/** A fetch that fails before there is a response: its message may quote the address, so it is not told. */
async function unreachable(send: () => Promise<Response>): Promise<Response> {
  try {
    return await send();
  } catch {
    throw failed("network", "the provider could not be reached", true);
  }
}

function isEventStream(response: Response): boolean {
  const type = response.headers.get("content-type") ?? "text/event-stream";
  return !/^\s*(?:application\/(?:[\w.+-]*\+)?json|text\/html)\b/i.test(type);
}

/** Anything but a stream: a refusal, a redirect, or an answer that ignored that a stream was asked for. */
async function refusalOf(
  response: Response,
  { dialect, key }: Upstream,
  limits: CallLimits,
  watch: Watch,
): Promise<CallFailed> {
  const { status } = response;
  if (status < 200 || (status >= 300 && status < 400)) {
    dropBody(response);
    const detail = `provider answered ${status}; redirects are not followed`;
    return new CallFailed({ reason: "http", status, detail, retryable: false });
  }
  const body = await readText(response, limits.refusalBytes, watch);
  const answer = decode(body);
  if (response.ok && answer?.error === undefined && answer?.errors === undefined) {
    return failed("garbage", "the provider did not answer with a stream of events", false);
  }
  return new CallFailed(refusedCall({ status, body, dialect, key }));
}

/**
 * Reads and folds events until the reply is whole, broken or at its end. Never holds more than one chunk
 * and the text so far.
 */
async function readStream(
  response: Response,
  fold: StreamFold,
  { replyBytes }: CallLimits,
  watch: Watch,
): Promise<StreamState> {
  let state = emptyStream;
  const parser = createParser({
    onEvent: (event) => {
      state = fold(state, event);
    },
  });
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  const text = (bytes: Uint8Array | undefined): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw failed("garbage", "the reply is not UTF-8", false);
    }
  };
  let size = 0;
  for await (const bytes of chunks(response, watch)) {
    size += bytes.length;
    if (size > replyBytes) throw failed("garbage", `the reply is longer than ${replyBytes} bytes`, false);
    parser.feed(text(bytes));
    if (state.done || state.failure !== undefined) return state;
  }
  // A last event without its closing blank line still counts.
  parser.feed(`${text(undefined)}\n\n`);
  return state;
}

/** The first `limit` bytes of a body as text. */
async function readText(response: Response, limit: number, watch: Watch): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = limit;
  for await (const bytes of chunks(response, watch)) {
    text += decoder.decode(bytes.subarray(0, left), { stream: true });
    left -= bytes.length;
    if (left <= 0) break;
  }
  return text;
}

/** The chunks of a body under a watch. However the reading ends, the body is given up. */
async function* chunks(response: Response, watch: Watch): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    while (true) {
      const { done, value } = await watch.over(broken(reader.read()));
      if (done) return;
      watch.alive();
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function broken<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch {
    throw failed("stream", "the connection broke before the reply was whole", true);
  }
}

function dropBody(response: Response): void {
  response.body?.cancel().catch(() => undefined);
}

function failureOf(error: unknown, cause: ReturnType<Watch["cause"]>): CallFailure {
  if (cause === "cancelled")
    return { reason: "cancelled", detail: "the call was cancelled", retryable: false };
  if (cause === "timeout") {
    return { reason: "timeout", detail: "the reply was not whole before the deadline", retryable: true };
  }
  if (cause === "idle") {
    return { reason: "timeout", detail: "the provider was silent for too long", retryable: true };
  }
  if (error instanceof CallFailed) return error.failure;
  // Neither the provider nor the network: the request itself could not be made. Its message may quote what
  // is in it.
  return { reason: "garbage", detail: "the request could not be made", retryable: false };
}

function requestIdOf(response: Response): string | undefined {
  const id = response.headers.get("x-request-id") ?? response.headers.get("request-id");
  return id !== null && /^[\w.:-]{1,128}$/.test(id) ? id : undefined;
}

/**
 * What assembling has in common: a frame becomes the bytes of a JSON object, a stream that broke stays
 * broken, and everything from the finish reason on is terminal.
 */
import { utf8Bytes } from "../../log/json-edit.ts";
import { decode } from "../../log/scanner.ts";
import { objectBytes } from "./fields.ts";
import { readFrame } from "./frames.ts";
import type { Assembler, Meaning, Reply } from "./reply.ts";

/** One dialect's reading of events. `take` gets a JSON object; it must not throw. */
export interface Reading {
  take(data: Uint8Array, event: string | undefined): Meaning;
  /** The event that nothing follows; a dialect without one ends with `[DONE]`. */
  last(): boolean;
  /** True once every finish reason has come. */
  whole(): boolean;
  reply(): Reply;
}

export function assemblerOf(reading: Reading): Assembler {
  let broken = false;
  let done = false;
  const mean = (frame: Uint8Array): Meaning => {
    const found = readFrame(frame);
    if (found === "quiet") return { kind: "quiet" };
    if (found === "garbage") return { kind: "garbage" };
    if (found.data.trim() === "[DONE]") {
      done = true;
      return { kind: reading.whole() ? "terminal" : "garbage" };
    }
    const data = objectBytes(utf8Bytes(found.data));
    if (data !== undefined) return reading.take(data, found.event);
    // An error event may hold plain words.
    return found.event === "error" ? errorOf(found.data) : { kind: "garbage" };
  };
  return {
    push: (frame) => {
      if (broken) return { kind: "garbage" };
      const meaning = mean(frame);
      broken = meaning.kind === "error" || meaning.kind === "garbage";
      return meaning;
    },
    get done() {
      return done || reading.last();
    },
    reply: () => (broken ? { ...reading.reply(), usable: false } : reading.reply()),
  };
}

/** Anthropic's error types, whose statuses a stream does not show (providers.md 1.3). */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** An error with the status that its body states as a number, or names by its type. */
export function errorOf(body: unknown): Meaning & { kind: "error" } {
  const status = statusOf(body);
  return { kind: "error", error: status === undefined ? { body } : { status, body } };
}

function statusOf(body: unknown): number | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { error, code, status, type } = body as Readonly<Record<string, unknown>>;
  for (const value of [code, status]) {
    if (typeof value === "number" && value >= 400 && value < 600) return value;
  }
  const named = typeof type === "string" && Object.hasOwn(statuses, type) ? statuses[type] : undefined;
  return named ?? statusOf(error);
}

export function decoded(data: Uint8Array): unknown {
  return decode(data, 0, data.length);
}

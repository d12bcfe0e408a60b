/**
 * A drop-in request read as bytes: what a client of a provider's own endpoint asks for, and where its parts
 * stand in its body. The body is never decoded whole and never copied.
 */
import { Defect, Refusal } from "../../failure.ts";
import { concat, utf8Bytes } from "../../log/json-edit.ts";
import { decode, kindOf, type Member, pick, type Span } from "../../log/scanner.ts";
import { given, optionalString } from "../fields.ts";
import type { WireDialect } from "../wire.ts";
import { type EnvelopeBytes, envelopeOf } from "./envelope-parts.ts";
import { type Prefix, walkRequest } from "./walk.ts";

export interface GatewayRequest {
  readonly dialect: WireDialect;
  readonly body: Uint8Array;
  /** As the client wrote it; "" only where an unmanaged request names none. */
  readonly model: string;
  readonly stream: boolean;
  /** Choices asked for (OpenAI Chat), else 1. */
  readonly n: number;
  readonly maxOutput: number | undefined;
  /** Whether the client itself asked for the usage chunk of a streamed chat. */
  readonly includeUsage: boolean;
  /** The list of messages, or the string that a Responses `input` may be. Empty where an unmanaged request has none. */
  readonly list: Span;
  /** `input` is a string: one user message. `messagesOf` gives it as one. */
  readonly isText: boolean;
  /** Leading system and developer messages, which are envelope (both OpenAI dialects). */
  readonly system: readonly Span[];
  /** The messages behind them, less the first `skipped` of them, which the known prefix holds. */
  readonly messages: readonly Span[];
  readonly skipped: number;
  /** The known prefix that the messages were read behind. */
  readonly prefix: Prefix | undefined;
  readonly envelope: EnvelopeBytes;
  readonly managed: true | { because: string };
  readonly previousResponse?: string;
  /** Top-level members in the order of the body. */
  readonly fields: ReadonlyMap<string, Member>;
}

const listKeys = { "openai-chat": "messages", "openai-responses": "input", anthropic: "messages" } as const;

/** Members that bound the output, the one that counts first. */
export const outputKeys = {
  "openai-chat": ["max_completion_tokens", "max_tokens"],
  "openai-responses": ["max_output_tokens"],
  anthropic: ["max_tokens"],
} as const satisfies Record<WireDialect, readonly string[]>;

/**
 * Reads a request. `known` is a prefix that `prefixOf` gave for an earlier body, and whose bytes the caller
 * proved to be those of this one: the messages in it are not looked at again. All else is read every time,
 * also what stands behind the list.
 * @throws Refusal `bad-json` and `too-deep` for what is no JSON; `bad-request` with the place in `at` for a
 * member that is missing, of the wrong kind or there twice; `too-large` for too many messages or members.
 */
export function readRequest(dialect: WireDialect, body: Uint8Array, known?: Prefix): GatewayRequest {
  const key = listKeys[dialect];
  const prefix = known === undefined || known.count === 0 ? undefined : known;
  const isEnvelope = (bytes: Uint8Array, start: number) =>
    dialect !== "anthropic" && isInstruction(bytes, start);
  const { fields, system, messages, skipped } = walkRequest(body, { key, isEnvelope }, prefix);
  const because = unmanagedReason(dialect, body, fields);
  const list = listSpan(dialect, body, fields, because === undefined);
  const isText = list.end > list.start && kindOf(body, list.start) === "string";
  const previous = dialect === "openai-responses" ? textOf(body, fields, "previous_response_id") : undefined;
  return {
    dialect,
    body,
    model: modelOf(body, fields, because === undefined),
    stream: isTrue(body, fields.get("stream")),
    n: (dialect === "openai-chat" ? wholeNumber(body, fields.get("n")) : undefined) ?? 1,
    maxOutput: outputKeys[dialect]
      .map((name) => wholeNumber(body, fields.get(name)))
      .find((max) => max !== undefined),
    includeUsage: dialect === "openai-chat" && asksUsage(body, fields.get("stream_options")),
    list: { start: list.start, end: list.end },
    isText,
    system,
    messages: isText ? [list] : messages,
    skipped,
    prefix,
    envelope: envelopeOf(dialect, body, fields, system),
    managed: because === undefined ? true : { because },
    ...(previous === undefined ? {} : { previousResponse: previous }),
    fields,
  };
}

/** The scanned messages as raw JSON: views of the body, but for a text input, which becomes a user message. */
export function messagesOf({ body, messages, isText }: GatewayRequest): Uint8Array[] {
  const raw = messages.map(({ start, end }) => body.subarray(start, end));
  return isText
    ? raw.map((text) => concat([utf8Bytes('{"role":"user","content":'), text, utf8Bytes("}")]))
    : raw;
}

/**
 * What to keep so that a later body with the same first `bytes` bytes can be read behind message `count`: the
 * caller keeps their digest with it. Undefined where there is no such place: no message, or a text input.
 */
export function prefixOf(request: GatewayRequest, count: number): Prefix | undefined {
  if (count === 0 || request.isText) return undefined;
  if (count === request.prefix?.count) return request.prefix;
  const last = request.messages[count - request.skipped - 1];
  if (last === undefined) throw new Defect("a prefix was asked for messages that were not read");
  return { bytes: last.end, count };
}

/** A system or developer message; in Responses its type may be left out. */
function isInstruction(bytes: Uint8Array, start: number): boolean {
  if (kindOf(bytes, start) !== "object") return false;
  const { role, type } = pick(bytes, start, ["role", "type"]);
  const name = optionalString(bytes, role);
  if (name !== "system" && name !== "developer") return false;
  return !given(bytes, type) || optionalString(bytes, type) === "message";
}

type Members = ReadonlyMap<string, Member>;

function listSpan(dialect: WireDialect, body: Uint8Array, fields: Members, required: boolean): Span {
  const key = listKeys[dialect];
  const list = fields.get(key);
  if (!given(body, list)) {
    if (!required) return { start: 0, end: 0 };
    throw new Refusal("bad-request", "The request has no messages.", { at: key });
  }
  const kind = kindOf(body, list.start);
  if (kind === "array" || (kind === "string" && dialect === "openai-responses")) return list;
  const wanted = dialect === "openai-responses" ? "A string or an array" : "An array";
  throw new Refusal("bad-request", `${wanted} is required here.`, { at: key });
}

function modelOf(body: Uint8Array, fields: Members, required: boolean): string {
  const model = textOf(body, fields, "model");
  if (model !== undefined) return model;
  if (!required && !given(body, fields.get("model"))) return "";
  throw new Refusal("bad-request", "A model's name is required here.", { at: "model" });
}

/**
 * Why a request can only be forwarded as it is: its history, or part of it, lives at the provider (design.md
 * 8.6). Anthropic's `container` and `context_management` are no such thing: the client still sends everything.
 */
function unmanagedReason(dialect: WireDialect, body: Uint8Array, fields: Members): string | undefined {
  const has = (key: string) => given(body, fields.get(key));
  if (dialect === "openai-responses") {
    if (has("conversation")) return "conversation";
    if (isTrue(body, fields.get("background"))) return "background";
    return has("prompt") ? "prompt" : undefined;
  }
  // A message thread of Anthropic's is kept by the provider; a spoken reply of a chat is re-sent by its id alone.
  const kept = dialect === "anthropic" ? "thread" : "audio";
  return has(kept) ? kept : undefined;
}

/** A non-empty string member. */
function textOf(body: Uint8Array, fields: Members, key: string): string | undefined {
  return optionalString(body, fields.get(key)) || undefined;
}

function isTrue(body: Uint8Array, span: Span | undefined): boolean {
  return span !== undefined && body[span.start] === 0x74; // no other value starts with a t
}

/** A whole number above zero; what else stands there is the provider's to judge. */
export function wholeNumber(body: Uint8Array, span: Span | undefined): number | undefined {
  if (span === undefined || kindOf(body, span.start) !== "number") return undefined;
  const value = decode(body, span.start, span.end);
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

function asksUsage(body: Uint8Array, options: Span | undefined): boolean {
  if (options === undefined || kindOf(body, options.start) !== "object") return false;
  return isTrue(body, pick(body, options.start, ["include_usage"]).include_usage);
}

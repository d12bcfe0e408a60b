/**
 * What goes over a session's WebSocket, both ways. Text frames, one JSON object each; besides them the bare
 * words `ping` and `pong`, which the runtime answers without waking the object. Pure.
 *
 * The client's one duty: answer every `page` with `more`. Until it does, nothing further is sent.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";

/** Bytes of frames in one page, and of what is pushed to a live socket before it must ask for more. */
export const PAGE_BYTES = 256 * 1024;
export const WINDOW_BYTES = 1024 * 1024;
/** A longer body goes as a reference; `GET /events?after=<seq-1>&limit=1` has it. */
export const MAX_BODY_BYTES = 64 * 1024;
/** No frame of a client is longer, in characters. */
export const MAX_CLIENT_FRAME = 1024;

/** In place of a body over 64 KiB: the seq of its event and its size. */
export interface BodyRef {
  bodyRef: number;
  bytes: number;
}

/**
 * One event in the shape of `GET /events`. `body` is its JSON text, which goes out as it stands (a parsed
 * value would change large integers and key order), or a reference if the source already knows that it is
 * over `MAX_BODY_BYTES`.
 */
export interface WireEvent {
  seq: number;
  type: string;
  at: number;
  branch: string;
  step?: number;
  parent?: number;
  price?: number;
  body: string | BodyRef;
}

export type ServerMessage =
  /** The page ended before the log's end: `after` is the newest seq sent, `end` the newest of the log. */
  | { type: "page"; after: number; end: number }
  /** The replay met the log's end; events follow as they are committed. */
  | { type: "ready"; seq: number };

const clientMessage = z.strictObject({ type: z.literal("more"), after: z.number().int().min(0) });
export type ClientMessage = z.infer<typeof clientMessage>;

/** Why the server closes a socket. */
export const closeCodes = {
  "bad-message": 4400,
  expired: 4401,
  "too-slow": 4408,
  erased: 4410,
  internal: 1011,
} as const;
export type CloseReason = keyof typeof closeCodes;

/** The client's message, or undefined when it is none: another shape, too long, not text. */
export function decodeClient(data: string | ArrayBuffer): ClientMessage | undefined {
  if (typeof data !== "string" || data.length > MAX_CLIENT_FRAME) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return undefined;
  }
  return clientMessage.safeParse(value).data;
}

export function encodeServer(message: ServerMessage): string {
  return JSON.stringify(message);
}

/** `{type:"event", seq, branch, event}` with the body's own text, and its size in bytes. */
export function encodeEvent(event: WireEvent): { text: string; bytes: number } {
  const { body, ...rest } = event;
  const head = JSON.stringify(rest).slice(0, -1);
  const frame = `{"type":"event","seq":${event.seq},"branch":${JSON.stringify(event.branch)}`;
  const text = `${frame},"event":${head},"body":${bodyText(event.seq, body)}}}`;
  return { text, bytes: Buffer.byteLength(text) };
}

function bodyText(seq: number, body: string | BodyRef): string {
  if (typeof body !== "string") return JSON.stringify(body);
  const bytes = Buffer.byteLength(body);
  return bytes > MAX_BODY_BYTES ? JSON.stringify({ bodyRef: seq, bytes } satisfies BodyRef) : body;
}

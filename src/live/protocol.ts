/**
 * What goes over a session's WebSocket. Text frames, one JSON object each; besides them the bare words
 * `ping` and `pong`, which the runtime answers without waking the object. A client has nothing else to
 * say. Pure.
 */
import { Buffer } from "node:buffer";

/** Bytes of bodies that are read from the log at a time. */
export const READ_BYTES = 256 * 1024;
/** A longer body goes as a reference; `GET /events?after=<seq-1>&limit=1` has it. */
export const MAX_BODY_BYTES = 64 * 1024;

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

/** What is told beside the log to whoever looks on now: kept nowhere, and not replayed. */
export type LiveNote =
  /** More of what the model says in a step; the text of several frames of its stream together. */
  | { type: "delta"; stepId: string; branch: string; text: string }
  /** The pressure of the branch's next request, as `GET /pressure` has it, whenever it has changed. */
  | { type: "pressure"; branch: string; generation: number; pressure: object };

/** Why the server closes a socket. */
export const closeCodes = {
  "bad-message": 4400,
  expired: 4401,
  erased: 4410,
  internal: 1011,
} as const;
export type CloseReason = keyof typeof closeCodes;

/** The replay met the log's end, which is `seq`; events follow as they are committed. */
export function encodeReady(seq: number): string {
  return JSON.stringify({ type: "ready", seq });
}

/** `{type:"event", seq, branch, event}` with the body's own text. */
export function encodeEvent(event: WireEvent): string {
  const { body, ...rest } = event;
  const head = JSON.stringify(rest).slice(0, -1);
  const frame = `{"type":"event","seq":${event.seq},"branch":${JSON.stringify(event.branch)}`;
  return `${frame},"event":${head},"body":${bodyText(event.seq, body)}}}`;
}

function bodyText(seq: number, body: string | BodyRef): string {
  if (typeof body !== "string") return JSON.stringify(body);
  const bytes = Buffer.byteLength(body);
  return bytes > MAX_BODY_BYTES ? JSON.stringify({ bodyRef: seq, bytes } satisfies BodyRef) : body;
}

/**
 * The runtime's side of the feed: accepts sockets under hibernation and lends them to it. Holds no rule of
 * its own.
 */
import { Refusal } from "../failure.ts";
import {
  announceTo,
  closeFeed,
  type FeedSocket,
  type FeedSource,
  openFeed,
  publishTo,
  reap,
  receive,
} from "./feed.ts";
import type { CloseReason, LiveNote } from "./protocol.ts";

/** Sockets of one session at a time. */
export const MAX_SOCKETS = 32;

/**
 * Answers `GET /live?after=` (default 0, the whole log) with a socket that goes on through evictions of the
 * object.
 * @throws Refusal `bad-request` (no upgrade; `after` not a seq of this log), `overloaded` (32 sockets are
 * open).
 */
export function acceptLive(
  ctx: DurableObjectState,
  request: Request,
  tenant: string,
  source: FeedSource,
  now: number,
): Response {
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new Refusal("bad-request", "This path is a WebSocket: send Upgrade: websocket.", { at: "upgrade" });
  }
  const after = afterOf(new URL(request.url).searchParams.get("after"), source.end());
  if (open(ctx.getWebSockets()).length >= MAX_SOCKETS) reap(open(ctx.getWebSockets()).map(lend), now);
  if (open(ctx.getWebSockets()).length >= MAX_SOCKETS) {
    throw new Refusal("overloaded", `A session takes ${MAX_SOCKETS} sockets at a time.`);
  }
  const pair = new WebSocketPair();
  ctx.acceptWebSocket(pair[1]);
  ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  openFeed(lend(pair[1]), source, { tenant, after, now });
  return new Response(null, { status: 101, webSocket: pair[0] });
}

/** For `webSocketMessage`. */
export function onLiveMessage(ws: WebSocket): void {
  for (const socket of open([ws])) receive(lend(socket));
}

/** They say how a connection ended (no code, no close at all, TLS); none of them can be sent. */
const unsendable = [1005, 1006, 1015];

/** For `webSocketClose`: agrees to the client's close, which without an answer would look like a lost connection. */
export function onLiveClose(ws: WebSocket, code: number, reason: string): void {
  ws.close(unsendable.includes(code) ? 1000 : code, reason);
}

/** To be called after each commit. Never throws. */
export function publish(sockets: readonly WebSocket[], source: FeedSource, now: number): void {
  publishTo(open(sockets).map(lend), source, now);
}

/** Tells something that the log does not hold. Never throws. */
export function announce(sockets: readonly WebSocket[], note: LiveNote, now: number): void {
  announceTo(open(sockets).map(lend), note, now);
}

/** Ends all sockets, for the session's end. Never throws. */
export function closeLive(sockets: readonly WebSocket[], reason: CloseReason): void {
  closeFeed(open(sockets).map(lend), reason);
}

function afterOf(text: string | null, end: number): number {
  if (text === null) return 0;
  const after = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (after <= end) return after;
  throw new Refusal("bad-request", "`after` is not a seq of this log.", { at: "after" });
}

/** A socket that was closed stays listed until the other side agrees. */
function open(sockets: readonly WebSocket[]): WebSocket[] {
  return sockets.filter((ws) => ws.readyState === WebSocket.READY_STATE_OPEN);
}

function lend(ws: WebSocket): FeedSocket {
  return {
    send: (text) => ws.send(text),
    close: (code, reason) => ws.close(code, reason),
    get attachment() {
      return ws.deserializeAttachment();
    },
    set attachment(value: unknown) {
      ws.serializeAttachment(value);
    },
  };
}

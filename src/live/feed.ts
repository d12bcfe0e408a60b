/**
 * Brings the log to sockets: what lies behind each one's cursor, then what is committed, every seq once and
 * in order. Everything is synchronous, so no commit can fall between "the replay met the end" and "the
 * socket is live". Knows neither runtime nor storage.
 */
import { Defect } from "../failure.ts";
import {
  type CloseReason,
  closeCodes,
  encodeEvent,
  encodeReady,
  type LiveNote,
  READ_BYTES,
  type WireEvent,
} from "./protocol.ts";
import { decodeSubscriber, isExpired, live, opened, type Subscriber } from "./subscriber.ts";

/** The committed log. */
export interface FeedSource {
  /** Newest seq, 0 for an empty log. */
  end(): number;
  /**
   * Events with seq > after, oldest first; at least one if there is one, then as many as `maxBytes` of
   * bodies allow.
   */
  read(after: number, maxBytes: number): readonly WireEvent[];
}

/** What the feed needs of a socket. `attachment` holds plain data and outlives the object. */
export interface FeedSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
  attachment: unknown;
}

interface Listener {
  socket: FeedSocket;
  state: Subscriber;
}

/** Replays what lies behind `after` (at most the log's end), and says `ready`. */
export function openFeed(
  socket: FeedSocket,
  source: FeedSource,
  from: { tenant: string; after: number; now: number },
): void {
  const state = opened(from.tenant, from.after, from.now);
  guarded(socket, () => {
    socket.attachment = state;
  });
  bring([{ socket, state }], source);
}

/**
 * To be called after each commit, outside its transaction: sends what the log holds beyond each socket's
 * cursor. A call that is left out is made up for by the next.
 */
export function publishTo(sockets: Iterable<FeedSocket>, source: FeedSource, now: number): void {
  bring(listeners(sockets, now), source);
}

/** Tells something beside the log to every socket that has met its end. */
export function announceTo(sockets: Iterable<FeedSocket>, note: LiveNote, now: number): void {
  const text = JSON.stringify(note);
  for (const { socket, state } of listeners(sockets, now)) {
    if (state.phase === "live") guarded(socket, () => socket.send(text));
  }
}

/** A client has nothing to say: any frame that comes closes its socket. */
export function receive(socket: FeedSocket): void {
  close(socket, "bad-message");
}

/** Closes the sockets that have no claim to their place any more. */
export function reap(sockets: Iterable<FeedSocket>, now: number): void {
  listeners(sockets, now);
}

export function closeFeed(sockets: Iterable<FeedSocket>, reason: CloseReason): void {
  for (const socket of sockets) close(socket, reason);
}

/** The sockets that may go on; the others are closed. */
function listeners(sockets: Iterable<FeedSocket>, now: number): Listener[] {
  const found: Listener[] = [];
  for (const socket of sockets) {
    guarded(socket, () => {
      const state = decodeSubscriber(socket.attachment);
      if (state !== undefined && !isExpired(state, now)) found.push({ socket, state });
      else close(socket, state === undefined ? "internal" : "expired");
    });
  }
  return found;
}

/** Brings each listener from its cursor to the log's end. The log is read once for all of them, piece by piece. */
function bring(all: readonly Listener[], source: FeedSource): void {
  try {
    const end = source.end();
    let left = all.filter(({ state }) => state.phase === "replay" || state.cursor < end);
    let at = left.reduce((least, { state }) => Math.min(least, state.cursor), end);
    while (at < end && left.length > 0) {
      const events = source.read(at, READ_BYTES);
      if (events.length === 0) throw new Defect("the log has an end that can not be read");
      for (const event of events) {
        left = send(left, event);
        at = event.seq;
      }
    }
    for (const { socket, state } of left) {
      guarded(socket, () => {
        socket.attachment = live(state, end);
        if (state.phase === "replay") socket.send(encodeReady(end));
      });
    }
  } catch (error) {
    report(error);
    // Some of them have got a part of it that their attachment does not tell.
    closeFeed(
      all.map(({ socket }) => socket),
      "internal",
    );
  }
}

/** The listeners that are still there after the event went to those which lack it. */
function send(to: readonly Listener[], event: WireEvent): Listener[] {
  const text = encodeEvent(event);
  return to.filter(
    ({ socket, state }) => state.cursor >= event.seq || guarded(socket, () => socket.send(text)),
  );
}

/** One socket that fails is closed and never keeps the others, or a commit that is done, from going on. */
function guarded(socket: FeedSocket, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    report(error);
    close(socket, "internal");
    return false;
  }
}

function report(error: unknown): void {
  const name = error instanceof Error ? error.name : "";
  console.error(JSON.stringify({ level: "error", at: "live", name }));
}

function close(socket: FeedSocket, reason: CloseReason): void {
  try {
    socket.close(closeCodes[reason], reason);
  } catch {
    // It is closed already, which is what was wanted.
  }
}

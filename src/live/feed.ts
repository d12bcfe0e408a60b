/**
 * Brings the log to sockets: replay by credit, then what is committed, every seq once and in order.
 * Everything is synchronous, so no commit can fall between "the replay met the end" and "the socket is
 * live". Knows neither runtime nor storage.
 */
import { Defect } from "../failure.ts";
import {
  type CloseReason,
  closeCodes,
  decodeClient,
  encodeEvent,
  encodeServer,
  PAGE_BYTES,
  type WireEvent,
} from "./protocol.ts";
import {
  credit,
  decodeSubscriber,
  isExpired,
  isTooSlow,
  live,
  mayPush,
  opened,
  type Subscriber,
  waiting,
} from "./subscriber.ts";

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

/** Begins the replay behind `after` (at most the log's end): sends the first page. */
export function openFeed(
  socket: FeedSocket,
  source: FeedSource,
  from: { tenant: string; after: number; now: number },
): void {
  guarded(socket, () => sendPage(socket, opened(from.tenant, from.after, from.now), source, from.now));
}

/** Takes one frame of a client. */
export function receive(
  socket: FeedSocket,
  data: string | ArrayBuffer,
  source: FeedSource,
  now: number,
): void {
  guarded(socket, () => {
    const state = usable(socket, now);
    if (state === undefined) return;
    const message = decodeClient(data);
    const meaning = message === undefined ? "bad" : credit(state, message.after);
    if (meaning === "bad") close(socket, "bad-message");
    else if (meaning === "page") sendPage(socket, state, source, now);
    else if (meaning === "window") socket.attachment = live(state, state.cursor, 0);
  });
}

/**
 * Tells all sockets of events that were just committed. Called after each commit, outside its transaction,
 * in order. A socket in replay is left alone: it will read them. A live one that missed an earlier call
 * catches up from the source.
 */
export function publishTo(
  sockets: Iterable<FeedSocket>,
  events: readonly WireEvent[],
  source: FeedSource,
  now: number,
): void {
  const frames = events.map((event) => ({ seq: event.seq, frame: lazy(() => encodeEvent(event)) }));
  for (const socket of sockets) {
    guarded(socket, () => {
      const state = usable(socket, now);
      if (state === undefined) return;
      if (isTooSlow(state, now)) close(socket, "too-slow");
      if (state.phase !== "live") return;
      const fresh = frames.filter(({ seq }) => seq > state.cursor);
      if (fresh[0] === undefined) return;
      if (fresh[0].seq > state.cursor + 1) sendPage(socket, state, source, now);
      else push(socket, state, fresh, source, now);
    });
  }
}

/** Closes the sockets that have no claim to their place any more. */
export function reap(sockets: Iterable<FeedSocket>, now: number): void {
  for (const socket of sockets) {
    const state = usable(socket, now);
    if (state !== undefined && isTooSlow(state, now)) close(socket, "too-slow");
  }
}

export function closeFeed(sockets: Iterable<FeedSocket>, reason: CloseReason): void {
  for (const socket of sockets) close(socket, reason);
}

/** The state of a socket that may go on; any other is closed. */
function usable(socket: FeedSocket, now: number): Subscriber | undefined {
  const state = decodeSubscriber(socket.attachment);
  if (state !== undefined && !isExpired(state, now)) return state;
  close(socket, state === undefined ? "internal" : "expired");
  return undefined;
}

/** Sends what follows the cursor until the page is full or the log ends; at the end the socket is live. */
function sendPage(socket: FeedSocket, state: Subscriber, source: FeedSource, now: number): void {
  const end = source.end();
  let { cursor } = state;
  let sent = 0;
  while (cursor < end) {
    const events = source.read(cursor, PAGE_BYTES - sent);
    if (events.length === 0) throw new Defect("the log has an end that can not be read");
    for (const event of events) {
      const frame = encodeEvent(event);
      if (sent > 0 && sent + frame.bytes > PAGE_BYTES) {
        pause(socket, state, cursor, end, now);
        return;
      }
      socket.send(frame.text);
      sent += frame.bytes;
      cursor = event.seq;
    }
  }
  socket.attachment = live(state, cursor, sent);
  socket.send(encodeServer({ type: "ready", seq: cursor }));
}

type Frame = { seq: number; frame: () => { text: string; bytes: number } };

/** Pushes to a live socket until its window is full; the rest is the client's to ask for. */
function push(
  socket: FeedSocket,
  state: Subscriber & { phase: "live" },
  fresh: readonly Frame[],
  source: FeedSource,
  now: number,
): void {
  let { cursor } = state;
  let pushed = 0;
  for (const { seq, frame } of fresh) {
    const { text, bytes } = frame();
    if (!mayPush(state, pushed + bytes)) {
      pause(socket, state, cursor, source.end(), now);
      return;
    }
    socket.send(text);
    pushed += bytes;
    cursor = seq;
  }
  socket.attachment = live(state, cursor, state.pushed + pushed);
}

function pause(socket: FeedSocket, state: Subscriber, cursor: number, end: number, now: number): void {
  socket.attachment = waiting(state, cursor, now);
  socket.send(encodeServer({ type: "page", after: cursor, end }));
}

/** One socket that fails is closed and never keeps the others, or a commit that is done, from going on. */
function guarded(socket: FeedSocket, work: () => void): void {
  try {
    work();
  } catch (error) {
    console.error(
      JSON.stringify({ level: "error", at: "live", name: error instanceof Error ? error.name : "" }),
    );
    close(socket, "internal");
  }
}

function close(socket: FeedSocket, reason: CloseReason): void {
  try {
    socket.close(closeCodes[reason], reason);
  } catch {
    // It is closed already, which is what was wanted.
  }
}

function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * What is known of one socket, whole: a small plain value that lives in the socket's attachment, so that it
 * survives the object's eviction. Pure transitions; `now` in milliseconds is passed in.
 */
import { z } from "zod";
import { WINDOW_BYTES } from "./protocol.ts";

/** A socket that owes a `more` for longer is given up. */
export const PATIENCE_MS = 5 * 60_000;
/**
 * No socket outlives this, so that a token taken back ends what it opened. The client comes back with its
 * cursor.
 */
export const MAX_LIFE_MS = 24 * 60 * 60_000;

const common = {
  v: z.literal(1),
  tenant: z.string(),
  /** When the right to listen ends. */
  expires: z.number(),
  /** Newest seq that was sent, or that the client said to have. */
  cursor: z.number().int().min(0),
};

const subscriberSchema = z.discriminatedUnion("phase", [
  /** Waits for credit: nothing is sent until the client asks. `since`: when it last got a page. */
  z.strictObject({ ...common, phase: z.literal("replay"), since: z.number() }),
  /** Has the whole log; gets what is committed. `pushed`: bytes sent since it last asked for more. */
  z.strictObject({ ...common, phase: z.literal("live"), pushed: z.number().int().min(0) }),
]);
export type Subscriber = z.infer<typeof subscriberSchema>;

export function opened(tenant: string, after: number, now: number): Subscriber {
  return { v: 1, tenant, expires: now + MAX_LIFE_MS, cursor: after, phase: "replay", since: now };
}

/** The state in an attachment; undefined when it is not one of ours. */
export function decodeSubscriber(attachment: unknown): Subscriber | undefined {
  return subscriberSchema.safeParse(attachment).data;
}

export function isExpired(state: Subscriber, now: number): boolean {
  return state.expires <= now;
}

/**
 * Owes a `more` for too long. One that comes after all is still served, if the socket was not needed gone
 * before.
 */
export function isTooSlow(state: Subscriber, now: number): boolean {
  return state.phase === "replay" && now - state.since > PATIENCE_MS;
}

/** Sent up to `cursor` but not to the end: the next page is the client's to ask for. */
export function waiting(state: Subscriber, cursor: number, now: number): Subscriber {
  const { v, tenant, expires } = state;
  return { v, tenant, expires, cursor, phase: "replay", since: now };
}

/** Sent up to the log's end, `pushed` bytes of it since the client last spoke. */
export function live(state: Subscriber, cursor: number, pushed: number): Subscriber {
  const { v, tenant, expires } = state;
  return { v, tenant, expires, cursor, phase: "live", pushed };
}

/** Whether `bytes` more may be pushed before the client must ask. */
export function mayPush(state: Subscriber & { phase: "live" }, bytes: number): boolean {
  return state.pushed + bytes <= WINDOW_BYTES;
}

/**
 * What a `more` means. Only one that names the very place where we stopped gives credit: an older one is a
 * repetition, and giving credit for it would let a client that does not read fill our memory. A newer one
 * names what it can not have.
 */
export function credit(state: Subscriber, after: number): "page" | "window" | "none" | "bad" {
  if (after > state.cursor) return "bad";
  if (after < state.cursor) return "none";
  return state.phase === "replay" ? "page" : "window";
}

/**
 * What is known of one socket, whole: a small plain value that lives in the socket's attachment, so that it
 * survives the object's eviction. Pure transitions; `now` in milliseconds is passed in.
 */
import { z } from "zod";

/**
 * No socket outlives this, so that a token taken back ends what it opened. The client comes back with its
 * cursor.
 */
export const MAX_LIFE_MS = 24 * 60 * 60_000;

const subscriberSchema = z.strictObject({
  v: z.literal(1),
  tenant: z.string(),
  /** When the right to listen ends. */
  expires: z.number(),
  /** Newest seq that was sent, or that the client said to have. */
  cursor: z.number().int().min(0),
  /** `replay` until the log's end was met for the first time. */
  phase: z.enum(["replay", "live"]),
});
export type Subscriber = z.infer<typeof subscriberSchema>;

export function opened(tenant: string, after: number, now: number): Subscriber {
  return { v: 1, tenant, expires: now + MAX_LIFE_MS, cursor: after, phase: "replay" };
}

/** Sent up to the log's end. */
export function live(state: Subscriber, cursor: number): Subscriber {
  return { ...state, cursor, phase: "live" };
}

/** The state in an attachment; undefined when it is not one of ours. */
export function decodeSubscriber(attachment: unknown): Subscriber | undefined {
  return subscriberSchema.safeParse(attachment).data;
}

export function isExpired(state: Subscriber, now: number): boolean {
  return state.expires <= now;
}

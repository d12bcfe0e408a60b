/**
 * How much of request bodies may be under way in one isolate: a limit per body, and a gauge over all of them.
 * A body is never held here: it streams on to the object. The clock is passed in.
 */
import { Refusal } from "../failure.ts";

const MiB = 1024 * 1024;
export const MAX_BODY_BYTES = 32 * MiB;
export const MAX_IN_FLIGHT_BYTES = 48 * MiB;

/**
 * A client that hangs up can end an invocation without a last word, so a reservation that nobody gave back
 * ends by itself: after longer than any request may take.
 */
export const LEASE_MS = 15 * 60_000;

interface Lease {
  bytes: number;
  readonly ends: number;
}

export interface Reservation {
  /** Takes `bytes` more. False, and nothing taken, when they do not fit or the lease has ended. */
  grow(bytes: number): boolean;
  /** Gives everything back; a second call does nothing. */
  release(): void;
}

export class Gauge {
  readonly #limit: number;
  readonly #leases = new Set<Lease>();
  #taken = 0;

  constructor(limit: number = MAX_IN_FLIGHT_BYTES) {
    this.#limit = limit;
  }

  /** Bytes under way. */
  get taken(): number {
    return this.#taken;
  }

  /** A reservation of `bytes`, or undefined when they do not fit now. */
  reserve(bytes: number, now: number): Reservation | undefined {
    for (const lease of this.#leases) if (lease.ends <= now) this.#end(lease);
    if (this.#taken + bytes > this.#limit) return undefined;
    const lease: Lease = { bytes, ends: now + LEASE_MS };
    this.#leases.add(lease);
    this.#taken += bytes;
    return { grow: (more) => this.#grow(lease, more), release: () => this.#end(lease) };
  }

  #grow(lease: Lease, bytes: number): boolean {
    if (!this.#leases.has(lease) || this.#taken + bytes > this.#limit) return false;
    lease.bytes += bytes;
    this.#taken += bytes;
    return true;
  }

  /** Membership of the set is what makes it happen once. */
  #end(lease: Lease): void {
    if (this.#leases.delete(lease)) this.#taken -= lease.bytes;
  }
}

export interface Admitted {
  /** What to send on: a stream, or bytes where somebody had to look into them. */
  readonly body: ReadableStream<Uint8Array> | Uint8Array | null;
  /** Why the body was cut on its way, if it was: then no answer to it counts. */
  fault(): Refusal | undefined;
  release(): void;
}

/**
 * Admits the body of a request. A declared length is checked and reserved at once (the runtime holds the
 * sender to it); a body without one is counted while it streams.
 * @throws Refusal `too-large` (over 32 MiB), `overloaded` (the gauge is full).
 */
export function admit(request: Request, gauge: Gauge, now: number): Admitted {
  const declared = declaredLength(request);
  if (declared > MAX_BODY_BYTES) throw tooLarge();
  const reservation = gauge.reserve(declared, now);
  if (reservation === undefined) throw overloaded();
  const release = () => reservation.release();
  const body = request.method === "GET" || request.method === "HEAD" ? null : request.body;
  if (body === null || request.headers.has("content-length"))
    return { body, fault: () => undefined, release };
  return { ...counted(body, reservation), release };
}

function counted(body: ReadableStream<Uint8Array>, reservation: Reservation): Omit<Admitted, "release"> {
  let total = 0;
  let fault: Refusal | undefined;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      total += chunk.byteLength;
      if (total > MAX_BODY_BYTES) fault = tooLarge();
      else if (!reservation.grow(chunk.byteLength)) fault = overloaded();
      if (fault === undefined) controller.enqueue(chunk);
      else controller.error(fault);
    },
  });
  return { body: body.pipeThrough(counter), fault: () => fault };
}

function declaredLength(request: Request): number {
  const header = request.headers.get("content-length");
  if (header === null) return 0;
  if (!/^\d+$/.test(header)) throw new Refusal("bad-request", "Content-Length is not a number.");
  return Number(header);
}

function tooLarge(): Refusal {
  return new Refusal("too-large", "A request body is at most 32 MiB.", { more: { limit: MAX_BODY_BYTES } });
}

function overloaded(): Refusal {
  return new Refusal("overloaded", "Too many request bodies are under way; try again shortly.");
}

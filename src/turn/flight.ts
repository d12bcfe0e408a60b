/**
 * The clients of one running step. The step belongs to the session: clients come and go, a proven retry joins, and nobody's slow
 * connection holds the reading of the reply up. A client that does not read loses its place, not the others theirs.
 */

/** Most that waits for one client (design.md section 6). */
const QUEUE_BYTES = 8 * 1024 * 1024;
/** How long a step waits for a client that left. */
export const GRACE_MS = 20_000;

export interface FlightParts {
  /** SHA-256 of the request's body, and its Idempotency-Key: what a retry is proven by. */
  digest: string;
  key: string | undefined;
  streams: boolean;
  /** Whether the step ends when nobody is left. */
  abandons: boolean;
  graceMs?: number;
}

export type HeaderMap = Record<string, string>;

export class Flight {
  readonly parts: FlightParts;
  /** Aborts with why: `client`, `cancelled`. */
  readonly abort = new AbortController();
  /** The first client's stream broke: whoever sends the same body again comes back for this step. */
  left = false;
  over = false;
  private readonly outlets = new Set<Outlet>();
  private waiting = 0;
  /** The stream broke off; who joins later must not take it for a whole one. */
  private broke = false;
  private committed: { status: number; headers: HeaderMap } | undefined;
  private whole: { status: number; headers: HeaderMap; body: Uint8Array } | undefined;
  private passed: Uint8Array[] = [];
  private passedBytes = 0;
  private readonly decided: Promise<void>;
  private decide: () => void = () => {};
  private grace: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: FlightParts) {
    this.parts = parts;
    this.decided = new Promise((resolve) => {
      this.decide = resolve;
    });
  }

  /** False when a late client could not be given the reply from its beginning. */
  get joinable(): boolean {
    return this.passedBytes <= QUEUE_BYTES;
  }

  /** The answer for one more client, as soon as there is one. @param signal aborts when the client leaves before that. */
  async join(signal?: AbortSignal): Promise<Response> {
    this.waiting++;
    clearTimeout(this.grace);
    let waits = true;
    const leave = () => {
      if (!waits) return;
      waits = false;
      this.waiting--;
      this.missing();
    };
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted) leave();
    await this.decided;
    signal?.removeEventListener("abort", leave);
    // Nobody would read a stream for it, and nobody would close it.
    if (!waits) return new Response(null, { status: 499 });
    waits = false;
    this.waiting--;
    if (this.whole !== undefined) {
      const { status, headers, body } = this.whole;
      return new Response(body, { status, headers });
    }
    const outlet = new Outlet(() => {
      this.outlets.delete(outlet);
      this.missing();
    });
    for (const bytes of this.passed) outlet.send(bytes);
    if (this.broke) outlet.cut();
    else if (this.over) outlet.end();
    else if (outlet.isOpen) this.outlets.add(outlet);
    return new Response(outlet.body, this.committed!);
  }

  get isCommitted(): boolean {
    return this.committed !== undefined;
  }

  /** The stream begins. */
  commit(headers: HeaderMap): void {
    if (this.committed !== undefined || this.whole !== undefined) return;
    this.committed = { status: 200, headers };
    this.decide();
  }

  /** Whether the provider's own words are on their way. */
  begun = false;

  pass(bytes: Uint8Array): void {
    this.begun = true;
    this.ping(bytes);
  }

  /** A word of ours that keeps a waiting client from giving up. */
  ping(bytes: Uint8Array): void {
    if (this.joinable) this.passed.push(bytes);
    this.passedBytes += bytes.byteLength;
    if (!this.joinable) this.passed = [];
    for (const outlet of this.outlets) outlet.send(bytes);
  }

  /** One whole answer; after `commit` it can only be told inside the stream. */
  answer(status: number, headers: HeaderMap, body: Uint8Array): void {
    if (this.over) return;
    // Who reads a stream already can not be given it; a break is better than a wait without end.
    if (this.committed !== undefined) {
      this.cut();
      return;
    }
    this.whole = { status, headers, body };
    this.close();
    this.decide();
  }

  end(): void {
    this.close();
    for (const outlet of this.outlets) outlet.end();
  }

  /** The stream breaks off, as the provider's did. */
  cut(): void {
    this.broke = true;
    this.close();
    for (const outlet of this.outlets) outlet.cut();
  }

  private close(): void {
    this.over = true;
    clearTimeout(this.grace);
  }

  private missing(): void {
    if (this.over || this.outlets.size > 0 || this.waiting > 0) return;
    this.left = true;
    if (!this.parts.abandons) return;
    clearTimeout(this.grace);
    this.grace = setTimeout(() => this.abort.abort("client"), this.parts.graceMs ?? GRACE_MS);
  }
}

/** One client's stream. */
class Outlet {
  readonly body: ReadableStream<Uint8Array>;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  private readonly gone: () => void;

  constructor(gone: () => void) {
    this.gone = gone;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        cancel: () => this.detach(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: QUEUE_BYTES }),
    );
  }

  get isOpen(): boolean {
    return this.controller !== undefined;
  }

  send(bytes: Uint8Array): void {
    if ((this.controller?.desiredSize ?? 0) <= 0) this.cut();
    else this.controller?.enqueue(bytes);
  }

  end(): void {
    this.controller?.close();
    this.controller = undefined;
  }

  cut(): void {
    this.controller?.error(new Error("the stream broke off"));
    this.detach();
  }

  private detach(): void {
    if (this.controller === undefined) return;
    this.controller = undefined;
    this.gone();
  }
}

/**
 * Bounds one model call in time: a total deadline, a limit for silence, and the caller's own signal.
 * Whatever is awaited under a watch ends when one of them strikes, also when the other side ignores the
 * abort.
 */

export type Cause = "timeout" | "idle" | "cancelled";

export interface WatchLimits {
  signal: AbortSignal;
  /** Milliseconds for everything, and without a sign of life. */
  totalMs: number;
  idleMs: number;
}

export interface Watch {
  /** Aborts when the watch strikes. */
  readonly signal: AbortSignal;
  /** Why it struck; undefined as long as it has not. */
  cause(): Cause | undefined;
  /** Settles as `work` does, or rejects at once when the watch strikes. One at a time. */
  over<T>(work: Promise<T>): Promise<T>;
  /** A sign of life from the other side. */
  alive(): void;
  /** Milliseconds since the start. */
  ms(): number;
  /** Disarms everything; must be called. */
  stop(): void;
}

export function startWatch({ signal, totalMs, idleMs }: WatchLimits): Watch {
  const started = Date.now();
  const controller = new AbortController();
  let cause: Cause | undefined;
  let lastSign = started;
  let interrupt: (() => void) | undefined;

  const strike = (why: Cause): void => {
    if (cause !== undefined) return;
    cause = why;
    controller.abort();
    interrupt?.();
  };
  const onAbort = (): void => strike("cancelled");
  // Re-armed for what is left when it goes off, rather than at every sign of life.
  const silence = (wait: number): ReturnType<typeof setTimeout> =>
    setTimeout(() => {
      const left = lastSign + idleMs - Date.now();
      if (left > 0) idle = silence(left);
      else strike("idle");
    }, wait);
  let idle = silence(idleMs);
  const total = setTimeout(() => strike("timeout"), totalMs);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });

  return {
    signal: controller.signal,
    cause: () => cause,
    over: (work) =>
      new Promise((resolve, reject) => {
        interrupt = () => reject(new Error("the watch struck"));
        work.then(resolve, reject);
        if (cause !== undefined) interrupt();
      }),
    alive: () => {
      lastSign = Date.now();
    },
    ms: () => Date.now() - started,
    stop: () => {
      clearTimeout(idle);
      clearTimeout(total);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

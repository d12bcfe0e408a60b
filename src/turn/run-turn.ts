/**
 * Runs one step to its end: sends, recovers and sends again, passes the reply on, stores it, lets the last bytes go. What happens is
 * decided in `step.ts`; what it does to the log is the caller's `TurnWork`. The reading of the reply never waits for a client.
 */
import type { DialectName } from "../dialects/dialect.ts";
import { BrokenCall, type Dispatched } from "../providers/dispatch.ts";
import { createAssembler } from "../providers/reply/assemble.ts";
import { FrameSplitter } from "../providers/reply/frames.ts";
import { readReply } from "../providers/reply/read.ts";
import { renderReply } from "../providers/reply/render.ts";
import type { Reply } from "../providers/reply/reply.ts";
import type { Flight, HeaderMap } from "./flight.ts";
import { type Action, newStep, nextAction, type Signal, type StepState, type Verdict } from "./step.ts";

/** A refusal as the transport saw it; status absent for one inside a stream. */
export interface RefusedCall {
  status?: number;
  body: unknown;
  /** What the client gets if nothing can be mended. */
  raw: Uint8Array;
  headers: HeaderMap;
}

/** A failure that may pass by itself. */
export type Failed = Pick<RefusedCall, "status" | "body" | "headers">;

export interface TurnWork {
  dialect: DialectName;
  /** How many were asked for. */
  choices: number;
  /** Drops the chunk that only reports usage, which the client did not ask for. */
  hidesUsage: boolean;
  /** The request as the Surface stands now. @throws BrokenCall */
  send(signal: AbortSignal): Promise<Dispatched>;
  judge(refused: RefusedCall): Verdict;
  /** Makes the request smaller. False when nothing is left to try. */
  recover(refused: RefusedCall | { reply: Reply }): Promise<boolean>;
  unbind(): boolean;
  /** How often a transient failure is waited out. */
  retries: number;
  /** Records the failure and waits as long as the provider asks for. False when that is too long. */
  retry(failed: Failed, signal: AbortSignal): Promise<boolean>;
  /** A frame of a reply that is kept, for whoever looks on. */
  show(frame: Uint8Array): void;
  /** Whether the provider took the request and dropped a part of it in silence. */
  overflowed(reply: Reply): boolean;
  /** Stores the reply in one transaction. */
  store(reply: Reply): void;
  /** Ends the step without a reply. */
  fail(reason: string, status?: number): void;
  abort(reason: "client" | "cancelled"): void;
  /** Headers of an answer: the provider's that pass, and our own as things stand. */
  headers(from: Headers | undefined): HeaderMap;
  /** The error that a client reads when the provider broke off, before and inside a stream. */
  brokenAnswer(why: string): { status: number; body: Uint8Array; headers: HeaderMap };
  errorFrame(why: string): Uint8Array;
}

export async function runTurn(work: TurnWork, flight: Flight): Promise<void> {
  const turn = new Turn(work, flight);
  flight.abort.signal.addEventListener("abort", () => turn.stop(), { once: true });
  // Stopped while the request was still being prepared.
  if (flight.abort.signal.aborted) turn.stop();
  while (turn.isCalling) await turn.attempt();
}

class Turn {
  private readonly work: TurnWork;
  private readonly flight: Flight;
  private state: StepState;
  private held: Uint8Array[] = [];
  private kept: Uint8Array[] = [];
  private again = true;

  constructor(work: TurnWork, flight: Flight) {
    this.work = work;
    this.flight = flight;
    this.state = { ...newStep, retries: work.retries };
  }

  get isCalling(): boolean {
    return this.again && this.state.phase !== "over";
  }

  private on(signal: Signal): Action {
    const { state, action } = nextAction(this.state, signal);
    this.state = state;
    return action;
  }

  stop(): void {
    if (this.on({ kind: "stopped" }) !== "abort") return;
    const why = this.flight.abort.signal.reason === "client" ? "client" : "cancelled";
    this.work.abort(why);
    this.breakOff(why);
  }

  async attempt(): Promise<void> {
    this.again = false;
    this.held = [];
    this.kept = [];
    try {
      const sent = await this.work.send(this.flight.abort.signal);
      if (sent.status < 200 || sent.status >= 300) await this.refusedWhole(sent);
      else if (sent.streams) await this.readStream(sent);
      else await this.readWhole(sent);
    } catch (error) {
      if (!(error instanceof BrokenCall)) throw error;
      await this.brokenCall(error.why);
    }
  }

  private async brokenCall(why: BrokenCall["why"]): Promise<void> {
    const action = this.on({ kind: "broken", unreached: why === "network" });
    const failed: Failed = { body: why, headers: {} };
    if (action === "retry") this.again = await this.work.retry(failed, this.flight.abort.signal);
    // Stopped while it waited: that was told already.
    const stopped = action === "retry" && this.state.phase === "over";
    if (action !== "nothing" && !this.again && !stopped) this.broken(why);
  }

  private async refusedWhole(sent: Dispatched): Promise<void> {
    const raw = await sent.whole();
    await this.refused({
      status: sent.status,
      body: decoded(raw),
      raw,
      headers: this.work.headers(sent.headers),
    });
  }

  /** @param frame the error's own frame, where a client reads the stream already. */
  private async refused(refused: RefusedCall, frame?: Uint8Array): Promise<void> {
    const action = this.on({ kind: "refused", verdict: this.work.judge(refused) });
    if (action === "nothing") return;
    if (action !== "refuse" && action !== "tell") {
      this.again = await this.mended(action, refused);
      // It goes out again, or was stopped meanwhile, which was told already.
      if (this.again || this.state.phase === "over") return;
      this.state = { ...this.state, phase: "over" };
    }
    this.work.fail("refused", refused.status);
    if (action === "tell" && frame !== undefined) {
      this.flight.pass(frame);
      this.flight.end();
    } else if (this.flight.isCommitted) {
      this.flight.pass(frame ?? this.work.errorFrame(textOf(refused.raw)));
      this.flight.end();
    } else this.flight.answer(refused.status ?? 502, refused.headers, refused.raw);
  }

  /** Whether the request can go out again. */
  private async mended(action: Action, refused: RefusedCall): Promise<boolean> {
    if (action === "unbind") return this.work.unbind();
    if (action === "recover") return await this.work.recover(refused);
    return await this.work.retry(refused, this.flight.abort.signal);
  }

  private async readWhole(sent: Dispatched): Promise<void> {
    const raw = await sent.whole();
    const reply = readReply(this.work.dialect, raw);
    const overflowed = reply !== undefined && this.work.overflowed(reply);
    const action = this.on({ kind: "ended", usable: reply?.usable ?? false, overflowed });
    if (action === "nothing") return;
    if (action === "recover" && (await this.isSettledBy(reply!))) return;
    if (action === "store" || (action === "recover" && reply!.usable)) this.work.store(reply!);
    else this.work.fail(reply === undefined ? "garbage" : "empty");
    if (this.flight.isCommitted && reply?.usable) {
      // Pings of ours have begun a stream already.
      this.flight.pass(streamOf(this.work, reply));
      this.flight.end();
      return;
    }
    // The provider's own bytes, whatever they are: it answered.
    this.flight.answer(sent.status, this.work.headers(sent.headers), raw);
  }

  /** Whether nothing is left to do for this reply: the request is smaller and goes out again, or the step was stopped meanwhile. */
  private async isSettledBy(reply: Reply): Promise<boolean> {
    this.again = await this.work.recover({ reply });
    if (this.again || this.state.phase === "over") return true;
    this.state = { ...this.state, phase: "over" };
    return false;
  }

  private async readStream(sent: Dispatched): Promise<void> {
    const splitter = new FrameSplitter();
    const assembler = createAssembler(this.work.dialect, this.work.choices);
    const take = async (frames: Uint8Array[]): Promise<boolean> => {
      for (const frame of frames) {
        const meaning = assembler.push(frame);
        if (meaning.kind === "error") {
          const body = meaning.error?.body;
          const raw = new TextEncoder().encode(JSON.stringify(body ?? null));
          const status = meaning.error?.status;
          const headers = this.work.headers(sent.headers);
          headers["content-type"] = "application/json";
          await this.refused({ ...(status !== undefined && { status }), body, raw, headers }, frame);
          return false;
        }
        if (meaning.kind === "content" || meaning.kind === "terminal") this.work.show(frame);
        if (meaning.usageOnly && this.work.hidesUsage) continue;
        this.forward(this.on({ kind: "frame", meaning: meaning.kind }), frame, sent);
        if (this.state.phase === "over") return false;
      }
      return true;
    };
    for await (const chunk of sent.chunks()) {
      if (!(await take(split(splitter, chunk)))) return;
      // A server may keep the connection open behind its last word.
      if (assembler.done) break;
    }
    if (!(await take(splitter.end()))) return;
    await this.streamEnded(sent, assembler.reply());
  }

  private async streamEnded(sent: Dispatched, reply: Reply): Promise<void> {
    const whole = this.state.phase === "closing";
    const overflowed = whole && this.work.overflowed(reply);
    const action = this.on({ kind: "ended", usable: whole && reply.usable, overflowed });
    if (action === "nothing") return;
    if (action === "recover" && (await this.isSettledBy(reply))) return;
    if (action === "store" || (action === "recover" && reply.usable)) this.work.store(reply);
    else if (!whole) {
      this.broken("stream");
      return;
    } else this.work.fail("empty");
    this.flight.commit(this.streamHeaders(sent));
    for (const frame of [...this.held, ...this.kept]) this.flight.pass(frame);
    this.flight.end();
  }

  private forward(action: Action, frame: Uint8Array, sent: Dispatched): void {
    if (action === "hold") this.held.push(frame);
    else if (action === "keep") this.kept.push(frame);
    else if (action === "pass") {
      this.flight.commit(this.streamHeaders(sent));
      for (const earlier of this.held) this.flight.pass(earlier);
      this.held = [];
      this.flight.pass(frame);
    }
  }

  private streamHeaders(sent: Dispatched): HeaderMap {
    return {
      ...this.work.headers(sent.headers),
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
    };
  }

  private broken(why: string): void {
    this.state = { ...this.state, phase: "over" };
    this.work.fail(why);
    this.breakOff(why);
  }

  private breakOff(why: string): void {
    if (this.flight.isCommitted) this.flight.cut();
    else {
      const { status, headers, body } = this.work.brokenAnswer(why);
      this.flight.answer(status, headers, body);
    }
  }
}

/** @throws BrokenCall for an event that is too large to be one. */
function split(splitter: FrameSplitter, chunk: Uint8Array): Uint8Array[] {
  try {
    return splitter.push(chunk);
  } catch (error) {
    throw error instanceof RangeError ? new BrokenCall("too-large") : error;
  }
}

function textOf(raw: Uint8Array): string {
  return new TextDecoder().decode(raw);
}

/** A whole reply as the shortest stream of its dialect. */
function streamOf({ dialect, hidesUsage }: TurnWork, reply: Reply): Uint8Array {
  const { id = "plimsoll", model = "" } = reply;
  return renderReply(dialect, { ...reply, id, model }, { stream: true, includeUsage: !hidesUsage });
}

function decoded(raw: Uint8Array): unknown {
  const text = textOf(raw.subarray(0, 65_536));
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

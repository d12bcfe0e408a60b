import { createHash } from "node:crypto";
import type { Prepared } from "./api.ts";
import { asList, type Json } from "./import/session.ts";
import type { Oracle } from "./oracle.ts";
import { commonBytes, utf8 } from "./raw.ts";
import type { Compaction, StepRecord } from "./record.ts";

/**
 * Judges every answer of `/prepare` by counting and reading it again, and keeps the books of a replay: what was sent,
 * what would have been sent without compaction, and what a Surface was before it was replaced.
 */

/** A Surface that was replaced: what `GET /surface?at=` must still answer. */
export interface PastSurface {
  step: number;
  at: number;
  digest: string;
}

interface Sent {
  at: number;
  messages: Uint8Array[];
  bytes: number;
  generation: number;
}

export class Judge {
  readonly records: StepRecord[] = [];
  readonly faults: string[] = [];
  readonly past: PastSurface[] = [];
  illegal = 0;
  over = 0;
  repaired = 0;
  irreducible = 0;
  private readonly oracle: Oracle;
  private readonly window: number;
  private readonly envelope: { tokens: number; bytes: number };
  private last: Sent | undefined;
  /** Tokens of all messages so far, as they would be sent without compaction. */
  private uncompacted = 0;
  /** What the next request weighs at least as long as nothing is replaced; undefined after a refused step. */
  private base: { tokens: number; generation: number } | undefined;

  constructor(oracle: Oracle, window: number, envelope: { tokens: number; bytes: number }) {
    this.oracle = oracle;
    this.window = window;
    this.envelope = envelope;
    this.base = { tokens: envelope.tokens, generation: 0 };
  }

  /** @param entering JSON texts of the batch. @param ms how long the answer took. */
  prepared(entering: readonly string[], answer: Prepared, ms: number): StepRecord {
    const { messages, generation } = answer;
    const index = this.records.length;
    const tokens = messages.reduce((sum, raw) => sum + this.oracle.message(raw), this.envelope.tokens);
    this.inspect(index + 1, messages, tokens);
    this.repaired += answer.repaired;
    const untouched = this.base !== undefined && this.base.generation === generation;
    this.uncompacted += untouched ? tokens - (this.base?.tokens ?? 0) : this.tokensOf(entering);

    const before = this.last;
    if (before !== undefined && before.at > 0 && before.generation !== generation) {
      this.past.push({ step: index, at: before.at, digest: digestOf(before.messages) });
    }
    const bytes = messages.reduce((sum, raw) => sum + raw.length, this.envelope.bytes);
    this.last = { at: 0, messages, bytes, generation };
    this.base = { tokens, generation };
    const record: StepRecord = {
      index,
      tokens,
      uncompacted: this.envelope.tokens + this.uncompacted,
      bytes,
      previousBytes: before?.bytes ?? 0,
      prefixBytes: before === undefined ? 0 : this.envelope.bytes + commonBytes(before.messages, messages),
      pressure: answer.pressure,
      generation,
      compaction: compactionOf(answer.compaction),
      ms,
    };
    this.records.push(record);
    return record;
  }

  /** The reply to the last request was accepted as node `seq`. Just before it the Surface was what had been answered. */
  replied(reply: string, seq: number): void {
    if (this.last !== undefined) this.last.at = seq - 1;
    this.appended([reply]);
  }

  /** Messages are part of the next request. */
  appended(messages: readonly string[]): void {
    const tokens = this.tokensOf(messages);
    this.uncompacted += tokens;
    if (this.base !== undefined) this.base.tokens += tokens;
  }

  /** The step could not be made to fit; its messages are appended without a request. */
  refused(): void {
    this.irreducible += 1;
    this.base = undefined;
    this.last = undefined;
  }

  private inspect(step: number, messages: Uint8Array[], tokens: number): void {
    const violations = this.oracle.violations(messages);
    if (violations.length > 0) {
      this.illegal += 1;
      this.faults.push(`step ${step}: illegal Surface: ${violations[0]}`);
    }
    if (tokens > this.window) {
      this.over += 1;
      this.faults.push(`step ${step}: ${tokens} tokens are over the window of ${this.window}`);
    }
  }

  private tokensOf(messages: readonly string[]): number {
    const rendered = this.oracle.render(messages.map(utf8));
    return rendered.reduce((sum, raw) => sum + this.oracle.message(raw), 0);
  }
}

/** Tells two lists of messages apart by their exact bytes. */
export function digestOf(messages: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const raw of messages) hash.update(`${raw.length}\n`).update(raw);
  return hash.digest("hex");
}

function compactionOf(value: Json | undefined): Compaction | undefined {
  if (value === undefined) return undefined;
  return {
    rungs: asList(value.rungs).map(String),
    outcome: String(value.outcome),
    generation: Number(value.generation),
    tokensBefore: Number(value.tokensBefore),
    tokensAfter: Number(value.tokensAfter),
  };
}

/** What a replay knows of its steps and of its end: plain data, shared by the player, the picture and the benches. */

/** What a compaction did, as `/prepare` answered it. */
export interface Compaction {
  rungs: string[];
  outcome: string;
  generation: number;
  tokensBefore: number;
  tokensAfter: number;
}

/** One request that was prepared. Tokens are exact counts; bytes are those of the envelope and the messages. */
export interface StepRecord {
  index: number;
  tokens: number;
  /** What the same request would weigh had nothing ever been compacted. */
  uncompacted: number;
  bytes: number;
  /** Bytes of the request before it (0 for the first), and how many of them this one starts with. */
  previousBytes: number;
  prefixBytes: number;
  /** Pressure as the server estimated it, tokens. */
  pressure: number;
  generation: number;
  compaction: Compaction | undefined;
  /** Milliseconds that `/prepare` took. */
  ms: number;
}

export interface PlayResult {
  /** Messages posted, and the calls in them. */
  messages: number;
  calls: number;
  /** Requests that were prepared. */
  steps: number;
  /** Calls that the server closed. */
  repaired: number;
  /** Tokens. `threshold` is undefined where the server does not know one. */
  window: number;
  threshold: number | undefined;
  maxPressure: number;
  generation: number;
  /** Replacements of each kind. */
  prunes: number;
  checkpoints: number;
  /** Sum of the exact counts of all requests; the same sum without compaction less this one. */
  tokensIn: number;
  tokensSaved: number;
  /** Steps that the server refused because nothing could make them fit. */
  irreducible: number;
  illegalSurfaces: number;
  overWindow: number;
  auditDrift: number;
  ms: number;
  records: StepRecord[];
  /** Everything that must not be, one sentence each; empty after a good run. */
  faults: string[];
}

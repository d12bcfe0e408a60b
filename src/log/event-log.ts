/**
 * The contract of a session's store: the append-only log and the projections that are folded from it.
 * Two forms keep it: SQLite in the object, and memory in tests and in the audit. Everything is synchronous; what
 * must land together is written inside one `transaction`.
 */
import type { EventRow, NodeRow, StepRequest, Trigger, Weight } from "./events.ts";

export interface Branch {
  /** Seq of its `branch/opened` event. */
  id: number;
  name: string;
  /** The node it was opened from, 0 for none. */
  from: number;
  /** The newest accepted node. */
  head: number;
  /** The end of what entered with the step in progress; the head where nothing waits to be accepted. */
  tip: number;
  /** Where it is not the session's own; "" otherwise. */
  dialect: string;
  /** Its newest view, 0 before the first replacement. */
  view: number;
  gen: number;
  /** Hash of the envelope in force, "" for none. */
  envelope: string;
  /** Seq of the `usage/reported` event of the newest anchor on the path, 0 for none. */
  anchor: number;
  /** Route of the newest step, "" before the first: thinking on the Surface was made by it. */
  route: string;
  /** Steps that were started on the branch. */
  steps: number;
  /** Prepared step in progress (seq of its `step/start`), 0 for none; until when it counts; re-sends after refusals. */
  step: number;
  stepDeadline: number;
  /** The view that the step's newest request showed, 0 for none: its reply was made in front of that. */
  sent: number;
  resends: number;
  /** The newest step that a drop-in request started, and that request. */
  request: (StepRequest & { step: number; at: number }) | null;
  /** Id of the compaction that holds the branch, "" for none. */
  claim: string;
}

/** An immutable record of what one branch shows at one generation. */
export interface View {
  seq: number;
  branch: number;
  gen: number;
  /** The view before it on the branch, 0 for none. */
  base: number;
  kind: "prune" | "checkpoint" | "route" | "adopt" | "trimmed" | "undo" | "inherit";
  /** The invocation that made it; for an undo the one it takes back; "" when inherited. */
  compaction: string;
  /** The last node that is not shown, and its depth; 0 for none. The checkpoint stands for all of them; a trimmed view has none. */
  upto: number;
  uptoDepth: number;
  checkpoint: number;
  /** What the view adds to the weight of the path. */
  delta: Weight;
  /** Nodes beyond `upto` in another form: [node, form, tokens, bytes, images] with the signed differences. */
  forms: readonly (readonly [node: number, form: number, tokens: number, bytes: number, images: number])[];
}

/** An open compaction: in the log it is a `compaction/start` without its end. */
export interface Claim {
  id: string;
  branch: number;
  seq: number;
  trigger: Trigger;
  epoch: string;
  deadline: number;
}

export interface EnvelopeRow {
  hash: string;
  price: number;
  body: Uint8Array;
}

export interface ReadOptions {
  limit: number;
  maxBytes: number;
  branch?: number;
}

/** What folds and plans may ask of the store. */
export interface LogReader {
  /** Newest seq of the session, 0 before the first event. */
  end(): number;
  event(seq: number): EventRow | undefined;
  body(seq: number): Uint8Array;
  /** Events with seq > after, oldest first, until `limit` rows or `maxBytes` of bodies and metas (at least one). */
  read(after: number, options: ReadOptions): EventRow[];
  /** The nodes from depth `above` + 1 to `head`, along parent links, oldest first. */
  path(head: number, above: number): NodeRow[];
  /** Seqs of the nodes with this link key, newest first. */
  keyed(key: string): number[];

  branch(id: number): Branch | undefined;
  branchNamed(name: string): Branch | undefined;
  branches(): Branch[];
  view(seq: number): View | undefined;
  /** The branch's newest view with seq <= `at`. */
  viewAt(branch: number, at: number): View | undefined;
  /** The branch's views, newest first. */
  views(branch: number): View[];

  claims(): Claim[];
  /** Seqs of the checkpoints, oldest first. */
  checkpoints(): { seq: number; branch: number }[];

  state(key: string): unknown;
  states(): { key: string; value: unknown }[];
  envelope(hash: string): EnvelopeRow | undefined;
}

export interface EventLog extends LogReader {
  transaction<T>(work: () => T): T;
  insert(row: EventRow, body: Uint8Array | undefined): void;
  putBranch(branch: Branch): void;
  putView(view: View): void;
  putClaim(claim: Claim): void;
  dropClaim(id: string): void;
  putState(key: string, seq: number, value: unknown): void;
  putEnvelope(row: EnvelopeRow): void;
}

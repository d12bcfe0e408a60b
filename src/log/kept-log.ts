/**
 * The event-log contract in front of a store: keeps the rows that appends and plans ask for again and again, so that an append
 * reads nothing from the database, and puts a branch once in a transaction however often it changes there. An object is the only
 * writer of its database, so what is kept holds until a transaction is rolled back; then all of it is forgotten. What is kept is
 * bounded, and nobody changes a row that he was given.
 */
import type { Branch, Claim, EnvelopeRow, EventLog, ReadOptions, View } from "./event-log.ts";
import { type EventRow, isFormType, type NodeRow } from "./events.ts";

const KEPT_ROWS = 256;
const KEPT_VIEWS = 4;
/** Bodies together, and the largest that is kept at all. */
const KEPT_BODIES_BYTES = 8 * 1024 * 1024;
const KEPT_BODY_BYTES = 512 * 1024;
/** A larger envelope is read each time. */
const KEPT_ENVELOPE_BYTES = 1024 * 1024;

export function createKeptLog(store: EventLog): EventLog {
  return new KeptLog(store);
}

class KeptLog implements EventLog {
  private readonly store: EventLog;
  private readonly rows = new Recent<number, EventRow>(KEPT_ROWS);
  private readonly shown = new Recent<number, View>(KEPT_VIEWS);
  private readonly bodies = new RecentBodies();
  private readonly stateValues = new Map<string, unknown>();
  private newest: number | undefined;
  /** All of them, by id: there are few, and the alarm looks at each. */
  private lines: Map<number, Branch> | undefined;
  /** Branches as the open transaction left them: each is put into the store once, at its end. */
  private changed: Map<number, Branch> | undefined;
  private open: Claim[] | undefined;
  private lastEnvelope: EnvelopeRow | undefined;

  constructor(store: EventLog) {
    this.store = store;
  }

  transaction<T>(work: () => T): T {
    const outer = this.changed;
    this.changed = new Map(outer);
    try {
      return this.store.transaction(() => {
        const result = work();
        if (outer === undefined) for (const branch of this.changed!.values()) this.store.putBranch(branch);
        else for (const [id, branch] of this.changed!) outer.set(id, branch);
        return result;
      });
    } catch (error) {
      this.forget();
      throw error;
    } finally {
      this.changed = outer;
    }
  }

  private forget(): void {
    this.rows.clear();
    this.bodies.clear();
    this.shown.clear();
    this.stateValues.clear();
    this.newest = undefined;
    this.lines = undefined;
    this.open = undefined;
    this.lastEnvelope = undefined;
  }

  end(): number {
    this.newest ??= this.store.end();
    return this.newest;
  }

  event(seq: number): EventRow | undefined {
    return this.rows.get(seq) ?? this.keep(this.store.event(seq));
  }

  insert(row: EventRow, body: Uint8Array | undefined): void {
    this.store.insert(row, body);
    this.newest = row.seq;
    if (body !== undefined) this.bodies.set(row.seq, body);
    // Not the writer's own values: what the store gives back is what it kept of them.
    this.keep(row.node === null ? { ...row, meta: JSON.parse(JSON.stringify(row.meta)) } : row);
  }

  /** Checkpoints carry their facts and may be large. */
  private keep(row: EventRow | undefined): EventRow | undefined {
    if (row !== undefined && !isFormType(row.type)) this.rows.set(row.seq, row);
    return row;
  }

  body(seq: number): Uint8Array {
    const kept = this.bodies.get(seq);
    if (kept !== undefined) return kept;
    const body = this.store.body(seq);
    this.bodies.set(seq, body);
    return body;
  }

  read(after: number, options: ReadOptions): EventRow[] {
    return this.store.read(after, options);
  }

  path(head: number, above: number): NodeRow[] {
    return this.store.path(head, above);
  }

  keyed(key: string): number[] {
    return this.store.keyed(key);
  }

  branch(id: number): Branch | undefined {
    return this.allBranches().get(id);
  }

  branchNamed(name: string): Branch | undefined {
    for (const branch of this.allBranches().values()) if (branch.name === name) return branch;
    return undefined;
  }

  branches(): Branch[] {
    return [...this.allBranches().values()].sort((a, b) => a.id - b.id);
  }

  putBranch(branch: Branch): void {
    if (this.changed === undefined) this.store.putBranch(branch);
    else this.changed.set(branch.id, branch);
    this.lines?.set(branch.id, branch);
  }

  private allBranches(): Map<number, Branch> {
    if (this.lines === undefined) {
      this.lines = new Map(this.store.branches().map((branch) => [branch.id, branch]));
      for (const [id, branch] of this.changed ?? []) this.lines.set(id, branch);
    }
    return this.lines;
  }

  view(seq: number): View | undefined {
    const view = this.shown.get(seq) ?? this.store.view(seq);
    if (view !== undefined) this.shown.set(seq, view);
    return view;
  }

  viewAt(branch: number, at: number): View | undefined {
    return this.store.viewAt(branch, at);
  }

  views(branch: number): View[] {
    return this.store.views(branch);
  }

  putView(view: View): void {
    this.store.putView(view);
    this.shown.set(view.seq, view);
  }

  claims(): Claim[] {
    this.open ??= this.store.claims();
    return [...this.open];
  }

  putClaim(claim: Claim): void {
    this.store.putClaim(claim);
    this.open = undefined;
  }

  dropClaim(id: string): void {
    this.store.dropClaim(id);
    this.open = undefined;
  }

  checkpoints(): { seq: number; branch: number }[] {
    return this.store.checkpoints();
  }

  state(key: string): unknown {
    if (!this.stateValues.has(key)) this.stateValues.set(key, this.store.state(key));
    return this.stateValues.get(key);
  }

  states(): { key: string; value: unknown }[] {
    return this.store.states();
  }

  putState(key: string, seq: number, value: unknown): void {
    this.store.putState(key, seq, value);
    // Not the value itself: what comes back from the store is what it kept of it.
    this.stateValues.delete(key);
  }

  envelope(hash: string): EnvelopeRow | undefined {
    if (this.lastEnvelope?.hash === hash) return this.lastEnvelope;
    const row = this.store.envelope(hash);
    if (row !== undefined && row.body.byteLength <= KEPT_ENVELOPE_BYTES) this.lastEnvelope = row;
    return row;
  }

  putEnvelope(row: EnvelopeRow): void {
    this.store.putEnvelope(row);
    if (this.lastEnvelope?.hash === row.hash) this.lastEnvelope = undefined;
  }
}

/** The bodies that were asked for or written last: a Surface is rendered anew for each request. */
class RecentBodies {
  private readonly values = new Map<number, Uint8Array>();
  private bytes = 0;

  get(seq: number): Uint8Array | undefined {
    const body = this.values.get(seq);
    if (body === undefined) return undefined;
    this.values.delete(seq);
    this.values.set(seq, body);
    return body;
  }

  set(seq: number, body: Uint8Array): void {
    if (body.byteLength > KEPT_BODY_BYTES) return;
    this.bytes += body.byteLength - (this.values.get(seq)?.byteLength ?? 0);
    this.values.delete(seq);
    this.values.set(seq, body);
    for (const [oldest, { byteLength }] of this.values) {
      if (this.bytes <= KEPT_BODIES_BYTES) break;
      this.values.delete(oldest);
      this.bytes -= byteLength;
    }
  }

  clear(): void {
    this.values.clear();
    this.bytes = 0;
  }
}

/** The values that were asked for or set last. */
class Recent<K, V> {
  private readonly values = new Map<K, V>();
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  get(key: K): V | undefined {
    const value = this.values.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.values.delete(key);
    this.values.set(key, value);
    if (this.values.size > this.most) this.values.delete(this.values.keys().next().value as K);
  }

  clear(): void {
    this.values.clear();
  }
}

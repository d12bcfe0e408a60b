/** The event-log contract in memory: the audit folds into it, tests compare the SQLite form with it. */

import type { Branch, Claim, EnvelopeRow, EventLog, ReadOptions, View } from "./event-log.ts";
import type { EventRow, NodeRow } from "./events.ts";

/** @param bodyOf where bodies are read from when they are not to be kept here as well. */
export function createMemoryLog(bodyOf?: (seq: number) => Uint8Array): EventLog {
  return new MemoryLog(bodyOf);
}

class MemoryLog implements EventLog {
  private readonly rows: EventRow[] = [];
  private readonly bodies = new Map<number, Uint8Array>();
  private readonly branchRows = new Map<number, Branch>();
  private readonly viewRows = new Map<number, View>();
  private readonly claimRows = new Map<string, Claim>();
  private readonly stateRows = new Map<string, unknown>();
  private readonly envelopeRows = new Map<string, EnvelopeRow>();
  private readonly bodyOf: ((seq: number) => Uint8Array) | undefined;
  /** How to take back what the running transaction wrote, newest last; undefined outside of one. */
  private undo: (() => void)[] | undefined;

  constructor(bodyOf: ((seq: number) => Uint8Array) | undefined) {
    this.bodyOf = bodyOf;
  }

  transaction<T>(work: () => T): T {
    const outer = this.undo;
    const mine: (() => void)[] = [];
    this.undo = mine;
    try {
      const result = work();
      outer?.push(...mine);
      return result;
    } catch (error) {
      for (const step of mine.reverse()) step();
      throw error;
    } finally {
      this.undo = outer;
    }
  }

  private set<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
    const before = map.get(key);
    const had = map.has(key);
    this.undo?.push(() => (had ? map.set(key, before as V) : map.delete(key)));
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }

  end(): number {
    return this.rows.length;
  }

  insert(row: EventRow, body: Uint8Array | undefined): void {
    if (row.seq !== this.end() + 1) throw new Error(`seq ${row.seq} does not follow ${this.end()}`);
    this.rows.push(row);
    this.undo?.push(() => this.rows.pop());
    if (body !== undefined && this.bodyOf === undefined) this.set(this.bodies, row.seq, body);
  }

  event(seq: number): EventRow | undefined {
    return this.rows[seq - 1];
  }

  body(seq: number): Uint8Array {
    return this.bodyOf?.(seq) ?? this.bodies.get(seq) ?? new Uint8Array(0);
  }

  read(after: number, { limit, maxBytes, branch }: ReadOptions): EventRow[] {
    const rows: EventRow[] = [];
    let bytes = 0;
    for (const row of this.rows.slice(after)) {
      if (branch !== undefined && row.branch !== branch) continue;
      bytes += row.size + JSON.stringify(row.meta).length;
      if (rows.length >= limit || (rows.length > 0 && bytes > maxBytes)) break;
      rows.push(row);
    }
    return rows;
  }

  path(head: number, above: number): NodeRow[] {
    const rows: NodeRow[] = [];
    let seq = head;
    while (seq !== 0) {
      const row = this.event(seq) as NodeRow;
      if (row.node.depth <= above) break;
      rows.push(row);
      seq = row.node.parent;
    }
    return rows.reverse();
  }

  keyed(key: string): number[] {
    return this.rows
      .filter((row) => row.node?.key === key)
      .map((row) => row.seq)
      .reverse();
  }

  branch(id: number): Branch | undefined {
    return this.branchRows.get(id);
  }

  branchNamed(name: string): Branch | undefined {
    return this.branches().find((branch) => branch.name === name);
  }

  branches(): Branch[] {
    return [...this.branchRows.values()].sort((a, b) => a.id - b.id);
  }

  putBranch(branch: Branch): void {
    this.set(this.branchRows, branch.id, branch);
  }

  view(seq: number): View | undefined {
    return this.viewRows.get(seq);
  }

  viewAt(branch: number, at: number): View | undefined {
    return this.views(branch).find((view) => view.seq <= at);
  }

  views(branch: number): View[] {
    return [...this.viewRows.values()].filter((view) => view.branch === branch).sort((a, b) => b.seq - a.seq);
  }

  putView(view: View): void {
    this.set(this.viewRows, view.seq, view);
  }

  claims(): Claim[] {
    return [...this.claimRows.values()].sort((a, b) => a.seq - b.seq);
  }

  putClaim(claim: Claim): void {
    this.set(this.claimRows, claim.id, claim);
  }

  dropClaim(id: string): void {
    this.set(this.claimRows, id, undefined);
  }

  checkpoints(): { seq: number; branch: number }[] {
    return this.rows
      .filter((row) => row.type === "compaction/summary")
      .map(({ seq, branch }) => ({ seq, branch }));
  }

  state(key: string): unknown {
    return this.stateRows.get(key);
  }

  states(): { key: string; value: unknown }[] {
    return [...this.stateRows]
      .map(([key, value]) => ({ key, value }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  putState(key: string, _seq: number, value: unknown): void {
    this.set(this.stateRows, key, value);
  }

  envelope(hash: string): EnvelopeRow | undefined {
    return this.envelopeRows.get(hash);
  }

  putEnvelope(row: EnvelopeRow): void {
    this.set(this.envelopeRows, row.hash, row);
  }
}

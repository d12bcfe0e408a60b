/** Events, branches and views as plain rows with defaults, for tests that put them into a log by hand. */
import type { Branch, Claim, View } from "../../src/log/event-log.ts";
import { type EventRow, type NodeColumns, noWeight } from "../../src/log/events.ts";

export function row(seq: number, changes: Partial<EventRow> = {}): EventRow {
  return {
    seq,
    type: "session/configured",
    at: 1_000 + seq,
    branch: 2,
    step: 0,
    meta: {},
    size: 0,
    price: 0,
    bytes: 0,
    images: 0,
    sampled: false,
    mend: false,
    thinking: false,
    node: null,
    ...changes,
  };
}

export function node(columns: Partial<NodeColumns> = {}): NodeColumns {
  return {
    parent: 0,
    jump: 0,
    depth: 1,
    cum: noWeight,
    open: [],
    turn: false,
    anchor: 0,
    ...columns,
  };
}

export function branch(id: number, changes: Partial<Branch> = {}): Branch {
  return {
    id,
    name: `b${id}`,
    from: 0,
    head: 0,
    tip: changes.head ?? 0,
    dialect: "",
    view: 0,
    gen: 0,
    envelope: "",
    anchor: 0,
    route: "",
    steps: 0,
    step: 0,
    stepDeadline: 0,
    sent: 0,
    resends: 0,
    request: null,
    claim: "",
    ...changes,
  };
}

export function view(seq: number, of: number, changes: Partial<View> = {}): View {
  return {
    seq,
    branch: of,
    gen: 1,
    base: 0,
    kind: "prune",
    compaction: "c",
    upto: 0,
    uptoDepth: 0,
    checkpoint: 0,
    delta: noWeight,
    forms: [],
    ...changes,
  };
}

export function claim(id: string, changes: Partial<Claim> = {}): Claim {
  return { id, branch: 2, seq: 1, trigger: "pressure", epoch: "e1", deadline: 5_000, ...changes };
}

/** Bytes without a pattern that a shifted or doubled part could hide in. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Whether two byte strings are equal, without the cost of an assertion on each byte. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, at) => byte === b[at]);
}

/** What every form of the event log must do: one suite, run over each form. */
import { describe, expect, it } from "vitest";
import type { EventLog } from "../../src/log/event-log.ts";
import type { EventRow } from "../../src/log/events.ts";
import { branch, claim, node, noise, row, sameBytes, view } from "../support/rows.ts";

/** One database cell of production holds at most this much; a part must leave room for the rest of its row. */
const MIB = 1_048_576;

/** Runs `use` over an empty log of the form. */
export type WithLog = (use: (log: EventLog) => void) => Promise<void>;

export function describeEventLog(form: string, withLog: WithLog): void {
  const law = (name: string, use: (log: EventLog) => void) => it(name, () => withLog(use));

  describe(`the event log in ${form}`, () => {
    law("[L1] is empty at first and then ends with its newest event", (log) => {
      expect(log.end()).toBe(0);
      expect([log.event(1), log.read(0, { limit: 9, maxBytes: 9 })]).toEqual([undefined, []]);
      expect([log.branches(), log.claims(), log.states(), log.checkpoints()]).toEqual([[], [], [], []]);
      insertAll(log, 3);
      expect(log.end()).toBe(3);
    });

    law("[L1] gives back each event as it was put, every column of it", (log) => {
      const full = row(1, {
        type: "message/assistant",
        step: 7,
        meta: { text: "a\u0000b \ud800 \u{1f600}", list: [1.5, -0.25, null, true], deep: { x: {} } },
        size: 3,
        price: 12,
        bytes: 34,
        images: 2,
        sampled: true,
        mend: true,
        thinking: true,
        node: node({
          parent: 9,
          jump: 4,
          depth: 3,
          cum: { tokens: 99, bytes: 1_234_567_890_123, images: 5 },
          open: ["call_1", "\u0000", "ü\ud800"],
          turn: true,
          anchor: 6,
        }),
      });
      log.insert(full, noise(3));
      const plain = row(2, { meta: {} });
      log.insert(plain, undefined);
      expect(log.event(1)).toEqual(full);
      expect(log.event(2)).toEqual(plain);
      expect(log.read(0, { limit: 10, maxBytes: MIB })).toEqual([full, plain]);
      expect(log.event(3)).toBeUndefined();
    });

    law("[L2] gives back bodies byte for byte, of no byte, around a part and of five mebibytes", (log) => {
      const sizes = [0, 1, 3 * 524_288 - 1, 3 * 524_288, 3 * 524_288 + 1, 5 * MIB];
      for (const [at, size] of sizes.entries()) log.insert(row(at + 1, { size }), noise(size, size));
      log.insert(row(sizes.length + 1), undefined);
      for (const [at, size] of sizes.entries()) {
        expect(sameBytes(log.body(at + 1), noise(size, size)), `a body of ${size}`).toBe(true);
      }
      expect(log.body(sizes.length + 1)).toEqual(new Uint8Array(0));
      expect(log.body(999)).toEqual(new Uint8Array(0));
    });

    law("[L3] a transaction that throws leaves everything as it was", (log) => {
      fill(log);
      const before = everything(log);
      expect(() =>
        log.transaction(() => {
          touchAll(log);
          expect(everything(log)).not.toEqual(before);
          throw new Error("in the middle");
        }),
      ).toThrow("in the middle");
      expect(everything(log)).toEqual(before);
      log.transaction(() => touchAll(log));
      expect(log.end()).toBe(before.end + 1);
    });

    law("[L3] a transaction inside another one is taken back alone, or with the outer one", (log) => {
      fill(log);
      const before = everything(log);
      let between: unknown;
      const nested = (fails: boolean) => () => {
        log.putState("outer", 1, "kept");
        between = everything(log);
        try {
          log.transaction(() => {
            touchAll(log);
            throw new Error("inner");
          });
        } catch {
          expect(everything(log)).toEqual(between);
        }
        log.transaction(() => log.putState("second", 1, "kept"));
        if (fails) throw new Error("outer");
      };
      expect(() => log.transaction(nested(true))).toThrow("outer");
      expect(everything(log)).toEqual(before);
      log.transaction(nested(false));
      expect([log.state("outer"), log.state("second"), log.end()]).toEqual(["kept", "kept", before.end]);
    });

    law("[L3] a transaction answers what its work answers", (log) => {
      expect(log.transaction(() => log.transaction(() => 41) + 1)).toBe(42);
    });

    law("[L4] reads events behind a seq, oldest first, of one branch if asked", (log) => {
      for (let seq = 1; seq <= 20; seq++) log.insert(row(seq, { branch: seq % 3 }), undefined);
      const seqs = (rows: EventRow[]) => rows.map((entry) => entry.seq);
      const all = { limit: 100, maxBytes: MIB };
      expect(seqs(log.read(0, all))).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
      expect(seqs(log.read(17, all))).toEqual([18, 19, 20]);
      expect(seqs(log.read(20, all))).toEqual([]);
      expect(seqs(log.read(5, { ...all, branch: 1 }))).toEqual([7, 10, 13, 16, 19]);
      expect(seqs(log.read(5, { ...all, branch: 1, limit: 2 }))).toEqual([7, 10]);
    });

    law("[L4] a page ends at its rows or its bytes, whichever comes first, and holds at least one", (log) => {
      for (let seq = 1; seq <= 6; seq++) log.insert(row(seq, { size: 1_000 }), noise(1_000));
      const count = (limit: number, maxBytes: number) => log.read(0, { limit, maxBytes }).length;
      expect(count(4, MIB)).toBe(4);
      expect(count(100, 3_500)).toBe(3);
      expect(count(100, 2_950)).toBe(2);
      expect(count(100, 1)).toBe(1);
    });

    law("[L4] what an event says counts to the bytes of a page like its body", (log) => {
      const meta = { text: "x".repeat(1_000) };
      for (let seq = 1; seq <= 6; seq++) log.insert(row(seq, { meta, size: 500 }), noise(500));
      expect(log.read(0, { limit: 100, maxBytes: 3_600 }).length).toBe(2);
    });

    law("[L5] a path runs along parents from above a depth to the head, oldest first", (log) => {
      fork(log);
      const seqs = (head: number, above: number) => log.path(head, above).map((entry) => entry.seq);
      expect(seqs(6, 0)).toEqual([1, 2, 4, 6]);
      expect(seqs(6, 2)).toEqual([4, 6]);
      expect(seqs(6, 4)).toEqual([]);
      expect(seqs(5, 1)).toEqual([3, 5]);
      expect(seqs(0, 0)).toEqual([]);
      expect(log.path(6, 3)).toEqual([log.event(6)]);
    });

    law("[L6] keeps the newest row of a branch, by id and by name, in the order of ids", (log) => {
      const main = branch(2, { name: "main", head: 9, view: 3, gen: 1, envelope: "abc", anchor: 4 });
      const busy = { route: "p/m", steps: 2, step: 8, stepDeadline: 77, resends: 1, claim: "c1", from: 5 };
      log.putBranch(branch(12, { name: "side" }));
      log.putBranch(main);
      log.putBranch({ ...main, ...busy });
      expect(log.branches().map(({ id }) => id)).toEqual([2, 12]);
      expect(log.branch(2)).toEqual({ ...main, ...busy });
      expect(log.branchNamed("side")).toEqual(branch(12, { name: "side" }));
      expect([log.branch(3), log.branchNamed("none")]).toEqual([undefined, undefined]);
    });

    law("[L7] keeps every view of a branch and finds the one that held at a seq", (log) => {
      const views = [3, 8, 12].map((seq) => view(seq, 2, { gen: seq, base: seq - 1, kind: "checkpoint" }));
      const odd = view(9, 5, {
        upto: 4,
        uptoDepth: 2,
        checkpoint: 7,
        delta: { tokens: -5, bytes: -9, images: -1 },
        forms: [[4, 8, -3, -4, 0]],
      });
      for (let seq = 1; seq <= 12; seq++) log.insert(row(seq, { branch: seq === 9 ? 5 : 2 }), undefined);
      for (const one of [...views, odd]) log.putView(one);
      expect(log.views(2)).toEqual([...views].reverse());
      expect(log.view(9)).toEqual(odd);
      expect(log.view(10)).toBeUndefined();
      expect(log.view(99)).toBeUndefined();
      const at = [2, 3, 7, 8, 11, 12, 99].map((seq) => log.viewAt(2, seq)?.seq);
      expect(at).toEqual([undefined, 3, 3, 8, 8, 12, 12]);
      expect(log.viewAt(5, 8)).toBeUndefined();
    });

    law("[L8] keeps open claims until they are dropped, oldest first", (log) => {
      log.putClaim(claim("late", { seq: 9, trigger: "manual" }));
      log.putClaim(claim("early", { seq: 4, epoch: "e2", deadline: 123_456_789_012 }));
      expect(log.claims().map(({ id }) => id)).toEqual(["early", "late"]);
      expect(log.claims()[0]).toEqual(claim("early", { seq: 4, epoch: "e2", deadline: 123_456_789_012 }));
      log.dropClaim("early");
      log.dropClaim("never");
      expect(log.claims().map(({ id }) => id)).toEqual(["late"]);
    });

    law("[L8] keeps the newest value of a state, and lists them by key", (log) => {
      log.putState("z", 1, { a: [0.1 + 0.2, 1e300, null] });
      log.putState("a", 2, "x");
      log.putState("a", 3, { "\ud800": 1 });
      expect(log.state("z")).toEqual({ a: [0.1 + 0.2, 1e300, null] });
      expect(log.states()).toEqual([
        { key: "a", value: { "\ud800": 1 } },
        { key: "z", value: { a: [0.1 + 0.2, 1e300, null] } },
      ]);
      expect(log.state("none")).toBeUndefined();
    });

    law("[L9] gives envelopes back by their hash, also of more than two parts, put once or again", (log) => {
      const large = { hash: "h1", price: 321, body: noise(4 * MIB) };
      const small = { hash: "h2", price: 0, body: noise(1) };
      for (const one of [large, small, large]) log.putEnvelope(one);
      expect(sameBytes(log.envelope("h1")!.body, large.body)).toBe(true);
      expect(log.envelope("h1")).toMatchObject({ hash: "h1", price: 321 });
      expect(log.envelope("h2")).toEqual(small);
      expect(log.envelope("h3")).toBeUndefined();
    });

    law("[L10] lists the checkpoints of all branches, oldest first", (log) => {
      for (let seq = 1; seq <= 6; seq++) {
        const type = seq % 2 === 0 ? "compaction/summary" : "compaction/prune";
        log.insert(row(seq, { type, branch: seq, size: 1 }), noise(1));
      }
      expect(log.checkpoints()).toEqual([2, 4, 6].map((seq) => ({ seq, branch: seq })));
    });
  });
}

function insertAll(log: EventLog, count: number): void {
  for (let seq = 1; seq <= count; seq++) log.insert(row(seq), undefined);
}

/** Two roots-to-heads that part behind the first node: 1-2-4-6 and 1-3-5. */
function fork(log: EventLog): void {
  const parents = [0, 1, 1, 2, 3, 4];
  const depths = [1, 2, 2, 3, 3, 4];
  for (const [at, parent] of parents.entries()) {
    const columns = node({ parent, depth: depths[at]! });
    log.insert(row(at + 1, { type: "message/user", size: 1, node: columns }), noise(1, at));
  }
}

/** A little of everything that a log holds. */
function fill(log: EventLog): void {
  fork(log);
  log.insert(row(7, { type: "compaction/summary", size: 2 }), noise(2));
  log.putBranch(branch(2, { head: 6 }));
  log.putView(view(7, 2));
  log.putClaim(claim("c1"));
  log.putState("session", 1, { route: "p/m" });
  log.putEnvelope({ hash: "h", price: 1, body: noise(9) });
}

/** Writes one of each kind, over what is there and beside it. */
function touchAll(log: EventLog): void {
  const seq = log.end() + 1;
  log.insert(row(seq, { type: "compaction/summary", size: 4 * MIB }), noise(4 * MIB));
  log.putBranch(branch(2, { head: 7, claim: "c2" }));
  log.putBranch(branch(9));
  log.putView(view(seq, 2, { gen: 2 }));
  log.dropClaim("c1");
  log.putClaim(claim("c2"));
  log.putState("session", seq, { route: "other" });
  log.putState("new", seq, 1);
  log.putEnvelope({ hash: "g", price: 2, body: noise(3 * MIB) });
}

function everything(log: EventLog) {
  return {
    end: log.end(),
    rows: log.read(0, { limit: 1_000, maxBytes: 99 * MIB }),
    bodies: [7, 8].map((seq) => log.body(seq).byteLength),
    branches: log.branches(),
    named: ["b2", "b9"].map((name) => log.branchNamed(name)),
    views: log.views(2),
    claims: log.claims(),
    states: log.states(),
    checkpoints: log.checkpoints(),
    envelopes: ["h", "g"].map((hash) => log.envelope(hash)?.price),
  };
}

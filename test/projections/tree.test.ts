/** The message tree by jump pointers, against walking it parent by parent. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Defect } from "../../src/failure.ts";
import type { EventRow } from "../../src/log/events.ts";
import {
  ancestorAt,
  depthOf,
  findNode,
  type NodeReader,
  newestUpTo,
  nodeAt,
  onPath,
  placeBehind,
} from "../../src/projections/tree.ts";
import { node, row } from "../support/rows.ts";

/** A tree in which node i + 1 stands behind `parents[i]`, with a count of the nodes that were looked at. */
class Forest implements NodeReader {
  readonly rows: EventRow[] = [];
  looks = 0;

  constructor(parents: readonly number[]) {
    for (const parent of parents) this.grow(parent);
  }

  grow(parent: number): number {
    const seq = this.rows.length + 1;
    this.rows.push(row(seq, { type: "message/user", node: node(placeBehind(this, parent)) }));
    return seq;
  }

  event(seq: number): EventRow | undefined {
    this.looks++;
    return this.rows[seq - 1];
  }

  /** From the node up to the root, by parents alone. */
  line(seq: number): number[] {
    const line: number[] = [];
    for (let at = seq; at !== 0; at = this.rows[at - 1]!.node!.parent) line.push(at);
    return line;
  }
}

/** Random parents, each an older node or 0, mostly near: long lines with many forks. */
const parents = fc
  .array(
    fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(8) }, fc.nat(300)),
    {
      minLength: 1,
      maxLength: 120,
      size: "max",
    },
  )
  .map((backs) => backs.map((back, at) => Math.max(0, at - back)));

describe("the tree of nodes", () => {
  it("[B1] finds the ancestor at any depth that walking parent by parent finds", () => {
    fc.assert(
      fc.property(parents, fc.nat(), fc.nat(130), (list, pick, depth) => {
        const forest = new Forest(list);
        const seq = (pick % list.length) + 1;
        const line = forest.line(seq).reverse();
        expect(depthOf(forest, seq)).toBe(line.length);
        expect(ancestorAt(forest, seq, depth)).toBe(line[depth - 1] ?? 0);
      }),
      { numRuns: 400 },
    );
  });

  it("[B1] tells whether a node lies on the path of another, and 0 on every path", () => {
    fc.assert(
      fc.property(parents, fc.nat(), fc.nat(), (list, a, b) => {
        const forest = new Forest(list);
        const [seq, head] = [(a % list.length) + 1, (b % list.length) + 1];
        expect(onPath(forest, seq, head)).toBe(forest.line(head).includes(seq));
        expect(onPath(forest, 0, head)).toBe(true);
        expect(onPath(forest, seq, 0)).toBe(false);
        expect(onPath(forest, 0, 0)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it("[B2] finds the newest node on a path up to a seq", () => {
    fc.assert(
      fc.property(parents, fc.nat(), fc.nat(130), (list, pick, at) => {
        const forest = new Forest(list);
        const head = (pick % list.length) + 1;
        expect(newestUpTo(forest, head, at)).toBe(forest.line(head).find((seq) => seq <= at) ?? 0);
        expect(newestUpTo(forest, 0, at)).toBe(0);
      }),
      { numRuns: 400 },
    );
  });

  it("[B3] reads a number of nodes that grows with the logarithm of the path", () => {
    const forest = new Forest([]);
    for (let seq = 0; seq < 100_000; seq++) forest.grow(seq);
    let worst = 0;
    for (let depth = 1; depth < 100_000; depth += 997) {
      forest.looks = 0;
      expect(ancestorAt(forest, 100_000, depth)).toBe(depth);
      expect(newestUpTo(forest, 100_000, depth)).toBe(depth);
      worst = Math.max(worst, forest.looks);
    }
    // Twice 2 log2(n) steps of at most three reads; by parents it would be up to 200,000.
    expect(worst).toBeLessThan(220);
    forest.looks = 0;
    forest.grow(100_000);
    expect(forest.looks).toBeLessThan(8);
  });

  it("[B4] a seq that is no node is not taken for one", () => {
    const forest = new Forest([0, 1]);
    forest.rows.push(row(3));
    expect([findNode(forest, 2)?.seq, findNode(forest, 3), findNode(forest, 9)]).toEqual([
      2,
      undefined,
      undefined,
    ]);
    for (const seq of [3, 9]) {
      expect(() => nodeAt(forest, seq)).toThrow(Defect);
      expect(() => ancestorAt(forest, seq, 1)).toThrow(Defect);
      expect(() => placeBehind(forest, seq)).toThrow(Defect);
    }
  });
});

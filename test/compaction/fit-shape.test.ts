import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitShape, type ShapeInput } from "../../src/compaction/fit-shape.ts";

const node = (native: number, transcript = native, legal = true) => ({ native, transcript, legal });
const base: ShapeInput = {
  preferred: "auto",
  sameRoute: true,
  sameDialect: true,
  nodes: [node(4_000, 1_000), node(4_000, 1_000), node(4_000, 1_000)],
  envelope: 2_000,
  directive: 500,
  maxTokens: 4_000,
  capacity: { window: 32_000 },
  ratio: 1,
};

describe("the shape of a summary request", () => {
  it("[C86] is the conversation on the session's own route while it fits", () => {
    expect(fitShape(base)).toEqual({ shape: "conversation", nodes: 3, maxTokens: 4_000 });
    expect(fitShape({ ...base, capacity: {} })).toEqual({
      shape: "conversation",
      nodes: 3,
      maxTokens: 4_000,
    });
  });

  it("[C86] is a transcript on another route, by the policy's wish, or where the conversation does not fit", () => {
    const transcript = { shape: "transcript", nodes: 3, maxTokens: 4_000 };
    expect(fitShape({ ...base, sameRoute: false })).toEqual(transcript);
    expect(fitShape({ ...base, preferred: "transcript" })).toEqual(transcript);
    expect(fitShape({ ...base, capacity: { window: 14_000 } })).toEqual(transcript);
    expect(fitShape({ ...base, capacity: { window: 90_000, inputLimit: 9_000 } })).toEqual(transcript);
  });

  it("[C86] is the conversation on another route only by the policy's wish and in the same dialect", () => {
    const wished = { ...base, sameRoute: false, preferred: "conversation" } as const;
    expect(fitShape(wished).shape).toBe("conversation");
    expect(fitShape({ ...wished, sameDialect: false }).shape).toBe("transcript");
  });

  it("[C87] [report B47] takes the oldest legal prefix when not even the transcript fits", () => {
    const nodes = [
      node(9, 3_000),
      node(9, 3_000, false),
      node(9, 3_000),
      node(9, 3_000, false),
      node(9, 3_000),
    ];
    const small = { ...base, sameRoute: false, nodes, capacity: { window: 12_000 } };
    expect(fitShape({ ...small, capacity: { window: 12_000 } })).toMatchObject({
      shape: "transcript",
      nodes: 3,
    });
    expect(fitShape({ ...small, capacity: { window: 9_000 } })).toMatchObject({ nodes: 1 });
    expect(fitShape({ ...small, capacity: { window: 2_000 } })).toEqual({ shape: "none" });
    expect(fitShape({ ...small, nodes: [] })).toEqual({ shape: "none" });
  });

  it("[C88] [report B49] fits the reply to the room: input, thinking and output together never exceed the window", () => {
    fc.assert(
      fc.property(
        fc.record({
          window: fc.integer({ min: 4_000, max: 60_000 }),
          ratio: fc.double({ min: 0.7, max: 2, noNaN: true }),
          thinking: fc.integer({ min: 0, max: 4_000 }),
          maxTokens: fc.integer({ min: 256, max: 8_192 }),
          prices: fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 8 }),
          sameRoute: fc.boolean(),
        }),
        ({ window, ratio, thinking, maxTokens, prices, sameRoute }) => {
          const nodes = prices.map((price) => node(price, Math.ceil(price / 2)));
          const shape = fitShape({
            ...base,
            nodes,
            ratio,
            thinking,
            maxTokens,
            sameRoute,
            capacity: { window },
          });
          if (shape.shape === "none") return;
          const talks = shape.shape === "conversation";
          const used = nodes
            .slice(0, shape.nodes)
            .reduce((sum, n) => sum + (talks ? n.native : n.transcript), 0);
          const input = (used + (talks ? base.envelope : 0) + base.directive) * ratio;
          expect(input + (talks ? thinking : 0) + shape.maxTokens).toBeLessThan(window);
          expect(shape.maxTokens).toBeLessThanOrEqual(maxTokens);
          expect(shape.maxTokens).toBeGreaterThanOrEqual(Math.min(1_024, maxTokens));
        },
      ),
    );
  });
});

/** The cut: which head-anchored span a checkpoint may take the place of. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CutRequest, cutNewest, cutSpan, priceOf, spanOf } from "../../src/compaction/span.ts";
import { callGroups, isLegalCut, legalCuts, newestUnit } from "../../src/projections/pairing.ts";
import type { SurfaceItem } from "../../src/projections/surface.ts";

/** `u` a typed message, `a` a reply, `c2` a reply with two calls, `r` a result, `k` a checkpoint; then its price. */
function surface(text: string): SurfaceItem[] {
  let open = 0;
  return text.split(" ").flatMap((word, index) => {
    const [, kind, calls, price] = /^([uacrk])(?:(\d+):)?(\d+)$/.exec(word) ?? [];
    if (kind === undefined) return [];
    open = kind === "c" ? Number(calls ?? 1) : kind === "r" ? open - 1 : 0;
    const role = { u: "user", a: "assistant", c: "assistant", r: "tool", k: "checkpoint" }[kind]!;
    const weight = { tokens: Number(price), bytes: 0, images: 0 };
    const seq = index + 1;
    const rest = { seq, body: seq, joined: false, mend: false, thinking: false };
    return [{ ...rest, kind: role as SurfaceItem["kind"], weight, open, turn: kind === "u" }];
  });
}

const cut = (text: string, retain: number, changes: Partial<CutRequest> = {}) =>
  cutSpan({ items: surface(text), retain, boundary: "turn", affordable: () => true, ...changes });
const pair: Partial<CutRequest> = { boundary: "pair" };

describe("legal cuts", () => {
  it.each([
    ["[DSH-077] around a call and its result", "u1 c1 r1", [true, true, false, true]],
    ["[OH-013] around a batch of three calls", "c3:1 r1 r1 r1", [true, false, false, false, true]],
    [
      "[OH-014] around two batches of two",
      "c2:1 r1 r1 c2:1 r1 r1",
      [true, false, false, true, false, false, true],
    ],
    ["a checkpoint closes what was open", "k1 u1 a1", [true, true, true, true]],
    ["nothing", "", [true]],
  ])("[C4] %s", (_, text, expected) => {
    expect(legalCuts(surface(text))).toEqual(expected);
  });

  it("[C4] the newest unit is a whole call group, and call groups begin at their calls", () => {
    const items = surface("u1 c1 r1 a1 c2:1 r1 r1");
    expect(newestUnit(items)).toBe(4);
    expect(callGroups(items)).toEqual([1, 4]);
    expect(newestUnit([])).toBe(0);
    expect(newestUnit(surface("u1"))).toBe(0);
  });
});

const tools3 = "u758 c1:764 r687 u758 c1:764 r687 u758 c1:764 r687";

describe("where the cut falls", () => {
  const rows: [string, string, number, number, Partial<CutRequest>?][] = [
    ["[DSH-057] the newest result fills the budget, the cut moves in front of its call", tools3, 80, 7],
    ["the budget is filled, not undercut", "u10 a10 u10 a10 u10 a10", 20, 4],
    ["a budget over everything leaves nothing to cut", "u10 a10 u10 a10", 40, 0],
    [
      "[PI-007] never between a call and its result, however the budget falls",
      "u9 c9 r9 a9 u9 c9 r9 a9",
      20,
      5,
      pair,
    ],
    ["[PI-008] a single reply", "a500", 1_000, 0],
    [
      "[PI-010] inside a turn that is heavier than twice the budget",
      "u100 a100 u100 a3000 a3000 a3000",
      3_000,
      5,
    ],
    ["[CF-025] re-based: a span of one unit is not worth a call", "u10 a10", 10, 0],
    ["[CF-026] re-based: from the head on, without a protected head", "u5 a5 u5 a5 u5 a5 u5 a5", 10, 6],
    [
      "[CF-028] re-based: large results of one turn go in one span",
      "u9 c9 r900 c9 r900 c9 r900 c9 r900",
      1_000,
      5,
      pair,
    ],
    ["[OC-025] the tail shrinks to the last turn", "u10 a10 u2000 a10 u10 a10", 20, 4],
    [
      "[OC-028] a reply too large for the budget goes into the span of its own turn",
      "u9 a9 u9 a500 a20",
      20,
      4,
    ],
    ["[OC-030] a checkpoint is not counted when the tail is sized", "k6400 u40 a40 u40 a40", 80, 3],
    ["[INV-008] at the user message of the newest turn", "u9 c9 r4000 a9 u9 a9", 18, 4],
    ["[INV-009] with complete pairs on either side", "u9 c9 r6000 u9 a9", 18, 3],
    ["[INV-010] re-based: one turn heavier than the budget is cut at a pair", "u9 c9 r30000 c9 r9", 18, 3],
    ["[INV-011] a short turn alone", "u9 a9", 4_000, 0],
    ["[INV-012] re-based: with a budget of 1 the newest unit stays", "u5000 a5000 u5000 a5000", 1, 3],
    ["[GEM-002] a single message", "u10", 5, 0],
    ["[GEM-003] only a typed message starts the tail where one is near", "u66 a66 u66 a66 u66", 66, 4],
    ["[GEM-005] never behind an open call", "u9 a9 u9 c9", 9, 2],
    ["[KIMI-006] re-based: a reply too large for the budget is the newest unit", "u9 a9 u9 a1200", 200, 3],
    ["[KIMI-008] a prompt and its open call are one unit each: nothing", "u9 c9", 1, 0],
    ["[KIMI-009] a parallel exchange is never split", "u9 a9 u9 c2:9 r9 r9 u9", 25, 2],
    ["[CLI-008] a single typed prompt", "u100000", 1, 0],
    ["[DSH-056] a Surface of nothing, or of one turn that the budget holds", "u90 a91", 181, 0],
    ["a lone checkpoint is not worth a call", "k900 u9", 1, 0],
    ["a checkpoint and one unit behind it are", "k900 u9 a9", 9, 2, pair],
  ];
  it.each(rows)("[C4] %s", (_, text, retain, expected, changes) => {
    expect(cut(text, retain, changes)).toBe(expected);
  });
});

describe("the preference for turns", () => {
  const text = "u10 a10 u10 a10 c10 r10 c10 r10";
  it("[C5] takes the start of the turn within twice the budget, and only if asked for", () => {
    expect(cut(text, 30)).toBe(2);
    expect(cut(text, 30, pair)).toBe(4);
  });

  it("[C5] stays with the pair where the turn would be more than twice the budget", () => {
    expect(cut(text, 29)).toBe(4); // from the turn on it is 60
    expect(cut(text, 20)).toBe(6);
  });

  it("[C5] stays with the pair where the turn would leave no runway", () => {
    const seen: number[] = [];
    const affordable = (tail: number) => seen.push(tail) === 0;
    expect(cut(text, 30, { affordable })).toBe(4);
    expect(seen).toEqual([60]);
  });

  it("[C5] takes the newest turn, not an older one that fits as well", () => {
    expect(cut("u10 a10 u10 a10 u10 a10 a10", 15)).toBe(4);
  });

  it("[C5] stays with the pair where the turn's span would be a single unit", () => {
    expect(cut("k10 u10 a10 a10", 20)).toBe(2);
    expect(cut("k10 a10 u10 a10", 20)).toBe(2);
  });
});

describe("the cut that keeps one unit", () => {
  it.each([
    ["the newest call group", "u1 a1 c2:1 r1 r1", false, 2],
    [
      "[GEM-004] the entering batch where it is a unit: the span is the whole Surface",
      "u1 a1 u1 a1",
      true,
      4,
    ],
    ["[KIMI-004] a pending prompt, however large, is that batch", "u1 a1", true, 2],
    ["[KIMI-005] and so are two of them", "u1 a1", true, 2],
    ["not the whole Surface while a call is open", "u1 a1 u1 c1", true, 3],
    ["nothing of a lone checkpoint", "k9", true, 0],
    ["nothing of a single unit", "c2:1 r1 r1", true, 0],
    ["nothing of an empty Surface", "", true, 0],
  ])("[C6] %s", (_, text, whole, expected) => {
    expect(cutNewest(surface(text), whole)).toBe(expected);
  });
});

describe("every cut", () => {
  const turns = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("u"), price: fc.nat(500) }),
      fc.record({ kind: fc.constant("a"), price: fc.nat(500) }),
      fc.record({ kind: fc.constant("g"), price: fc.nat(500), calls: fc.integer({ min: 1, max: 3 }) }),
    ),
    { maxLength: 40 },
  );
  const random = turns.map((list) =>
    list
      .flatMap((one) =>
        "calls" in one
          ? [`c${one.calls}:${one.price}`, ...Array.from({ length: one.calls }, () => `r${one.price}`)]
          : [`${one.kind}${one.price}`],
      )
      .join(" "),
  );

  it("[C4] is legal, leaves the newest unit, and is 0 or at least two units", () => {
    const boundary = fc.constantFrom("turn" as const, "pair" as const);
    fc.assert(
      fc.property(random, fc.nat(3_000), boundary, fc.boolean(), (text, retain, kind, affordable) => {
        const items = surface(text);
        const at = cutSpan({ items, retain, boundary: kind, affordable: () => affordable });
        expect(isLegalCut(items, at)).toBe(true);
        expect(at).toBeLessThanOrEqual(newestUnit(items));
        const units = legalCuts(items)
          .slice(1, at + 1)
          .filter(Boolean).length;
        expect(at === 0 || units >= 2).toBe(true);
        if (at > 0) expect(priceOf(items, at)).toBeGreaterThanOrEqual(retain);
      }),
    );
  });

  it("[C4] [INV-017] costs a bounded number of looks at each item, also where nothing can be cut", () => {
    let looks = 0;
    const items = surface(Array.from({ length: 200 }, () => "u9 a9").join(" ")).map((item) =>
      Object.defineProperty({ ...item }, "weight", {
        get: () => {
          looks++;
          return item.weight;
        },
      }),
    );
    for (const retain of [1, 1_000, 10 ** 9])
      cutSpan({ items, retain, boundary: "turn", affordable: () => false });
    expect(looks).toBeLessThanOrEqual(3 * 3 * items.length);
  });

  it("[C4] is recorded with its first and last seq, its count and its price", () => {
    expect(spanOf(surface("u10 a20 u30"), 2)).toEqual({ from: 1, to: 2, count: 2, tokens: 30 });
    expect(spanOf(surface("u10"), 0)).toEqual({ from: 0, to: 0, count: 0, tokens: 0 });
  });
});

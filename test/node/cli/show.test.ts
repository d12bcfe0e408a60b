import { describe, expect, it } from "vitest";
import { readArguments } from "../../../cli/arguments.ts";
import { drawContext, number } from "../../../cli/picture.ts";
import { createProgress } from "../../../cli/progress.ts";
import { commonBytes, rawElements, rawMembers, textOf, utf8 } from "../../../cli/raw.ts";
import type { PlayResult, StepRecord } from "../../../cli/record.ts";
import { drawTable } from "../../../cli/table.ts";

const plain = { width: 100, colour: false };

/** Steps that grow by 500 tokens and fall to 2,000 at 8,000. */
function sawtooth(steps: number): StepRecord[] {
  let tokens = 0;
  return Array.from({ length: steps }, (_, index) => {
    tokens += 500;
    const before = tokens;
    const cut = before >= 8_000;
    if (cut) tokens = 2_000;
    const compaction = {
      rungs: ["prune", "extractive"],
      outcome: "done",
      generation: 1,
      tokensBefore: before,
      tokensAfter: 2_000,
    };
    return {
      index,
      tokens,
      uncompacted: index * 500,
      bytes: 0,
      previousBytes: 0,
      prefixBytes: 0,
      pressure: tokens,
      generation: 0,
      compaction: cut ? compaction : undefined,
      ms: 1,
    };
  });
}

function result(records: StepRecord[], more: Partial<PlayResult> = {}): PlayResult {
  return {
    messages: 100,
    calls: 40,
    steps: records.length,
    repaired: 0,
    window: 10_000,
    threshold: 8_000,
    maxPressure: 7_500,
    generation: 3,
    prunes: 1,
    checkpoints: 2,
    tokensIn: 1_234_567,
    tokensSaved: 89_000,
    irreducible: 0,
    illegalSurfaces: 0,
    overWindow: 0,
    auditDrift: 0,
    ms: 10,
    records,
    faults: [],
    ...more,
  };
}

describe("the picture", () => {
  it("shows window and threshold as lines with their numbers, and marks each compaction", () => {
    const lines = drawContext(result(sawtooth(40)), plain);
    const window = lines.find((line) => line.includes("10,000"));
    const threshold = lines.find((line) => line.includes(" 8,000 │"));
    expect(window).toMatch(/│─+$/);
    expect(threshold).toMatch(/╌/);
    expect(lines.indexOf(window ?? "")).toBeLessThan(lines.indexOf(threshold ?? ""));
    const compactions = sawtooth(40).filter(({ compaction }) => compaction !== undefined).length;
    const marks = lines.find((line) => /^\s+▲/.test(line));
    expect([...(marks ?? "")].filter((c) => c === "▲")).toHaveLength(compactions);
    expect(lines.filter((line) => line.startsWith("▲ step"))).toHaveLength(compactions);
    expect(lines.at(-1)).toContain("8,000 -> 2,000 tokens, generation 1 (prune, extractive)");
  });

  it("draws larger requests higher", () => {
    const height = (tokens: number) => {
      const [record] = sawtooth(1);
      const lines = drawContext(result([{ ...(record as StepRecord), tokens }]), plain);
      return lines.filter((line) => /[▁▂▃▄▅▆▇█]/.test(line)).length;
    };
    const heights = [1, 2_500, 5_000, 7_500, 10_000].map(height);
    expect(heights).toEqual([1, 3, 6, 9, 12]);
  });

  it.each([30, 60, 100, 200])(
    "stays within %i columns with many steps, and counts crowded compactions",
    (width) => {
      const lines = drawContext(result(sawtooth(900)), { width, colour: false });
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(width);
      expect(lines.at(-1)).toMatch(/… and \d+ more/);
      if (width <= 60) expect(lines.join("\n")).toMatch(/^\s+[▲2-9 ]*[2-9][▲2-9 ]*$/m);
    },
  );

  it("is without control characters unless colour is asked for", () => {
    const control = String.fromCharCode(27);
    expect(drawContext(result(sawtooth(20)), plain).join("")).not.toContain(control);
    expect(drawContext(result(sawtooth(20)), { width: 100, colour: true }).join("")).toContain(
      `${control}[36m`,
    );
  });

  it("says so when there is nothing to draw", () => {
    expect(drawContext(result([]), plain)).toEqual(["(no request was made)"]);
  });

  it("writes numbers with commas", () => {
    expect([0, 999, 1_000, 1_234_567, 12.6].map(number)).toEqual(["0", "999", "1,000", "1,234,567", "13"]);
  });
});

describe("the table", () => {
  const rows = [
    { file: "a-rather-long-name-of-a-session.jsonl", result: result(sawtooth(3)) },
    { file: "b.jsonl", result: result(sawtooth(3), { maxPressure: 9_000, auditDrift: 1 }) },
  ];

  it("has a line per file, and one of sums and the highest pressure", () => {
    const lines = drawTable(rows, 200);
    expect(lines[0]?.trim().split(/ {2,}/)).toEqual(["tool", "tokens", "highest", "tokens", "illegal"]);
    expect(lines[1]?.trim().split(/ {2,}/)).toEqual(
      "file messages calls in pressure prunes checkpoints saved Surfaces drift".split(" "),
    );
    expect(lines.at(-1)?.split(/ {2,}/)).toEqual([
      "all",
      "200",
      "80",
      "2,469,134",
      "9,000",
      "2",
      "4",
      "178,000",
      "0",
      "1",
    ]);
    expect(new Set(lines.slice(1).map(({ length }) => length)).size).toBe(1);
  });

  it("shortens names to fit, and becomes a list where a table has no room", () => {
    const fitted = drawTable(rows, 105);
    expect(Math.max(...fitted.map(({ length }) => length))).toBeLessThanOrEqual(105);
    expect(fitted[3]).toMatch(/^….*session\.jsonl/);
    const list = drawTable(rows, 60);
    expect(Math.max(...list.map(({ length }) => length))).toBeLessThanOrEqual(60);
    expect(list).toContain("a-rather-long-name-of-a-session.jsonl");
  });
});

describe("progress", () => {
  const record = (index: number) => ({ ...(sawtooth(1)[0] as StepRecord), index });

  it("writes a line per tenth where there is no terminal", () => {
    let out = "";
    const progress = createProgress({ write: (text) => (out += text) });
    for (let index = 0; index < 200; index += 1) progress.step("f", record(index), 200, 10_000);
    expect(out.trim().split("\n")).toHaveLength(10);
    expect(out).toContain("f: step 200/200, 500 of 10,000 tokens");
  });

  it("writes over one line on a terminal, never wider than it, and clears it", () => {
    const written: string[] = [];
    const progress = createProgress({ write: (text) => written.push(text), isTTY: true, columns: 40 });
    for (let index = 0; index < 5; index += 1) progress.step("f", record(index), 5, 10_000);
    expect(written).toHaveLength(5);
    const clear = `\r${String.fromCharCode(27)}[K`;
    for (const text of written) expect(text.slice(clear.length).length).toBeLessThan(40);
    progress.clear();
    expect(written.at(-1)).toBe(clear);
  });
});

describe("the arguments", () => {
  it("are files, window, format, url and json", () => {
    expect(
      readArguments(["a", "--window", "32k", "--format", "pi", "--url", "http://localhost:1", "--json", "b"]),
    ).toEqual({
      files: ["a", "b"],
      window: 32_000,
      format: "pi",
      url: "http://localhost:1",
      json: true,
      help: false,
    });
    expect(readArguments(["--window", "16384"]).window).toBe(16_384);
  });

  it.each([
    [["--window", "0"]],
    [["--window", "many"]],
    [["--window", "-5"]],
    [["--format", "codex"]],
    [["--url", "ftp://x"]],
    [["--nonsense"]],
  ])("%j is refused", (argv) => {
    expect(() => readArguments(argv)).toThrow();
  });
});

describe("raw JSON", () => {
  it("is cut without being changed", () => {
    const text = '{ "a" : [1.0, {"b":"x\\"}]"} , "\\u00e9"], "c":9007199254740993 }';
    const members = rawMembers(utf8(text));
    expect([...members].map(([key, raw]) => [key, textOf(raw)])).toEqual([
      ["a", '[1.0, {"b":"x\\"}]"} , "\\u00e9"]'],
      ["c", "9007199254740993"],
    ]);
    expect(rawElements(members.get("a") ?? utf8("[]")).map(textOf)).toEqual([
      "1.0",
      '{"b":"x\\"}]"}',
      '"\\u00e9"',
    ]);
  });

  it("is compared byte by byte over the borders of messages", () => {
    const of = (...texts: string[]) => texts.map(utf8);
    expect(commonBytes(of("aa", "bbb"), of("aa", "bbc", "d"))).toBe(4);
    expect(commonBytes(of("aa", "bbb"), of("aa"))).toBe(2);
    expect(commonBytes(of("aa"), of("aa", "b"))).toBe(2);
    expect(commonBytes(of("ab"), of("xb"))).toBe(0);
  });
});

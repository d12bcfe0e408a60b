/** What pruning makes of one message, and which messages the prune rung takes. */
import { describe, expect, it } from "vitest";
import { exemptCalls, protectedFrom, pruneForms } from "../../src/compaction/forms.ts";
import { codePoints } from "../../src/compaction/graphemes.ts";
import { planPrune } from "../../src/compaction/plan.ts";
import { MARKER_LIMIT } from "../../src/compaction/policy.ts";
import { lastRungLimits, pruneResults } from "../../src/compaction/prune.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { Bed, bytesOf, calls, reply, result, textOf, user } from "../support/engine.ts";

const chat = dialectOf("openai-chat");
const anthropic = dialectOf("anthropic");
const small = { over: 200, head: 4, tail: 3 };

/** The content of a pruned OpenAI result, or undefined where nothing was pruned. */
function pruned(content: unknown, limits = small): unknown {
  const bytes = pruneResults(chat, bytesOf({ role: "tool", tool_call_id: "c", content }), limits, 7);
  return bytes && (JSON.parse(textOf(bytes)) as { content: unknown }).content;
}
const note = (left: number, all: number, handle = "7") =>
  `\n[Plimsoll left out ${left} of ${all} characters here; handle ${handle}]\n`;

describe("the short form of a result", () => {
  it("[C10] [DSH-069] is its head, one marker and its tail, by code points and without half a character", () => {
    const form = pruned("😀".repeat(300)) as string;
    expect(form).toBe(`${"😀".repeat(4)}${note(293, 300)}${"😀".repeat(3)}`);
    expect(encodeURIComponent(form)).toContain("%F0%9F%98%80"); // throws on half a character
  });

  it("[C10] [DSH-068] leaves alone what is at the limit: code points count, not units", () => {
    expect(pruned("😀".repeat(200))).toBeUndefined();
    expect(pruned("x".repeat(200))).toBeUndefined();
    expect(pruned("x".repeat(201))).toBe(`xxxx${note(194, 201)}xxx`);
  });

  it.each([
    ["a family of four", "👨‍👩‍👧‍👦", 7],
    ["a letter with marks", "e\u0301\u0323", 3],
    ["a flag", "🇫🇷", 2],
    ["a line end of two", "\r\n", 2],
  ])("[C10] never cuts inside a grapheme: %s", (_, grapheme, points) => {
    const text = grapheme.repeat(200);
    for (const [head, tail] of [
      [5, 5],
      [points, points],
      [points + 1, 2 * points - 1],
    ] as const) {
      const form = pruned(text, { over: 50, head, tail }) as string;
      const [first = "", last = ""] = form.split(/\n\[Plimsoll[^\]]*\]\n/);
      expect(first).toBe(grapheme.repeat(Math.floor(head / points)));
      expect(last).toBe(grapheme.repeat(Math.floor(tail / points)));
    }
  });

  it("[C10] [DSH-071] with no head and no tail is the marker alone", () => {
    expect(pruned("x".repeat(500), { over: MARKER_LIMIT, head: 0, tail: 0 })).toBe(note(500, 500));
  });

  it("[C10] [GEM-026] keeps the first lines and what stands at the end, where exit codes and errors are", () => {
    const output = `$ make\ncc main.c\n${"warning: x\n".repeat(200)}error: undefined reference\nexit code 2`;
    const form = pruned(output, { over: 400, head: 40, tail: 60 }) as string;
    expect(form.startsWith("$ make\ncc main.c\n")).toBe(true);
    expect(form.endsWith("error: undefined reference\nexit code 2")).toBe(true);
  });

  it("[C10] [CF-031] [CF-033] says how much is gone; text stays text and blocks stay blocks", () => {
    const numbers = JSON.stringify(Array.from({ length: 1_000 }, (_, n) => n));
    expect(pruned(numbers, { over: 500, head: 4, tail: 3 })).toBe(
      `[0,1${note(numbers.length - 7, numbers.length)}99]`,
    );
    expect(pruned([{ type: "text", text: "x".repeat(300) }])).toEqual([
      { type: "text", text: `xxxx${note(293, 300)}xxx` },
    ]);
  });

  it("[C10] a form that would not be shorter than its text is not made, a picture beside it is noted all the same", () => {
    const limits = { over: 50, head: 45, tail: 5 };
    expect(pruned("x".repeat(120), limits)).toBeDefined();
    expect(pruned("x".repeat(60), limits)).toBeUndefined();
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const content = [{ type: "text", text: "x".repeat(60) }, picture];
    const message = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content }] };
    const form = JSON.parse(textOf(pruneResults(anthropic, bytesOf(message), limits, 9)!)) as typeof message;
    expect(form.content[0]!.content).toEqual([
      content[0],
      { type: "text", text: "[Plimsoll left out image/png here; handle 9]" },
    ]);
  });

  it("[C10] takes the head from the first text and the tail from the last; what is left of none vanishes", () => {
    const texts = [140, 130, 130].map((n, i) => ({ type: "text", text: "ABC"[i]!.repeat(n) }));
    expect(pruned(texts)).toEqual([
      { type: "text", text: `AAAA${note(393, 400)}` },
      { type: "text", text: "CCC" },
    ]);
  });

  it("[C10] its marker stays within what the policy reckons with, whatever the numbers", () => {
    const text = "x".repeat(2_000_000);
    const bytes = pruneResults(
      chat,
      bytesOf(result("c", text)),
      { over: 10, head: 1, tail: 1 },
      999_999_999_999,
    );
    const form = (JSON.parse(textOf(bytes!)) as { content: string }).content;
    expect(codePoints(form) - 2).toBeLessThanOrEqual(MARKER_LIMIT);
  });

  it("[C11] names its handle: the node's seq, and the block where a message has several results", () => {
    const block = (id: string, text: string) => ({
      type: "tool_result",
      tool_use_id: id,
      is_error: id === "b",
      content: text,
    });
    const one = { role: "user", content: [block("a", "x".repeat(260))] };
    expect(textOf(pruneResults(anthropic, bytesOf(one), small, 12)!)).toContain("handle 12]");
    const two = {
      role: "user",
      content: [block("a", "short"), block("b", "y".repeat(260)), { type: "text", text: "z".repeat(290) }],
    };
    const form = JSON.parse(textOf(pruneResults(anthropic, bytesOf(two), small, 12)!)) as typeof two;
    expect(form.content[0]).toEqual(two.content[0]);
    expect(form.content[1]).toEqual(block("b", `yyyy${note(253, 260, "12.1")}yyy`));
    expect(form.content[2]).toEqual(two.content[2]);
  });
});

describe("the prune rung", () => {
  const policy = { prune: { over: 200, head: 20, tail: 20 } };
  const shown = (bed: Bed) => bed.shown().map((message) => String(message.content).length);

  /** Prunes everything and puts the forms in force. */
  function pruneAll(bed: Bed, protect = 0): number[] {
    const snapshot = bed.snapshot();
    const forms = planPrune(bed.ground, snapshot, protect, true);
    return forms.map(({ node }) => node);
  }

  it("[C12] [DSH-074] takes what is over the limit, and nothing shorter", () => {
    const bed = new Bed({ policy });
    const seqs = bed.say(
      calls(["a", "b", "c"]),
      result("a", 1_000),
      result("b", 5),
      result("c", 800),
      reply(9_000),
    );
    expect(pruneAll(bed)).toEqual([seqs[1], seqs[3]]);
  });

  it("[C12] [GEM-027] [KIMI-043] follows the policy's own numbers", () => {
    const strict = new Bed({ policy: { prune: { over: 161, head: 1, tail: 0, protectGroups: 0 } } });
    const lax = new Bed({});
    for (const bed of [strict, lax]) bed.say(calls(["a"]), result("a", 200));
    expect([pruneAll(strict).length, pruneAll(lax).length]).toEqual([1, 0]);
  });

  it("[C13] [CF-032] [OC-012] [GEM-019] [GEM-020] leaves the newest two call groups alone, re-based: groups, not tokens", () => {
    const bed = new Bed({ policy });
    const seqs: number[] = [];
    for (const id of ["a", "b", "c", "d"]) seqs.push(...bed.say(calls([id]), result(id, 500), reply(3)));
    expect(pruneAll(bed, 2)).toEqual([seqs[1], seqs[4]]);
    expect(pruneAll(bed, 9)).toEqual([]);
    expect(pruneAll(bed, 0)).toEqual([seqs[1], seqs[4], seqs[7], seqs[10]]);
    expect(protectedFrom(bed.items(), 2)).toBe(6);
    expect(protectedFrom([], 2)).toBe(0);
  });

  it("[C13] a parallel batch is one group", () => {
    const bed = new Bed({ policy });
    const seqs = bed.say(
      calls(["a"]),
      result("a", 500),
      calls(["b", "c"]),
      result("b", 500),
      result("c", 500),
      calls(["d"]),
      result("d", 500),
    );
    expect(pruneAll(bed, 2)).toEqual([seqs[1]]);
  });

  it("[C13] leaves exempt tools alone, by the name of the call", () => {
    const bed = new Bed({ policy: { prune: { ...policy.prune, exemptTools: ["skill"] } } });
    const seqs = bed.say(calls(["a"], "", "skill"), result("a", 500), calls(["b"]), result("b", 500));
    expect(pruneAll(bed)).toEqual([seqs[3]]);
    expect([...exemptCalls(bed.ground, bed.items(), ["skill"])]).toEqual(["a"]);
    const forms = planPrune(bed.ground, bed.snapshot(), 0, false);
    expect(forms.map(({ node }) => node)).toEqual([seqs[1], seqs[3]]);
  });

  it("[C12] [GEM-022] the same rung twice changes nothing", () => {
    const bed = new Bed({ policy });
    bed.say(calls(["a"]), result("a", 5_000));
    bed.claim();
    const [form] = planPrune(bed.ground, bed.snapshot(), 0, true);
    const meta = { compaction: "c1", node: form!.node, kind: form!.kind, version: 1 };
    bed.write({ type: "compaction/prune", at: 1, branch: 2, meta, body: form!.bytes, facts: form!.facts });
    const weight = { tokens: form!.facts.price, bytes: form!.facts.bytes, images: 0 };
    const before = bed.items()[1]!.weight;
    const delta = { tokens: weight.tokens - before.tokens, bytes: weight.bytes - before.bytes, images: 0 };
    bed.write({
      type: "surface/replace",
      at: 1,
      branch: 2,
      meta: {
        compaction: "c1",
        kind: "prune",
        generation: 1,
        upto: 0,
        checkpoint: 0,
        forms: [[form!.node, bed.log.end()]],
        shadowed: before,
        inserted: weight,
        delta,
      },
    });
    expect(shown(bed)[1]).toBeLessThan(200);
    expect(pruneAll(bed)).toEqual([]);
  });

  it("[C12] a form that is not cheaper than its original is not made", () => {
    const bed = new Bed({ policy: { prune: { over: 160, head: 0, tail: 0 } } });
    bed.say(calls(["a"]), result("a", "ab".repeat(30)), calls(["b"]), result("b", `${"x".repeat(161)}`));
    // A marker of about 60 characters is shorter than 161, and would be longer than a text of 60.
    expect(
      pruneForms(bed.ground, bed.items(), { over: 40, head: 20, tail: 20 }, new Set()).map(
        ({ node }) => node,
      ),
    ).toEqual([7]);
  });

  it("[C12] [GEM-025] re-based: pictures become one-line notes, in results and in what a user showed earlier", () => {
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const bed = new Bed({ policy, dialect: "anthropic" });
    const seqs = bed.say(
      { role: "user", content: [{ type: "text", text: "look ".repeat(500) }, picture] },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "see", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "shot" }, picture] },
        ],
      },
      user(9_000),
    );
    const forms = planPrune(bed.ground, bed.snapshot(), 0, true);
    expect(forms.map(({ node, kind, facts }) => [node, kind, facts.images])).toEqual([
      [seqs[0], "media", 0],
      [seqs[2], "prune", 0],
    ]);
    const [first, second] = forms.map(({ bytes }) => textOf(bytes));
    expect(first).toContain("look ".repeat(500));
    expect(first).toContain(`[Plimsoll left out image/png here; handle ${seqs[0]}]`);
    expect(second).toContain('"shot"');
    expect(second).toContain('"tool_use_id":"a"');
    expect(bed.snapshot().measure.images).toBe(2);
  });
});

it("[C14] the last rung's limits halve per round to 256 + 64, and then end", () => {
  const rounds = lastRungLimits({ over: 8192, head: 4096, tail: 1024, protectGroups: 2, exemptTools: [] });
  expect(rounds.map(({ head, tail }) => [head, tail])).toEqual([
    [4096, 1024],
    [2048, 512],
    [1024, 256],
    [512, 128],
    [256, 64],
  ]);
  for (const { over, head, tail } of rounds) expect(over).toBe(head + tail);
  const tiny = lastRungLimits({ over: 160, head: 0, tail: 0, protectGroups: 0, exemptTools: [] });
  expect(tiny.map(({ head, tail }) => [head, tail])).toEqual([[256, 64]]);
  expect(
    lastRungLimits({ over: 9_999, head: 300, tail: 9_000, protectGroups: 0, exemptTools: [] }).at(-1),
  ).toMatchObject({ head: 256, tail: 64 });
});

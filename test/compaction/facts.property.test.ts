import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { extractiveCheckpoint } from "../../src/compaction/extractive.ts";
import { filesOf } from "../../src/compaction/facts/files.ts";
import { type Facts, foldFacts } from "../../src/compaction/facts.ts";
import type { NativeMessage } from "../../src/dialects/dialect.ts";
import { countTokens as count } from "../../src/meter/vocabulary.ts";
import { assistant, span, tool, user } from "./span-messages.ts";

const bytes = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

/**
 * Short and very long texts of every width: plain, Han, control characters, lone surrogates, our own tags.
 */
const unit = fc.constantFrom(
  "word ",
  "src/a-b.ts ",
  "界",
  "\u0001",
  "\ud800",
  "😀",
  "\n",
  "</user-request>",
  "error: ",
  '"',
  "<command-name>",
  "never ",
);
const words = fc
  .tuple(fc.array(unit, { maxLength: 12 }), fc.constantFrom(1, 1, 40, 3_000))
  .map(([parts, times]) => parts.join("").repeat(times));
const key = fc.constantFrom(
  "path",
  "file_path",
  "command",
  "cmd",
  "pattern",
  "todos",
  "plan",
  "content",
  "input",
  "taskId",
  "status",
  "x",
);
const value = fc.oneof(
  words,
  fc.constant(null),
  fc.integer(),
  fc.array(words, { maxLength: 3 }),
  fc.array(fc.record({ content: words, status: words }), { maxLength: 60 }),
);
const args = fc.oneof(
  fc.dictionary(key, value, { maxKeys: 4 }).map((entries) => JSON.stringify(entries)),
  words,
);
const name = fc.oneof(
  fc.constantFrom("bash", "Read", "Edit", "TodoWrite", "TaskCreate", "ExitPlanMode"),
  words,
);

const exchange: fc.Arbitrary<NativeMessage[]> = fc.oneof(
  words.map((text) => [user(text)]),
  words.map((text) => [assistant(text)]),
  fc.tuple(name, args, words, fc.boolean()).map(([n, a, result, error]) => tool(n, a, result, { error })),
);
const sessions = fc.array(fc.array(exchange, { maxLength: 25 }), { minLength: 1, maxLength: 4 });

describe("facts of anything", () => {
  it("[C45] are plain JSON of at most 32 KiB, in any number of generations, and frame within any cap", () => {
    fc.assert(
      fc.property(sessions, fc.integer({ min: 256, max: 8_000 }), (generations, cap) => {
        let facts: Facts | undefined;
        let seq = 1;
        for (const messages of generations) {
          const nodes = span(messages.flat(), seq);
          seq += nodes.length;
          facts = foldFacts(facts, nodes);
        }
        expect(bytes(facts)).toBeLessThanOrEqual(32_768);
        expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
        for (const { path } of filesOf(facts!.files)) expect(/[\p{Cc}\u2028\u2029]/u.test(path)).toBe(false);
        const label = { by: "extractive", from: 1, to: seq, messages: seq };
        const { text, tokens } = extractiveCheckpoint({ facts: facts!, cap, count, label });
        expect(tokens).toBeLessThanOrEqual(cap);
        expect(text.match(/<\/?compacted-summary/g)).toHaveLength(2);
      }),
      { numRuns: 60 },
    );
  });

  it("[C45] are at their largest still within 32 KiB: every list full of long entries in wide characters", () => {
    const wide = "界面渲染器重构计划".repeat(400);
    const nodes = span([
      user(`${wide} first`),
      ...Array.from({ length: 40 }, (_, n) => user(`不要 ${n} ${wide}`)),
      ...Array.from({ length: 400 }, (_, n) =>
        tool("Edit", { file_path: `/項目/${n % 90}/源代碼/${"名".repeat(30)}-${n}.ts` }, "updated"),
      ),
      ...Array.from({ length: 60 }, (_, n) =>
        tool("bash", { command: `${n} ${wide}` }, `Exit code 1\nerror ${"甲乙丙丁"[n % 4]} ${n} ${wide}`, {
          error: true,
        }),
      ),
      ...tool(
        "TodoWrite",
        {
          todos: Array.from({ length: 90 }, (_, n) => ({
            content: `${n} ${wide}`,
            status: "pending",
            id: wide,
          })),
        },
        "ok",
      ),
      ...tool("ExitPlanMode", { plan: wide }, "ok"),
      ...Array.from({ length: 12 }, (_, n) => assistant(`${n} ${wide}`)),
      user(`${wide} newest`),
    ]);
    const facts = foldFacts(undefined, nodes);
    expect(bytes(facts)).toBeLessThanOrEqual(32_768);
    expect(bytes(facts)).toBeGreaterThan(22_000);
    expect(facts.requests.at(-1)?.tail).toMatch(/newest$/);
    expect(facts.requests[0]?.tail).toMatch(/first$/);
  });
});

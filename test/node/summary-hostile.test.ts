/**
 * Linear time, by the clock: the runtime of the Worker stands still while code runs, so this is measured in
 * plain Node.
 */
import { describe, expect, it } from "vitest";
import { count } from "../../bench/extractive.ts";
import { clipRequest, defang, frameCheckpoint, readFrame } from "../../src/compaction/checkpoint.ts";
import { clipTokens, cutBefore, tailTokens } from "../../src/compaction/clip.ts";
import { extractiveCheckpoint } from "../../src/compaction/extractive.ts";
import { commandFiles } from "../../src/compaction/facts/command-files.ts";
import { isNoise } from "../../src/compaction/facts/noise.ts";
import { foldFacts } from "../../src/compaction/facts.ts";
import { checkReply } from "../../src/compaction/summary-reply.ts";
import { renderTranscript } from "../../src/compaction/summary-transcript.ts";
import { message, span, text, tool, user } from "../compaction/span-messages.ts";

/** Long texts that make careless scanning quadratic. */
const nasty: Record<string, (size: number) => string> = {
  spaces: (size) => " ".repeat(size),
  "line breaks": (size) => "\n".repeat(size),
  "open tags": (size) => "<".repeat(size),
  "spaced tags": (size) => `<${" ".repeat(63)}`.repeat(size / 64),
  "frame tags": (size) => "<compacted-summary ".repeat(size / 19),
  "request tags": (size) => '<user-request which="newest">\n'.repeat(size / 30),
  "message tags": (size) => '<message from="user">'.repeat(size / 21),
  "images without end": (size) => "![](".repeat(size / 4),
  "think without end": (size) => "<think>".repeat(size / 7),
  "tool calls": (size) => "<tool_call>".repeat(size / 11),
  fences: (size) => "```\n".repeat(size / 4),
  quotes: (size) => "'".repeat(size),
  "double quotes": (size) => '\\"'.repeat(size / 2),
  substitutions: (size) => "$(`".repeat(size / 3),
  heredocs: (size) => "cat <<A <<B\n".repeat(size / 12),
  "nested shells": (size) => "bash -c 'sh -c ".repeat(size / 15),
  redirections: (size) => ">>>".repeat(size / 3),
  slashes: (size) => "/".repeat(size),
  parents: (size) => "../".repeat(size / 3),
  dots: (size) => ".".repeat(size),
  letters: (size) => "a".repeat(size),
  Han: (size) => "界".repeat(size),
  "stacked marks": (size) => "\u0301".repeat(size),
  "joined emoji": (size) => "👩\u200d".repeat(size / 3),
  "lone surrogates": (size) => "\ud83d".repeat(size),
  wrappers: (size) => "<system-reminder></system-reminder>".repeat(size / 35),
  "open wrappers": (size) => "<system-reminder>".repeat(size / 17),
  "error lines": (size) => "error: failed\n".repeat(size / 14),
  patches: (size) => `*** Begin Patch\n${"*** Update File: a\n".repeat(size / 19)}`,
  brackets: (size) => "[".repeat(size),
};

const label = { by: "a/b", from: 1, to: 2, messages: 2 };
const limits = { cap: 4_000, spanPrice: 90_000, framePrice: 100, count };

/** Everything that this part does with a text that it was given. */
const works: Record<string, (hostile: string) => unknown> = {
  noise: isNoise,
  commands: (hostile) => commandFiles(hostile),
  facts: (hostile) =>
    extractiveCheckpoint({
      facts: foldFacts(
        undefined,
        span([
          user(hostile),
          message("assistant", text(hostile)),
          ...tool("bash", { command: hostile }, hostile, { error: true }),
          ...tool(hostile, { path: hostile, pattern: hostile, plan: hostile }, hostile),
          ...tool("Edit", hostile, hostile),
          ...tool("todo", { todos: [{ content: hostile, status: hostile }] }, hostile),
        ]),
      ),
      cap: 4_000,
      count,
      label,
    }),
  clip: (hostile) => [
    clipTokens(hostile, 1_000, count, () => "…"),
    tailTokens(hostile, 1_000, count),
    cutBefore(hostile, hostile.length >> 1),
  ],
  frame: (hostile) => {
    const framed = frameCheckpoint({
      text: defang(hostile.slice(0, 20_000)),
      firstRequest: hostile,
      newestRequest: `x${hostile}`,
      cap: 4_000,
      count,
      label,
    });
    return [readFrame(framed.text), clipRequest(hostile, 500, count)];
  },
  reply: (hostile) =>
    checkReply({ text: hostile, toolCalls: 0, finish: "stop", finishReason: "stop" }, limits),
  "wrapped reply": (hostile) =>
    checkReply(
      { text: `<compacted-summary>${hostile}`, toolCalls: 0, finish: "stop", finishReason: "stop" },
      limits,
    ),
  transcript: (hostile) => renderTranscript([user(hostile), ...tool(hostile, hostile, hostile)]),
};

function ms(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

describe.each(Object.keys(works))("%s", { timeout: 60_000 }, (work) => {
  it.each(Object.keys(nasty))("[C50] takes a moment for a million units of %s", (kind) => {
    const hostile = nasty[kind]!(1_000_000);
    // Quadratic work would take from ten seconds to hours.
    expect(ms(() => works[work]!(hostile))).toBeLessThan(3_000);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importTranscript } from "../../../cli/import/detect.ts";
import type { FormatName, Session } from "../../../cli/import/session.ts";
import { createOracle } from "../../../cli/oracle.ts";
import { playSession } from "../../../cli/play.ts";
import { FakeApi } from "./fake-api.ts";
import { ccAssistant, ccUser, lines, piHeader, piMessage, piResult, result, text, use } from "./samples.ts";

/** Any order of lines, with ids from a small pool, so that reuse, copies, orphans and late results all happen. */

const id = fc.constantFrom("a", "b", "c", "d");
const words = fc.constantFrom("one", "two", "", " ");
const signed = { type: "thinking", thinking: "hm", signature: "s" };

const claudeLine = fc.oneof(
  words.map((word) => ccUser(word)),
  fc.array(id, { maxLength: 3 }).map((ids) => ccUser(ids.map((call) => result(call)))),
  fc.tuple(id, words).map(([call, word]) => ccUser([text(word), result(call)])),
  fc
    .tuple(
      id,
      fc.oneof(
        id.map((call) => use(call)),
        words.map(text),
        fc.constant(signed),
      ),
    )
    .map(([message, block]) => ccAssistant(message, [block])),
  id.map((call) => ccUser([result(call)], { isSidechain: true })),
  fc.constantFrom("", "{", "[]", '{"type":"progress"}'),
);

const stop = fc.constantFrom("stop", "toolUse", "aborted", "error");
const piBlock = fc.oneof(
  words.map(text),
  id.map((call) => ({ type: "toolCall", id: call, name: "read", arguments: {} })),
  fc.constant({ type: "thinking", thinking: "hm", thinkingSignature: "s" }),
);
const piLine = fc.oneof(
  words.map((word) => piMessage({ role: "user", content: word })),
  fc
    .tuple(fc.array(piBlock, { maxLength: 4 }), stop)
    .map(([content, stopReason]) => piMessage({ role: "assistant", content, stopReason })),
  id.map((call) => piResult(call)),
  fc.constantFrom('{"type":"compaction"}', "{}{}"),
);

const chatMessage = fc.oneof(
  words.map((content) => ({ role: "user", content })),
  words.map((content) => ({ role: "system", content })),
  fc.tuple(words, fc.array(id, { maxLength: 3 })).map(([content, ids]) => ({
    role: "assistant",
    content,
    tool_calls: ids.map((call) => ({
      id: call,
      type: "function",
      function: { name: "bash", arguments: "{}" },
    })),
  })),
  id.map((call) => ({ role: "tool", tool_call_id: call, content: "done" })),
);

const formats: [FormatName, fc.Arbitrary<string>][] = [
  ["claude-code", fc.array(claudeLine, { maxLength: 40 }).map((all) => lines(...all))],
  ["pi", fc.array(piLine, { maxLength: 40 }).map((all) => lines(piHeader(), ...all))],
  ["openai-chat", fc.array(chatMessage, { maxLength: 40 }).map((messages) => JSON.stringify({ messages }))],
];

function play(session: Session) {
  const oracle = createOracle(session.dialect);
  return playSession(session, new FakeApi(oracle), { window: 100_000, sessionId: "s" }, oracle);
}

describe("any transcript", () => {
  it.each(formats)(
    "of %s plays legally, once, and without losing what the user typed",
    async (format, transcript) => {
      await fc.assert(
        fc.asyncProperty(transcript, async (content) => {
          const session = importTranscript(content, format);
          const played = await play(session);
          expect(played.faults).toEqual([]);
          const typed = (all: string) => (all.match(/"(one|two)"/g) ?? []).sort();
          const users = session.messages.filter(({ kind }) => kind === "user").map(({ json }) => json);
          expect(typed(byUser(users))).toEqual(typed(byUser(linesOf(content, format))));
        }),
        { numRuns: 300 },
      );
    },
  );
});

function linesOf(content: string, format: FormatName): string[] {
  if (format !== "openai-chat") return content.split("\n");
  const { messages } = JSON.parse(content) as { messages: unknown[] };
  return messages.map((message) => JSON.stringify(message));
}

function byUser(all: readonly string[]): string {
  return all.filter((line) => line.includes('"role":"user"')).join("\n");
}

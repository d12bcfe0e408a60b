import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyOf, eventsOf, type FakeReply } from "../../../cli/loop/wire.ts";
import { contentKey } from "../../../src/dialects/link-key.ts";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { utf8Bytes } from "../../../src/log/json-edit.ts";
import { createAssembler } from "../../../src/providers/reply/assemble.ts";
import { FrameSplitter } from "../../../src/providers/reply/frames.ts";
import { readReply } from "../../../src/providers/reply/read.ts";
import { renderReply } from "../../../src/providers/reply/render.ts";
import type { Reply } from "../../../src/providers/reply/reply.ts";

const dialects = ["openai-chat", "openai-responses", "anthropic"] as const;

function assembled(dialect: WireDialect, stream: Uint8Array): Reply {
  const assembler = createAssembler(dialect);
  const splitter = new FrameSplitter();
  for (const frame of [...splitter.push(stream), ...splitter.end()]) assembler.push(frame);
  expect(assembler.done).toBe(true);
  return assembler.reply();
}

const keys = (dialect: WireDialect, { choices }: Reply) =>
  choices.map(({ index, messages }) => [index, messages.map((one) => contentKey(dialect, one))]);

const word = fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }).map((text) => `a${text}`);
const args = fc.json({ maxDepth: 2 }).map((json) => `{"value":${json}}`);
const replies = fc.record({
  text: fc.oneof(fc.constant(""), word),
  id: fc.constant("7"),
  thinking: fc.option(word, { nil: undefined }),
  signature: fc.constant("sig"),
  calls: fc.array(fc.record({ name: fc.constantFrom("read", "write"), args }), { maxLength: 3 }),
  finish: fc.constant("stop"),
  model: fc.constant("m"),
  usage: fc.constant({ input: 3, cacheRead: 2, cacheWrite: 1, output: 4 }),
  withUsage: fc.constant(true),
});
const speaking = replies.filter(({ text, calls }) => text !== "" || calls.length > 0);

describe.each(dialects)("a reply of %s", (dialect) => {
  it("[V31] is one message, streamed or whole", () => {
    fc.assert(
      fc.property(speaking, fc.integer({ min: 1, max: 3 }), (given, n) => {
        const choices = dialect === "openai-chat" ? n : 1;
        const reply: FakeReply = { ...given, choices };
        const streamed = assembled(dialect, utf8Bytes(eventsOf(dialect, reply).join("")));
        const whole = readReply(dialect, utf8Bytes(JSON.stringify(bodyOf(dialect, reply))))!;
        expect([streamed.usable, whole.usable]).toEqual([true, true]);
        expect(keys(dialect, streamed)).toEqual(keys(dialect, whole));
        expect(streamed.usage).toEqual(whole.usage);
        expect(streamed.finish).toBe(whole.finish);
      }),
      { numRuns: 60 },
    );
  });

  it("[V34] stored and given again in both forms is the same", () => {
    fc.assert(
      fc.property(speaking, (given) => {
        const reply = assembled(dialect, utf8Bytes(eventsOf(dialect, given).join("")));
        const stored = { ...reply, id: "x", model: "m" };
        const how = { stream: true, includeUsage: true };
        const streamed = assembled(dialect, renderReply(dialect, stored, how));
        const whole = readReply(dialect, renderReply(dialect, stored, { ...how, stream: false }))!;
        for (const again of [streamed, whole]) {
          expect(keys(dialect, again)).toEqual(keys(dialect, reply));
          expect(again.usage).toEqual(reply.usage);
          expect([again.finish, again.usable]).toEqual([reply.finish, true]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("[V33] without its end is not usable, wherever it broke off before that", () => {
    fc.assert(
      fc.property(speaking, fc.nat(200), (given, at) => {
        const events = eventsOf(dialect, given);
        const ends = /"finish_reason":"|message_delta|response\.completed/;
        const last = events.findIndex((event) => ends.test(event));
        const assembler = createAssembler(dialect);
        for (const event of events.slice(0, at % (last + 1))) assembler.push(utf8Bytes(event));
        expect(assembler.reply().usable).toBe(false);
        expect(assembler.done).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});

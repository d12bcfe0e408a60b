import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dialectOf } from "../../../src/dialects/registry.ts";
import { wireDialects } from "../../../src/dialects/wire.ts";
import { utf8Bytes } from "../../../src/log/json-edit.ts";
import { readReply } from "../../../src/providers/reply/read.ts";
import { renderReply } from "../../../src/providers/reply/render.ts";
import type { Reply } from "../../../src/providers/reply/reply.ts";
import { text } from "../../log/json-text.ts";
import { anyReply, framesOf, messagesOf, runFrames } from "./streams.ts";

const shown = (reply: Reply | undefined) =>
  reply === undefined ? undefined : { ...reply, choices: undefined, messages: messagesOf(reply) };

describe.each(wireDialects)("any reply of %s", (dialect) => {
  const replies = anyReply(dialect);
  const cuts = fc.array(fc.nat(), { maxLength: 30 });

  it("comes back from a stream as it was stored, wherever the chunks are cut", () => {
    fc.assert(
      fc.property(replies, cuts, (reply, places) => {
        const stream = renderReply(dialect, reply, { stream: true, includeUsage: true });
        const back = runFrames(dialect, framesOf(stream, places), reply.choices.length);
        expect(shown(back.reply)).toEqual(shown(reply));
        expect(back.kinds[0]).toBe("opening");
        expect(back.kinds.at(-1)).toBe("terminal");
        expect(back.kinds).not.toContain("garbage");
        expect(back.doneAfter).toBe(back.kinds.length);
      }),
    );
  });

  it("comes back from JSON as it was stored", () => {
    fc.assert(
      fc.property(replies, (reply) => {
        const body = renderReply(dialect, reply, { stream: false, includeUsage: false });
        expect(shown(readReply(dialect, body))).toEqual(shown(reply));
      }),
    );
  });

  it("keeps the provider's own spelling in JSON, numbers and spaces too", () => {
    fc.assert(
      fc.property(replies, (reply) => {
        const choices = reply.choices.map((choice) => ({
          ...choice,
          messages: choice.messages.map((one) =>
            utf8Bytes(text(one).replace(/"role":"assistant"/, '"role" : "assistant","x":9007199254740993 ')),
          ),
        }));
        const body = renderReply(dialect, { ...reply, choices }, { stream: false, includeUsage: false });
        const back = readReply(dialect, body);
        // An Anthropic reply has no message object of its own: its blocks are what is kept.
        const kept = dialect === "anthropic" ? reply : { ...reply, choices };
        expect(shown(back)).toEqual(shown(kept));
      }),
    );
  });

  it("of which any part is missing is not usable", () => {
    fc.assert(
      fc.property(replies, fc.nat(), (reply, cut) => {
        const stream = renderReply(dialect, reply, { stream: true, includeUsage: false });
        const frames = framesOf(stream);
        const whole = runFrames(dialect, frames, reply.choices.length);
        const first = whole.kinds.indexOf("terminal");
        const part = runFrames(dialect, frames.slice(0, cut % first), reply.choices.length);
        expect(part.kinds).not.toContain("terminal");
        if (reply.choices.length === 1) expect(part.reply.usable).toBe(false);
      }),
    );
  });

  it("reads cleanly and needs no mending", () => {
    fc.assert(
      fc.property(replies, (reply) => {
        for (const { messages } of reply.choices) {
          const read = dialectOf(dialect as "anthropic").read(messages[0]!, "reply");
          expect(read.role).toBe("assistant");
          expect(read.mend).toBe(false);
        }
      }),
    );
  });
});

describe("a message that the provider printed over several lines", () => {
  it.each(["\n", "\r\n"])("stands in one data line (%j)", (end) => {
    const pretty = JSON.stringify({ role: "assistant", content: "a\nb" }, null, 2).replaceAll("\n", end);
    const choices = [{ index: 0, messages: [utf8Bytes(pretty)], finish: "stop" }];
    const reply = { choices, usage: undefined, finish: "stop", model: "m", id: "c", usable: true };
    const frames = framesOf(renderReply("openai-chat", reply, { stream: true, includeUsage: false }));
    expect(frames.every((frame) => text(frame).split(/\r\n|\n|\r/).length === 3)).toBe(true);
    const back = runFrames("openai-chat", frames);
    expect(back.messages).toEqual(['{"role":"assistant","content":"a\\nb"}']);
  });
});

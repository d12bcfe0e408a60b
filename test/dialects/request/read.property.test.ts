import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messagesOf, prefixOf, readRequest } from "../../../src/dialects/request/read.ts";
import { upstreamBody } from "../../../src/dialects/request/upstream.ts";
import { text, utf8 } from "../../log/json-text.ts";
import { asked, listKey, style, written } from "./bodies.ts";

const runs = { numRuns: 500 };

describe("any request", () => {
  it("is read as JSON.parse reads it", () => {
    fc.assert(
      fc.property(asked, style, ({ dialect, leading, messages, members }, choices) => {
        const body = utf8(written(members, choices));
        const request = readRequest(dialect, body);
        const parsed = JSON.parse(text(body)) as Record<string, unknown>;
        expect(parsed).toEqual(Object.fromEntries(members));
        expect(request.model).toBe(parsed.model);
        expect(request.stream).toBe(parsed.stream === true);
        expect(messagesOf(request).map((raw) => JSON.parse(text(raw)))).toEqual(messages);
        expect(request.system.map(({ start, end }) => JSON.parse(text(body.subarray(start, end))))).toEqual(
          leading,
        );
        const { tools, params } = request.envelope;
        expect(tools && JSON.parse(text(tools))).toEqual(parsed.tools);
        const kept = Object.keys(params === undefined ? {} : JSON.parse(text(params)));
        expect(Object.keys(parsed)).toEqual(expect.arrayContaining(kept));
        expect(kept).not.toContain(listKey[dialect]);
      }),
      runs,
    );
  });

  it("goes out byte for byte when nothing is changed", () => {
    fc.assert(
      fc.property(asked, style, ({ dialect, members }, choices) => {
        const body = utf8(written(members, choices));
        const request = readRequest(dialect, body);
        expect(upstreamBody(request, { model: request.model, messages: undefined })).toBe(body);
      }),
      runs,
    );
  });

  it("reads the same behind every prefix of its messages", () => {
    fc.assert(
      fc.property(asked, style, fc.nat(), ({ dialect, members }, choices, at) => {
        const body = utf8(written(members, choices));
        const whole = readRequest(dialect, body);
        const count = whole.messages.length === 0 ? 0 : at % (whole.messages.length + 1);
        const known = prefixOf(whole, count);
        const { messages, skipped, prefix, ...rest } = readRequest(dialect, body, known);
        expect(skipped).toBe(count);
        expect(prefix).toEqual(known);
        expect([...whole.messages.slice(0, skipped), ...messages]).toEqual(whole.messages);
        const { messages: _, skipped: none, prefix: nothing, ...expected } = whole;
        expect([none, nothing]).toEqual([0, undefined]);
        expect(rest).toEqual(expected);
      }),
      runs,
    );
  });

  it("gives the same prefix to a body that goes on behind it", () => {
    fc.assert(
      fc.property(asked, style, ({ dialect, members }, choices) => {
        const key = listKey[dialect];
        const grown = members.map(([name, value]): (typeof members)[number] =>
          name === key ? [name, [...(value as []), { role: "user", content: "more" }]] : [name, value],
        );
        const before = readRequest(dialect, utf8(written(members, choices)));
        const known = prefixOf(before, before.messages.length);
        const body = utf8(written(grown, choices));
        const whole = readRequest(dialect, body);
        const behind = readRequest(dialect, body, known);
        if (known !== undefined)
          expect(body.subarray(0, known.bytes)).toEqual(before.body.subarray(0, known.bytes));
        expect(behind.messages).toEqual(whole.messages.slice(known?.count ?? 0));
        expect(prefixOf(behind, whole.messages.length)).toEqual(prefixOf(whole, whole.messages.length));
      }),
      runs,
    );
  });
});

describe("a body with new messages", () => {
  it("is the old one with that list, and the members that change", () => {
    const change = fc.record({
      model: fc.string({ minLength: 1 }),
      max: fc.constantFrom(1, 1_000, 50_000),
      add: fc.boolean(),
    });
    fc.assert(
      fc.property(asked, asked, style, change, (old, other, choices, { model, max, add }) => {
        const { dialect, leading, members } = old;
        const request = readRequest(dialect, utf8(written(members, choices)));
        const messages = other.messages.map((message) => utf8(message));
        const out = upstreamBody(request, {
          model,
          messages,
          maxOutput: max,
          addMaxOutput: add,
          includeUsage: true,
          promptCacheKey: "ours",
        });
        const expected: Record<string, unknown> = { ...Object.fromEntries(members), model };
        expected[listKey[dialect]] = [...leading, ...other.messages];
        const bounds = {
          "openai-chat": ["max_completion_tokens", "max_tokens"],
          "openai-responses": ["max_output_tokens"],
          anthropic: ["max_tokens"],
        }[dialect];
        const own = bounds.filter((key) => typeof expected[key] === "number");
        for (const key of own) expected[key] = Math.min(expected[key] as number, max);
        if (own.length === 0 && add) expected[bounds[0]!] = max;
        if (dialect === "openai-chat" && expected.stream === true)
          expected.stream_options = {
            ...(expected.stream_options as object | null),
            include_usage: true,
          };
        if (dialect !== "anthropic") expected.prompt_cache_key ??= "ours";
        const parsed = JSON.parse(text(out)) as Record<string, unknown>;
        expect(parsed).toEqual(expected);
        // Members keep their order, and no key comes to stand twice.
        expect(Object.keys(parsed).slice(0, members.length)).toEqual(members.map(([key]) => key));
        expect(readRequest(dialect, out).messages.length + leading.length).toBeGreaterThanOrEqual(
          messages.length,
        );
      }),
      runs,
    );
  });
});

import { countTokens as oracleCount } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import type { Part } from "../../src/dialects/dialect.ts";
import { createMeter, PER_MEDIA, PER_MESSAGE } from "../../src/meter/price.ts";
import { EXACT_BYTES, WINDOW_UNITS, WINDOWS } from "../../src/meter/sample.ts";
import { countTokens } from "../../src/meter/vocabulary.ts";
import { everyKind, generate, ordinary } from "./corpus.ts";

const oracle = (text: string): number => oracleCount(text, { disallowedSpecial: new Set() });
const meter = createMeter(countTokens);
/** A meter whose texts weigh one token per unit: what remains is the rule itself. */
const units = createMeter((text) => text.length);

const image: Part = { type: "media", note: "image/png" };

describe("the price of a message", () => {
  it("[M8] is 12 tokens with no parts at all", () => {
    expect(units.message([])).toEqual({ tokens: 12, sampled: false });
  });

  it("[M8] adds its texts, thinking, call names and arguments, and result texts", () => {
    const parts: Part[] = [
      { type: "text", text: "12345" },
      { type: "thinking", text: "1234567" },
      { type: "call", id: "call_never_counted", name: "ls", args: '{"a":1}' },
      { type: "result", call: "call_never_counted", error: true, content: [{ type: "text", text: "123" }] },
    ];
    expect(units.message(parts).tokens).toBe(PER_MESSAGE + 5 + 7 + (2 + 7) + 3);
  });

  it("[M8] adds 1,600 per image or file, inside results too, and nothing for its note", () => {
    const result: Part = {
      type: "result",
      call: "c",
      error: false,
      content: [
        { type: "media", note: "x" },
        { type: "text", text: "ab" },
      ],
    };
    expect(units.message([image, image]).tokens).toBe(12 + 2 * PER_MEDIA);
    expect(units.message([image, result]).tokens).toBe(12 + 1600 + 1600 + 2);
  });

  it("[M8] is additive: any order of the parts, and parts apart, weigh the same", () => {
    const parts: Part[] = [
      { type: "text", text: "one" },
      image,
      { type: "call", id: "c", name: "two", args: "{}" },
    ];
    const apart = parts.reduce((sum, part) => sum + meter.message([part]).tokens - PER_MESSAGE, PER_MESSAGE);
    expect(meter.message(parts).tokens).toBe(apart);
    expect(meter.message(parts.toReversed()).tokens).toBe(apart);
  });

  it("[DSH-035] [M8] content by shape, re-based to o200k counts: no block framing, 12 per message", () => {
    const price = (part: Part): number => meter.message([part]).tokens - PER_MESSAGE;
    expect(price({ type: "text", text: "abcd" })).toBe(oracle("abcd"));
    expect(price({ type: "thinking", text: "I reason" })).toBe(oracle("I reason"));
    expect(price({ type: "call", id: "c", name: "bash", args: '{"a":1}' })).toBe(
      oracle("bash") + oracle('{"a":1}'),
    );
    expect(
      price({ type: "result", call: "c", content: [{ type: "text", text: "abcd" }], error: false }),
    ).toBe(oracle("abcd"));
    // A block of unknown type reaches the meter as the text that its dialect reads it as: there is no uncounted part.
    const unknown = { type: "hologram", text: "abcd" } as unknown as Part;
    expect(() => meter.message([unknown])).toThrow();
  });

  it("[M9] equals the same rule driven by another encoder", () => {
    const other = createMeter(oracle);
    for (const [kind, stretch] of Object.entries(ordinary)) {
      const text = generate(stretch, 3_000, 12);
      const parts: Part[] = [
        { type: "text", text },
        { type: "call", id: "c", name: "write", args: JSON.stringify({ text }) },
        {
          type: "result",
          call: "c",
          content: [
            { type: "text", text },
            { type: "media", note: "image/png" },
          ],
          error: false,
        },
      ];
      expect(meter.message(parts), kind).toEqual(other.message(parts));
      expect(meter.envelope({ system: [text, "b"], tools: text })).toBe(
        other.envelope({ system: [text, "b"], tools: text }),
      );
    }
  });
});

describe("the price of an envelope", () => {
  it("[M10] is its system texts and its compact tool list, and nothing for parameters", () => {
    expect(
      units.envelope({ system: ["1234", "56"], tools: '[{"name":"ls"}]', params: { temperature: 1 } }),
    ).toBe(21);
  });

  it("[DSH-036] [M10] envelope parts, re-based: o200k counts without framing; absent and empty are 0; the sum of both", () => {
    const system = ["Be good."];
    const tools = '[{"name":"bash","input_schema":{"type":"object"}}]';
    expect(meter.envelope({ system })).toBe(oracle("Be good."));
    expect(meter.envelope({})).toBe(0);
    expect(meter.envelope({ system: [] })).toBe(0);
    expect(meter.envelope({ tools: "[]" })).toBe(0);
    expect(meter.envelope({ tools })).toBe(oracle(tools));
    expect(meter.envelope({ system, tools })).toBe(meter.envelope({ system }) + meter.envelope({ tools }));
  });
});

describe("the meter", () => {
  it("[DSH-022] [M11] has no settings: it takes a counter and nothing else, and neither do its functions", () => {
    expect(createMeter.length).toBe(1);
    expect(Object.fromEntries(Object.entries(meter).map(([name, of]) => [name, of.length]))).toEqual({
      text: 1,
      message: 1,
      envelope: 1,
    });
    // @ts-expect-error: a second argument is a type error
    const configured = createMeter(countTokens, { contextWindow: 1000, models: {} });
    expect(configured.message([{ type: "text", text: "abcd" }])).toEqual(
      meter.message([{ type: "text", text: "abcd" }]),
    );
    // @ts-expect-error: an envelope with an unknown key is a type error
    expect(meter.envelope({ contextWindow: 1000 })).toBe(0);
  });
});

describe("a text over 256 KiB", () => {
  it("[M7] is sampled and says so; one of 256 KiB is counted exactly", () => {
    const exact = "word ".repeat(60_000).slice(0, EXACT_BYTES);
    expect(meter.text(exact)).toEqual({ tokens: countTokens(exact), sampled: false });
    expect(meter.text(`${exact}s`).sampled).toBe(true);
    expect(
      meter.message([
        { type: "text", text: "short" },
        { type: "text", text: `${exact}s` },
      ]).sampled,
    ).toBe(true);
    expect(
      meter.message([
        { type: "text", text: exact },
        { type: "text", text: exact },
      ]).sampled,
    ).toBe(false);
  });

  it.each([
    ["é", 2],
    ["中", 3],
    ["😀", 4],
    ["\ud800", 3],
  ])("[M7] is measured in UTF-8 bytes: %j has %i", (char, bytes) => {
    const most = Math.floor(EXACT_BYTES / bytes);
    expect(units.text(char.repeat(most)).sampled).toBe(false);
    expect(units.text(char.repeat(most + 1)).sampled).toBe(true);
  });

  it("[M7] costs twelve windows, however long it is", () => {
    let read = 0;
    const watched = createMeter((text) => {
      read += text.length;
      return text.length;
    });
    const text = "x".repeat(3_000_000);
    expect(watched.text(text)).toEqual({ tokens: text.length, sampled: true });
    expect(read).toBe(WINDOWS * WINDOW_UNITS);
  });

  it("[M7] is sampled from its first unit to its last, never inside a surrogate pair", () => {
    const windows: string[] = [];
    const watched = createMeter((text) => {
      windows.push(text);
      return text.length;
    });
    watched.text(`<x>${"😀".repeat(100_000)}<end>`);
    expect(windows).toHaveLength(WINDOWS);
    expect(windows[0]?.startsWith("<x>")).toBe(true);
    expect(windows.at(-1)?.endsWith("<end>")).toBe(true);
    expect(windows.some((window) => /\p{Cs}/u.test(window))).toBe(false);
  });

  it.each(Object.keys(everyKind))("[M7] of %s is estimated within 6 percent", (kind) => {
    const text = generate(everyKind[kind]!, 300_000, 31);
    const { tokens, sampled } = meter.text(text);
    expect(sampled).toBe(true);
    expect(Math.abs(tokens / countTokens(text) - 1)).toBeLessThan(0.06);
  });

  it("[M7] that changes from prose to logs to Han is estimated within 10 percent", () => {
    const text = ["prose", "logs", "han with stops"]
      .map((kind) => generate(everyKind[kind]!, 200_000, 5))
      .join("");
    expect(Math.abs(meter.text(text).tokens / countTokens(text) - 1)).toBeLessThan(0.1);
  });
});

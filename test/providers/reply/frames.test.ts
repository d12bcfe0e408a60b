import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../../src/log/json-edit.ts";
import {
  FrameSplitter,
  FrameTooLong,
  maxFrameBytes,
  readFrame,
} from "../../../src/providers/reply/frames.ts";
import { text, utf8 } from "../../log/json-text.ts";
import { framesOf } from "./streams.ts";

const cut = (source: string, cuts: number[] = []) => framesOf(utf8(source), cuts).map(text);

describe("frames", () => {
  it.each([
    ["LF", "data: 1\n\ndata: 2\n\n", ["data: 1\n\n", "data: 2\n\n"]],
    ["CRLF", "data: 1\r\n\r\ndata: 2\r\n\r\n", ["data: 1\r\n\r\n", "data: 2\r\n\r\n"]],
    ["CR", "data: 1\r\rdata: 2\r\r", ["data: 1\r\r", "data: 2\r\r"]],
    [
      "mixed line ends",
      "event: a\r\ndata: 1\n\r\ndata: 2\r\n\n",
      ["event: a\r\ndata: 1\n\r\n", "data: 2\r\n\n"],
    ],
    ["comments", ": ping\n\n:\n\ndata: 1\n\n", [": ping\n\n", ":\n\n", "data: 1\n\n"]],
    ["empty lines before", "\n\n\ndata: 1\n\n", ["\n\n\ndata: 1\n\n"]],
    ["no empty line at the end", "data: 1\n\ndata: 2", ["data: 1\n\n", "data: 2"]],
    ["a half empty line at the end", "data: 1\n", ["data: 1\n"]],
    ["nothing", "", []],
  ])("with %s come whole", (_, source, expected) => {
    expect(cut(source)).toEqual(expected);
  });

  it("[V30] are complete as soon as their empty line is, even at a CR", () => {
    const splitter = new FrameSplitter();
    expect(splitter.push(utf8("data: 1\r\n\r")).map(text)).toEqual(["data: 1\r\n\r"]);
    expect(splitter.push(utf8("\ndata: 2\r\n\r\n")).map(text)).toEqual(["\ndata: 2\r\n\r\n"]);
    expect(readFrame(utf8("\ndata: 2\r\n\r\n"))).toEqual({ data: "2" });
    expect(splitter.end()).toEqual([]);
  });

  it("together are the bytes that came, and say the same, wherever the chunks are cut", () => {
    const line = fc.constantFrom("data: a", "data: 日本", "event: e", ": c", "", "", "id: 1", "\ufeff");
    const lines = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 30 });
    fc.assert(
      fc.property(lines, fc.array(fc.nat(), { maxLength: 40 }), (list, cuts) => {
        const bytes = utf8(list.flat().join(""));
        const frames = framesOf(bytes, cuts);
        expect(text(concat(frames))).toBe(text(bytes));
        const said = (some: Uint8Array[]) => some.map(readFrame).filter((one) => one !== "quiet");
        expect(said(frames)).toEqual(said(framesOf(bytes)));
      }),
    );
  });

  it("of single bytes cost linear time", () => {
    const bytes = utf8(`data: ${"x".repeat(1_000_000)}\n\n`);
    const splitter = new FrameSplitter();
    const frames: Uint8Array[] = [];
    for (let i = 0; i < bytes.length; i++) frames.push(...splitter.push(bytes.subarray(i, i + 1)));
    expect(frames.map((frame) => frame.length)).toEqual([bytes.length]);
  });

  it("that are too long are an error, in one chunk and in many", () => {
    const half = new Uint8Array(maxFrameBytes / 2).fill(0x78);
    const splitter = new FrameSplitter();
    expect(splitter.push(half)).toEqual([]);
    expect(splitter.push(half)).toEqual([]);
    expect(() => splitter.push(utf8("x"))).toThrow(FrameTooLong);
    expect(() => new FrameSplitter().push(concat([half, half, utf8("\n\n")]))).toThrow(FrameTooLong);
    // Empty lines count too.
    const lines = new FrameSplitter();
    lines.push(new Uint8Array(maxFrameBytes).fill(0x0a));
    expect(() => lines.push(utf8("\n"))).toThrow(FrameTooLong);
  });
});

describe("a frame", () => {
  it.each([
    ["event: a\ndata: 1\n\n", { event: "a", data: "1" }],
    ["data:1\r\ndata: 2\r\n\r\n", { data: "1\n2" }],
    ["\ufeffdata: 1\n\n", { data: "1" }],
    ["data: 1", { data: "1" }],
    [": ping\n\n", "quiet"],
    ["event: ping\n\n", "quiet"],
  ])("%j reads as %j", (source, expected) => {
    expect(readFrame(utf8(source))).toEqual(expected);
  });

  it("that is not UTF-8 is garbage", () => {
    expect(readFrame(Uint8Array.of(0x64, 0x3a, 0xff, 0x0a, 0x0a))).toBe("garbage");
  });
});

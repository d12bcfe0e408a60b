import { describe, expect, it } from "vitest";
import { call, openai } from "./native.ts";

describe("an OpenAI message", () => {
  it("[P20] of the user is read into texts and media, one part per block", () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
      { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" } },
      { type: "file", file: { file_id: "file_1" } },
      { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
    ];
    expect(openai({ role: "user", content })).toEqual({
      role: "user",
      parts: [
        { type: "text", text: "look" },
        { type: "media", note: "image/png" },
        { type: "media", note: "image" },
        { type: "media", note: "audio/wav" },
        { type: "media", note: "application/pdf" },
        { type: "media", note: "file" },
        { type: "media", note: "video" },
      ],
      calls: [],
      results: [],
      mend: false,
    });
  });

  it.each(["system", "developer"])("[P20] of role %s is a system message", (role) => {
    expect(openai({ role, content: "be brief" })).toMatchObject({
      role: "system",
      parts: [{ type: "text", text: "be brief" }],
    });
  });

  it("[P20] of the assistant holds thinking, text, refusal and calls of both kinds in that order", () => {
    const message = {
      role: "assistant",
      content: [
        { type: "text", text: "I read it" },
        { type: "refusal", refusal: "not that" },
      ],
      refusal: "no",
      reasoning_content: "hm",
      reasoning: "hm",
      tool_calls: [call, { id: "call_2", type: "custom", custom: { name: "shell", input: "ls -l" } }],
    };
    expect(openai(message)).toEqual({
      role: "assistant",
      parts: [
        { type: "thinking", text: "hm" },
        { type: "text", text: "I read it" },
        { type: "text", text: "not that" },
        { type: "text", text: "no" },
        { type: "call", id: "call_1", name: "read", args: '{"path": "a"}' },
        { type: "call", id: "call_2", name: "shell", args: "ls -l" },
      ],
      calls: ["call_1", "call_2"],
      results: [],
      mend: false,
    });
    expect(openai({ role: "assistant", content: "x", reasoning: "so" }).parts[0]).toEqual({
      type: "thinking",
      text: "so",
    });
    expect(openai({ role: "assistant", content: null, audio: { id: "a" } })).toMatchObject({
      parts: [{ type: "media", note: "audio" }],
      mend: false,
    });
  });

  it("[P20] of a tool is one result of texts, whether string or blocks, and may be empty", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "text", text: "" },
    ];
    expect(openai({ role: "tool", tool_call_id: "call_1", content })).toEqual({
      role: "tool",
      parts: [{ type: "result", call: "call_1", content, error: false }],
      calls: [],
      results: ["call_1"],
      mend: false,
    });
    expect(openai({ role: "tool", tool_call_id: "call_1", content: "" }).parts).toEqual([
      { type: "result", call: "call_1", content: [{ type: "text", text: "" }], error: false },
    ]);
  });

  it("[P20] keeps part types that nobody knows and counts them as their compact JSON", () => {
    expect(openai({ role: "user", content: [{ type: "novel", data: { deep: [1, 2] } }] }).parts).toEqual([
      { type: "text", text: '{"type":"novel","data":{"deep":[1,2]}}', attached: true },
    ]);
    expect(
      openai({ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] })
        .mend,
    ).toBe(false);
  });
});

describe("a media note", () => {
  it.each([
    ["data:text/html,<script>", "text/html"],
    ["data:image\\/webp;base64,AA", "image"],
    ["data:image/x\ny;base64,AA", "image"],
    [`data:image/${"a".repeat(200)};base64,AA`, "image"],
    ["data:image/svg+xml;charset=utf-8,x", "image/svg+xml"],
  ])("[P20] is a media type or a plain word for %j", (url, note) => {
    expect(openai({ role: "user", content: [{ type: "image_url", image_url: { url } }] }).parts).toEqual([
      { type: "media", note },
    ]);
  });

  it("[P20] is found where the client escapes its slashes", () => {
    const raw =
      '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image\\/png;base64,AA"}}]}';
    expect(openai(raw).parts).toEqual([{ type: "media", note: "image/png" }]);
  });
});

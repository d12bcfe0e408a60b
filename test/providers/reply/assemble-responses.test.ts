import { describe, expect, it } from "vitest";
import { readReply } from "../../../src/providers/reply/read.ts";
import { utf8 } from "../../log/json-text.ts";
import { messagesOf, run } from "./streams.ts";

const responses = (values: unknown[]) => run("openai-responses", values);
const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
const base = { id: "resp_1", object: "response", created_at: 7, model: "m-1", output: [] as object[] };
const created = { type: "response.created", response: { ...base, status: "in_progress" } };
const said = (text: string, status = "completed") => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status,
  content: [{ type: "output_text", text, annotations: [] }],
});
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" };
const called = (status = "completed") => ({
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "f",
  arguments: "{",
  status,
});
const done = (item: object, output_index: number) => ({
  type: "response.output_item.done",
  output_index,
  item,
});
const completed = (output: object[]) => ({
  type: "response.completed",
  response: { ...base, status: "completed", output, usage },
});
const incomplete = (output: object[], reason = "max_output_tokens") => ({
  type: "response.incomplete",
  response: { ...base, status: "incomplete", incomplete_details: { reason }, output, usage },
});

describe("a Responses stream", () => {
  it("becomes the items of its final response, and each event has its meaning", () => {
    const item = said("Hello");
    const { kinds, reply, messages } = responses([
      created,
      { type: "response.in_progress", response: { ...base, status: "in_progress" } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.content_part.added", output_index: 0, part: { type: "output_text", text: "" } },
      { type: "response.output_text.delta", output_index: 0, delta: "Hello" },
      { type: "response.output_text.done", output_index: 0, text: "Hello" },
      done(item, 0),
      completed([item]),
    ]);
    expect(kinds).toEqual([
      "opening",
      "opening",
      "opening",
      "opening",
      "content",
      "content",
      "content",
      "terminal",
    ]);
    expect(messages).toEqual([JSON.stringify(item)]);
    expect(reply).toMatchObject({
      usage,
      finish: "completed",
      model: "m-1",
      id: "resp_1",
      created: 7,
      usable: true,
    });
  });

  it("takes the items that were done where the final response has none", () => {
    const { messages, reply } = responses([created, done(said("b"), 1), done(thought, 0), completed([])]);
    expect(messages).toEqual([JSON.stringify(thought), JSON.stringify(said("b"))]);
    expect(reply.usable).toBe(true);
  });

  it("prefers the final response's items", () => {
    const early = done({ ...thought, encrypted_content: "" }, 0);
    const { messages } = responses([created, early, completed([thought, said("a")])]);
    expect(messages).toEqual([thought, said("a")].map((item) => JSON.stringify(item)));
  });

  it("begins its content with a call, whose name says something", () => {
    const added = { type: "response.output_item.added", output_index: 0, item: called("in_progress") };
    expect(responses([created, added]).kinds).toEqual(["opening", "content"]);
  });

  it.each([
    ["its cut text", [thought, said("a", "incomplete")], [thought, said("a", "incomplete")]],
    ["no cut call, which has no output", [said("a"), called("incomplete")], [said("a")]],
    ["no reasoning of a cut call", [said("a"), thought, called("incomplete")], [said("a")]],
    ["no reasoning without the item that follows it", [said("a"), thought], [said("a")]],
  ])("that is incomplete keeps %s", (_, output, kept) => {
    const { reply, kinds } = responses([created, incomplete(output)]);
    expect(kinds).toEqual(["opening", "terminal"]);
    expect(messagesOf(reply)).toEqual(kept.map((item) => JSON.stringify(item)));
    expect(reply).toMatchObject({ finish: "max_output_tokens", usable: true });
  });

  it.each([
    ["no end", [created, done(said("a"), 0)]],
    ["reasoning and nothing else", [created, incomplete([thought])]],
    ["nothing", []],
    ["a failure", [created, done(said("a"), 0), { type: "response.failed", response: base }]],
    ["[DONE] and no end", [created, done(said("a"), 0), "[DONE]"]],
  ])("with %s is not usable", (_, events) => {
    expect(responses(events).reply.usable).toBe(false);
  });

  it("equals its JSON form", () => {
    const body = { ...base, status: "incomplete", incomplete_details: { reason: "content_filter" }, usage };
    const output = [thought, said("a")];
    const streamed = responses([created, incomplete(output, "content_filter")]).reply;
    expect(readReply("openai-responses", utf8({ ...body, output }))).toEqual(streamed);
  });
});

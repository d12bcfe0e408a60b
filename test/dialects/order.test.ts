import { describe, expect, it } from "vitest";
import { type DialectName, dialectNames } from "../../src/dialects/dialect.ts";
import { type Order, orderOf, type Place } from "../../src/dialects/order.ts";
import { dialectOf } from "../../src/dialects/registry.ts";
import { utf8 } from "../log/json-text.ts";

function order(dialect: DialectName, message: unknown, place: Partial<Place> = {}): Order {
  return orderOf(
    { dialect, open: [], first: false, ...place },
    dialectOf(dialect).read(utf8(message), "m"),
    "messages[3]",
  );
}

const callItem = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });

/** The same message in any dialect; of Responses the last call alone. */
const calls = (dialect: DialectName, ...ids: string[]) =>
  dialect === "openai-responses"
    ? callItem(ids.at(-1) ?? "")
    : dialect === "anthropic"
      ? { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: "f", input: {} })) }
      : {
          role: "assistant",
          tool_calls: ids.map((id) => ({ id, function: { name: "f", arguments: "{}" } })),
        };
const result = (dialect: DialectName, id: string) =>
  dialect === "openai-responses"
    ? { type: "function_call_output", call_id: id, output: "" }
    : dialect === "anthropic"
      ? { role: "user", content: [{ type: "tool_result", tool_use_id: id }] }
      : { role: "tool", tool_call_id: id, content: "" };
const user = { role: "user", content: "hi" };
const system = { role: "system", content: "hi" };
const reply = { role: "assistant", content: "hi" };

describe.each(dialectNames)("order in %s", (dialect) => {
  it("[P30] opens the calls of a message and closes them by their results, in any order, one by one or together", () => {
    const itemwise = dialect === "openai-responses";
    const before: Partial<Place> = itemwise ? { open: ["a", "b"], after: "assistant" } : {};
    expect(order(dialect, calls(dialect, "a", "b", "c"), before)).toEqual({
      ok: true,
      closes: [],
      opens: ["a", "b", "c"],
      ...(itemwise ? { joined: true } : {}),
    });
    expect(order(dialect, result(dialect, "b"), { open: ["a", "b", "c"] })).toEqual({
      ok: true,
      closes: [],
      opens: ["a", "c"],
    });
    expect(order(dialect, result(dialect, "a"), { open: ["a"] })).toEqual({
      ok: true,
      closes: [],
      opens: [],
    });
  });

  it.each([
    ["a user message", user],
    ["a reply", reply],
    ["a system message", system],
    ["further calls", calls(dialect, "a", "z")],
  ])("[P30] closes open calls without a result at %s", (_, message: object) => {
    const further = dialect === "openai-responses" ? ["z"] : ["a", "z"];
    const opens = message === user || message === reply || message === system ? [] : further;
    // More of the same reply closes nothing in Responses; behind a first result it is another reply.
    const after = dialect === "openai-responses" ? "tool" : "assistant";
    expect(order(dialect, message, { open: ["a", "b"], after })).toEqual({
      ok: true,
      closes: ["a", "b"],
      opens,
    });
  });

  it("[P30] refuses a result whose call is not open", () => {
    for (const open of [[], ["b"]]) {
      expect(order(dialect, result(dialect, "a"), { open })).toMatchObject({
        ok: false,
        failure: { code: "result-without-call", at: "messages[3]" },
      });
    }
  });

  it("[P30] refuses a result as the first message, and a system message, which is envelope", () => {
    expect(order(dialect, result(dialect, "a"), { first: true })).toMatchObject({
      ok: false,
      failure: { code: "not-first" },
    });
    expect(order(dialect, system, { first: true })).toMatchObject({
      ok: false,
      failure: { code: "system-is-envelope" },
    });
    expect(order(dialect, user, { first: true })).toEqual({ ok: true, closes: [], opens: [] });
  });

  it("[P30] lets a conversation start with a reply only where the provider does", () => {
    const started = order(dialect, reply, { first: true });
    if (dialect !== "anthropic") expect(started).toEqual({ ok: true, closes: [], opens: [] });
    else expect(started).toMatchObject({ ok: false, failure: { code: "not-first" } });
  });
});

describe("order in Responses alone", () => {
  const dialect = "openai-responses";
  const reasoning = { type: "reasoning", summary: [], encrypted_content: "e" };

  it("[P30] [P34] joins the items of one reply, whatever they are, and leaves their calls open", () => {
    for (const more of [reply, reasoning, { type: "web_search_call", id: "ws", status: "completed" }]) {
      expect(order(dialect, more, { open: ["a"], after: "assistant" })).toEqual({
        ok: true,
        closes: [],
        opens: ["a"],
        joined: true,
      });
      expect(order(dialect, more, { after: "user" })).toEqual({ ok: true, closes: [], opens: [] });
    }
  });

  it("[P30] refuses a second open call with the same id", () => {
    expect(order(dialect, callItem("a"), { open: ["a"], after: "assistant" })).toMatchObject({
      ok: false,
      failure: { code: "bad-message" },
    });
    expect(order(dialect, callItem("a"), { after: "tool" })).toEqual({ ok: true, closes: [], opens: ["a"] });
  });
});

describe("order in Anthropic alone", () => {
  const results = (...ids: string[]) => ids.map((id) => ({ type: "tool_result", tool_use_id: id }));
  const note = { type: "text", text: "and" };

  it("[P30] takes several results in one message and refuses two for one call", () => {
    const open = ["a", "b", "c"];
    expect(order("anthropic", { role: "user", content: results("c", "a") }, { open })).toEqual({
      ok: true,
      closes: [],
      opens: ["b"],
    });
    expect(order("anthropic", { role: "user", content: results("a", "a") }, { open })).toMatchObject({
      ok: false,
      failure: { code: "bad-message" },
    });
  });

  it("[P30] ends the group at a result message that says more", () => {
    const message = { role: "user", content: [...results("b"), note] };
    expect(order("anthropic", message, { open: ["a", "b", "c"] })).toEqual({
      ok: true,
      closes: ["a", "c"],
      opens: [],
    });
  });

  it("[P30] lets system stand only behind a user message or results and before a reply", () => {
    for (const after of ["user", "tool", "system"] as const) {
      expect(order("anthropic", system, { after }).ok).toBe(true);
    }
    expect(order("anthropic", system, { after: "assistant" })).toMatchObject({
      ok: false,
      failure: { code: "bad-message" },
    });
    expect(order("anthropic", user, { after: "system" })).toMatchObject({
      ok: false,
      failure: { code: "bad-message" },
    });
    expect(order("anthropic", reply, { after: "system" }).ok).toBe(true);
    expect(order("openai-chat", system, { after: "assistant" }).ok).toBe(true);
  });
});

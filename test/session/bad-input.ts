/** What clients send that is refused: each with its code, its status and the place of the fault. */
import { calls, reply, result, said, user } from "../support/rig.ts";

/** A value that must never come back. */
export const SECRET = "hunter2secret";
const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

export interface BadInput {
  what: string;
  method?: string;
  path?: string;
  /** A text is sent as it stands. */
  body?: unknown;
  headers?: Record<string, string>;
  code: string;
  status: number;
  at?: string;
}

const prepare = (body: unknown) => ({ path: "/prepare", body });
const events = (...items: unknown[]) => ({ path: "/events", body: { items } });
const bad = { code: "bad-request", status: 400 };

export const badInputs: BadInput[] = [
  // Bodies that are no JSON, or not the JSON that is asked for.
  {
    what: "a body that is cut off",
    ...prepare(`{"messages":[{"role":"user","content":"${SECRET}`),
    code: "bad-json",
    status: 400,
  },
  {
    what: "a body with something behind it",
    ...prepare(`{"messages":[]} ${SECRET}`),
    code: "bad-json",
    status: 400,
  },
  { what: "a bare word", ...prepare(SECRET), code: "bad-json", status: 400 },
  { what: "a list for a body", ...prepare("[]"), ...bad },
  { what: "no messages", ...prepare({}), ...bad, at: "messages" },
  { what: "messages that are no list", ...prepare({ messages: SECRET }), ...bad, at: "messages" },
  {
    what: "a message that is no object",
    ...prepare({ messages: [SECRET] }),
    code: "bad-message",
    status: 400,
    at: "messages[0]",
  },
  {
    what: "JSON nested too deep",
    ...prepare(`{"messages":[{"role":"user","content":"a","x":${deep(3_000)}}]}`),
    code: "too-deep",
    status: 400,
  },
  {
    what: "an unknown key",
    ...prepare({ messages: [], background: SECRET }),
    ...bad,
    at: "background",
  },
  {
    what: "an unknown key that looks like a value",
    ...prepare({ messages: [], [`${SECRET} !`]: 1 }),
    ...bad,
    at: "(key)",
  },
  { what: "a system prompt that is a number", ...prepare({ messages: [], system: 7 }), ...bad, at: "system" },
  { what: "tools that are no list", ...prepare({ messages: [], tools: {} }), ...bad, at: "tools" },
  { what: "an output cap of nothing", ...prepare({ messages: [], maxOutput: 0 }), ...bad, at: "maxOutput" },
  { what: "half a route", ...prepare({ messages: [], route: SECRET }), ...bad, at: "route" },
  { what: "a head that is no number", ...prepare({ messages: [], expect: SECRET }), ...bad, at: "expect" },
  // Messages that the dialect or the order does not allow.
  {
    what: "a result without its call",
    ...prepare({ messages: [user("a"), result(SECRET, "x")] }),
    code: "result-without-call",
    status: 400,
    at: "messages[1]",
  },
  {
    what: "[INV-023] the second of two results",
    ...prepare({ messages: [calls(["c"]), result("c", "x"), result("c", "y")] }),
    code: "result-without-call",
    status: 400,
    at: "messages[2]",
  },
  {
    what: "a message of another dialect",
    ...prepare({
      messages: [{ role: "assistant", content: [{ type: "tool_use", id: "a", name: SECRET, input: {} }] }],
    }),
    code: "bad-message",
    status: 400,
  },
  {
    what: "a role that nobody has",
    ...prepare({ messages: [{ role: SECRET, content: "x" }] }),
    code: "bad-message",
    status: 400,
  },
  {
    what: "a call without an id",
    ...prepare({
      messages: [
        user("a"),
        {
          role: "assistant",
          content: null,
          tool_calls: [{ type: "function", function: { name: SECRET, arguments: "{}" } }],
        },
      ],
    }),
    code: "bad-message",
    status: 400,
  },
  {
    what: "two calls of one id",
    ...prepare({ messages: [user("a"), calls([SECRET, SECRET])] }),
    code: "bad-message",
    status: 400,
  },
  {
    what: "an envelope among the messages",
    ...prepare({ messages: [{ role: "system", content: SECRET }] }),
    code: "system-is-envelope",
    status: 400,
    at: "messages[0]",
  },
  // Items of POST /events.
  { what: "no items", path: "/events", body: {}, ...bad, at: "items" },
  { what: "an item of no kind", ...events({ type: SECRET }), ...bad, at: "items[0].type" },
  {
    what: "an item of a later release",
    ...events({ type: "notes", text: SECRET }),
    ...bad,
    at: "items[0].type",
  },
  { what: "an item without its message", ...events({ type: "message" }), ...bad, at: "items[0].message" },
  { what: "an item that is no object", ...events(SECRET), ...bad, at: "items[0]" },
  {
    what: "an unknown key in an item",
    ...events({ type: "message", message: user("a"), extra: SECRET }),
    ...bad,
    at: "items[0].extra",
  },
  {
    what: "a usage of another dialect",
    ...events({ type: "usage", usage: { input_tokens: 1, output_tokens: 2 } }),
    ...bad,
    at: "items[0].usage",
  },
  {
    what: "a step that was never prepared",
    path: "/events",
    body: { items: [said(reply("a"))], prepareId: SECRET },
    code: "no-step",
    status: 409,
    at: "prepareId",
  },
  {
    what: "a head that is not there",
    path: "/events",
    body: { items: [], expect: 77 },
    code: "stale-head",
    status: 409,
    at: "expect",
  },
  // The other routes.
  { what: "a report without its step", path: "/overflow", body: { status: 400 }, ...bad, at: "prepareId" },
  {
    what: "a status that is none",
    path: "/overflow",
    body: { prepareId: "p1", status: 7 },
    ...bad,
    at: "status",
  },
  { what: "a body where none is taken", path: "/compact", body: { hint: SECRET }, ...bad, at: "hint" },
  {
    what: "a branch at no node",
    path: "/branches",
    body: { from: 999 },
    code: "unknown-node",
    status: 404,
    at: "from",
  },
  {
    what: "a branch at an event that is no node",
    path: "/branches",
    body: { from: 1 },
    code: "unknown-node",
    status: 404,
    at: "from",
  },
  {
    what: "a branch name out of pattern",
    path: "/branches",
    body: { from: 0, name: `-${SECRET}` },
    ...bad,
    at: "name",
  },
  {
    what: "a branch name that is taken",
    path: "/branches",
    body: { from: 0, name: "main" },
    code: "name-taken",
    status: 409,
    at: "name",
  },
  {
    what: "a branch that is not there",
    method: "GET",
    path: `/surface?branch=${SECRET}`,
    code: "unknown-branch",
    status: 404,
    at: "branch",
  },
  {
    what: "a moment before the session",
    method: "GET",
    path: "/surface?at=1",
    code: "not-found",
    status: 404,
    at: "at",
  },
  { what: "a moment that is no number", method: "GET", path: `/surface?at=${SECRET}`, ...bad, at: "at" },
  {
    what: "a Surface in a dialect that nobody speaks",
    method: "GET",
    path: `/surface?dialect=${SECRET}`,
    ...bad,
    at: "dialect",
  },
  { what: "a page of no number", method: "GET", path: "/events?after=-1", ...bad, at: "after" },
  {
    what: "a key that is too long",
    ...prepare({ messages: [] }),
    headers: { "idempotency-key": SECRET.repeat(40) },
    ...bad,
    at: "idempotency-key",
  },
  {
    what: "a method that the path does not take",
    method: "PUT",
    path: "/prepare",
    body: {},
    code: "method-not-allowed",
    status: 405,
  },
  { what: "a path that is not there", path: `/${SECRET}`, body: {}, code: "not-found", status: 404 },
];

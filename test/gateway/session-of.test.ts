import { expect, it } from "vitest";
import type { WireDialect } from "../../src/dialects/wire.ts";
import { Refusal } from "../../src/failure.ts";
import { isId } from "../../src/gateway/routes.ts";
import { sessionOf } from "../../src/gateway/session-of.ts";

const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
const uuid = "fa1f3be2-056a-4034-9811-49d5adbae615";

function named(
  body: unknown,
  { dialect = "openai-chat", path, headers = {}, tenant = "acme" }: Partial<Asked> = {},
) {
  return sessionOf(dialect, path, new Headers(headers), bytes(body), tenant);
}

interface Asked {
  dialect: WireDialect;
  path: string;
  headers: Record<string, string>;
  tenant: string;
}

const hello = { messages: [{ role: "user", content: "hello" }] };

it("[G31] path goes before header, header before the client's own id, that before the first words", () => {
  const headers = { "plimsoll-session": "h1", "session-id": "c1" };
  expect(named(hello, { path: "p1", headers })).toEqual({ id: "p1", by: "path" });
  expect(named(hello, { headers })).toEqual({ id: "h1", by: "header" });
  expect(named(hello, { headers: { "session-id": "c1" } })).toEqual({ id: "c1", by: "client" });
  expect(named(hello).by).toBe("derived");
});

it.each(["", "-a", "a b", "a:b", "a/b", "ü", "x".repeat(129)])(
  "[G31] the named session %j is refused, by path and by header",
  (id) => {
    for (const asked of [{ path: id }, { headers: { "plimsoll-session": id } }]) {
      let code: string | undefined;
      try {
        named(hello, asked);
      } catch (error) {
        code = error instanceof Refusal ? error.failure.code : String(error);
      }
      expect(code).toBe("bad-id");
    }
  },
);

it.each([
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-affinity",
  "x-opencode-session",
  "x-session-id",
  "conversation_id",
])("[G31] the client's %s is the session, also where it can not be an id of ours", (header) => {
  expect(named(hello, { headers: { [header]: uuid } })).toEqual({ id: uuid, by: "client" });
  const odd = named(hello, { headers: { [header]: "ses:1/2 3" } });
  expect([odd.by, isId(odd.id), odd.id.slice(0, 2)]).toEqual(["client", true, "c-"]);
  expect(named(hello, { headers: { [header]: "ses:1/2 4" } }).id).not.toBe(odd.id);
});

it.each([
  ["an object in JSON", JSON.stringify({ device_id: "0", account_uuid: "", session_id: uuid }), uuid],
  ["the older form", `user_19f2_account_a929_session_${uuid}`, uuid],
])("[G31] Claude Code's metadata holds the session: %s", (_, user_id, id) => {
  const body = { metadata: { user_id }, ...hello };
  expect(named(body, { dialect: "anthropic" })).toEqual({ id, by: "client" });
});

it.each(["user-123", '{"session_id":""}', '{"session_id":7}', "{broken", "{}", "null", 7])(
  "[G31] a user id without a session in it is none: %j",
  (user_id) => {
    expect(named({ metadata: { user_id }, ...hello }, { dialect: "anthropic" }).by).toBe("derived");
  },
);

it("[G31] one conversation keeps its derived session as it grows, whatever the dialect and the system prompt", () => {
  const user = (text: string) => ({ role: "user", content: text });
  const block = { type: "text", text: "hello", cache_control: { type: "ephemeral" } };
  const ids = [
    named(hello),
    named({ model: "m", messages: [{ role: "system", content: "s" }, user("hello"), user("more")] }),
    named({ messages: [{ role: "developer", content: "t" }, user("hello")], tools: [] }),
    named({ system: "s", messages: [{ role: "user", content: [block] }] }, { dialect: "anthropic" }),
    named({
      messages: [
        {
          content: [
            { type: "text", text: "hel" },
            { type: "text", text: "lo" },
          ],
          role: "user",
        },
      ],
    }),
    named({ input: "hello" }, { dialect: "openai-responses" }),
    named(
      { input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] }] },
      { dialect: "openai-responses" },
    ),
  ].map(({ id }) => id);
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toMatch(/^d-[A-Za-z0-9_-]{32}$/);
});

it("[G31] another tenant, other words and other pictures are other sessions", () => {
  const picture = (data: string) => ({
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: data } }] }],
  });
  const ids = [
    named(hello),
    named(hello, { tenant: "globex" }),
    named(hello, { tenant: "acmehello" }),
    named({ messages: [{ role: "user", content: "hello " }] }),
    named(picture("data:a")),
    named(picture("data:b")),
    named({ messages: [] }),
    named({}),
    named({ messages: "hello" }),
    named({ messages: [1, "user", null] }),
    named([1]),
  ].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(isId(id)).toBe(true);
});

it.each([
  "",
  "{",
  '{"messages":',
  '{"messages":[{"role":"user"',
  "[",
  "nope",
  '{"messages":[}',
  '{"a" 1}',
  "\u0000",
])("[G31] a body that is no JSON is refused with its place: %j", (body) => {
  expect(() => named(body)).toThrow(
    expect.objectContaining({ failure: expect.objectContaining({ code: "bad-json" }) }),
  );
});

/** What is only passed on, only looked at, or only counted; and two dialects in one session. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asking, callers, chat, user } from "./callers.ts";
import { auditOf, json, messagesOf, startThrough, type Through } from "./through.ts";

let through: Through;
beforeAll(async () => {
  through = await startThrough();
}, 60_000);
afterAll(() => through.stop());

const { url, events, types, openai, anthropic, post } = callers(() => through);

describe("a request that is not managed", () => {
  const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };

  it("[G48] an illegal history gets the provider's verdict; nothing is accepted, and the branch goes on", async () => {
    const reply = await openai("illegal").chat.completions.create(asking("hello"));
    const good = [user("hello"), reply.choices[0]!.message];
    const bad = [...good, { role: "assistant", content: null, tool_calls: [call] }, user("no result")];
    const refused = await post("illegal", chat, { model: "strict-1", messages: bad });
    expect(refused.status).toBe(400);
    expect(refused.headers.get("plimsoll-managed")).toBe("0");
    expect(((await refused.json()) as { error: { message: string } }).error.message).toContain("tool_calls");
    expect(await types("illegal")).toContain("request/unmanaged");
    await openai("illegal").chat.completions.create({
      model: "strict-1",
      messages: [...good, user("go on")] as never,
    });
    const { branches } = await json<{ branches: unknown[] }>(url("illegal", "/branches"));
    expect(branches.length).toBe(1);
  });

  it("[G73] a history that lives at the provider is passed on, and logged as such", async () => {
    const body = { model: "strict-1", input: "hello", previous_response_id: "resp_unknown" };
    const response = await post("foreign", "/openai/v1/responses", body);
    expect(response.headers.get("plimsoll-managed")).toBe("0");
    const last = (await events("foreign")).at(-1)!;
    expect([last.type, last.body.because]).toEqual(["request/unmanaged", "unknown-response"]);
  });

  it("[G74] in shadow mode the bytes go out unchanged, and the log tells what would have been done", async () => {
    const policy = { mode: "shadow", thresholdRatio: 0.05 };
    await fetch(url("shadow", "/"), {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ dialect: "openai-chat", policy }),
    });
    const past = Array.from({ length: 6 }, (_, n) => [
      user(`${n} ${"word ".repeat(300)}`),
      { role: "assistant", content: `yes ${n} ${"word ".repeat(200)}` },
    ]).flat();
    const messages = [...past, user("go")];
    expect((await post("shadow", chat, { model: "strict-1", messages })).status).toBe(200);
    expect(messagesOf(through.asked.at(-1)!)).toEqual(messages);
    const shadow = (await events("shadow")).find(({ type }) => type === "request/shadow");
    expect(shadow?.body).toMatchObject({ route: "openai/strict-1", prunes: [] });
    expect((shadow!.body.span as { count: number }).count).toBeGreaterThan(1);
    expect(await types("shadow")).not.toContain("surface/replace");
  });

  it("[G75] off keeps nothing", async () => {
    const policy = { mode: "off" };
    await fetch(url("off", "/"), {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ dialect: "openai-chat", policy }),
    });
    const before = (await events("off")).length;
    const response = await post("off", chat, asking("hello"));
    expect([response.status, response.headers.get("plimsoll-managed")]).toEqual([200, "0"]);
    expect((await events("off")).length).toBe(before);
  });
});

describe("numbers", () => {
  it("[G76] count_tokens counts what would be sent, writes nothing, and needs no session", async () => {
    const request = { model: "strict-1", messages: [user("How many are these?")] };
    const none = await anthropic("nobody").messages.countTokens(request);
    expect(none.input_tokens).toBeGreaterThan(5);
    expect((await fetch(url("nobody", "/"))).status).toBe(404);
    const reply = await anthropic("counted").messages.create({ ...request, max_tokens: 100 });
    const end = (await events("counted")).length;
    const next = {
      model: "strict-1",
      messages: [
        ...request.messages,
        { role: "assistant" as const, content: reply.content },
        user("And now?"),
      ],
    };
    const more = await anthropic("counted").messages.countTokens(next);
    expect(more.input_tokens).toBeGreaterThan(none.input_tokens);
    expect((await events("counted")).length).toBe(end);
  });

  it("[G77] two dialects in one session are branches of their own", async () => {
    await openai("both").chat.completions.create(asking("hello"));
    await anthropic("both").messages.create({
      model: "strict-1",
      max_tokens: 100,
      messages: [user("hello")],
    });
    await openai("both").responses.create({ model: "strict-1", input: "hello" });
    const { branches } = await json<{ branches: { branch: string }[] }>(url("both", "/branches"));
    expect(branches.length).toBe(3);
    for (const { branch } of branches) {
      const { messages } = await json<{ messages: { content: unknown }[] }>(
        url("both", `/surface?branch=${branch}`),
      );
      expect(messages.length).toBeGreaterThan(1);
    }
    expect(await auditOf(through.server, "both")).toMatchObject({ ok: true, drift: [] });
  });
});

describe("a list that names items of earlier replies", () => {
  it("[G79] gets them from the log; a name that nobody knows is the provider's to judge", async () => {
    const client = openai("references");
    const first = await client.responses.create({ model: "strict-1", input: "hello" });
    const references = first.output.map(({ id }) => ({ type: "item_reference" as const, id: id ?? "" }));
    const input = [
      { role: "user" as const, content: "hello" },
      ...references,
      { role: "user" as const, content: "go on" },
    ];
    await client.responses.create({ model: "strict-1", input });
    const sent = messagesOf(through.asked.at(-1)!) as { type?: string }[];
    expect(sent.map(({ type }) => type)).not.toContain("item_reference");
    expect(sent.length).toBe(2 + first.output.length);
    const { branches } = await json<{ branches: unknown[] }>(url("references", "/branches"));
    expect(branches.length).toBe(1);
    const unknown = [{ type: "item_reference", id: "msg_nobody" }, user("go on")];
    const response = await post("references", "/openai/v1/responses", { model: "strict-1", input: unknown });
    expect(response.headers.get("plimsoll-managed")).toBe("0");
  });
});

describe("a list that goes on from a named reply", () => {
  it("[G79] stands behind that reply, however its bytes begin", async () => {
    const client = openai("named");
    const first = await client.responses.create({ model: "strict-1", input: "first" });
    const second = await client.responses.create({ model: "strict-1", input: "second" });
    const input = [{ role: "user" as const, content: "go on" }];
    const texts: string[] = [];
    for (const { id } of [first, second]) {
      const reply = await client.responses.create({ model: "strict-1", input, previous_response_id: id });
      expect(reply.status).toBe("completed");
      texts.push(JSON.stringify(messagesOf(through.asked.at(-1)!)));
      expect(through.asked.at(-1)!.body.previous_response_id).toBeUndefined();
    }
    expect(texts.map((text) => [text.includes("first"), text.includes("second")])).toEqual([
      [true, false],
      [false, true],
    ]);
  });
});

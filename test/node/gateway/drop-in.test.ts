/** The drop-in endpoints from outside: the vendors' clients, a strict provider over HTTP, and what is left in the log. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asking, callers, chat, user } from "./callers.ts";
import { auditOf, json, startThrough, type Through } from "./through.ts";

let through: Through;
beforeAll(async () => {
  through = await startThrough();
}, 60_000);
afterAll(() => through.stop());

const { url, events, types, openai, anthropic, post, settle } = callers(() => through);

describe("a step", () => {
  it("[G65] tells where it stands in headers, and the reply is the provider's", async () => {
    const { data, response } = await openai("headers")
      .chat.completions.create(asking("hello"))
      .withResponse();
    expect(data.choices[0]?.message.content).toBeTruthy();
    expect(response.headers.get("plimsoll-session")).toBe("headers");
    expect(response.headers.get("plimsoll-generation")).toBe("0");
    expect(response.headers.get("plimsoll-pressure")).toMatch(/^\d+;estimate$/);
    expect(response.headers.get("plimsoll-step")).toMatch(/^p\d+$/);
    expect(await types("headers")).toEqual([
      "session/created",
      "branch/opened",
      "session/configured",
      "message/user",
      "step/start",
      "usage/reported",
      "message/assistant",
      "step/end",
    ]);
  });

  it("[G66] streams: the usage chunk is asked for, and kept from a client that did not ask", async () => {
    const chunks: unknown[] = [];
    for await (const chunk of await openai("usage").chat.completions.create({
      ...asking("hello"),
      stream: true,
    })) {
      chunks.push(chunk);
    }
    const asked = through.asked.at(-1)!;
    expect(asked.body.stream_options).toEqual({ include_usage: true });
    expect(chunks.some((chunk) => (chunk as { choices: unknown[] }).choices.length === 0)).toBe(false);
    expect(await types("usage")).toContain("usage/reported");
    const told: unknown[] = [];
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    for await (const chunk of await openai("usage2").chat.completions.create({
      ...asking("hello"),
      ...options,
    }))
      told.push(chunk);
    expect((told.at(-1) as { usage: unknown }).usage).toBeTruthy();
  });

  it("[G67] an overflow is recovered inside the call, before and inside a stream, in each dialect", async () => {
    const past = Array.from({ length: 40 }, (_, n) => [
      user(`question ${n} ${"word ".repeat(60)}`),
      { role: "assistant" as const, content: `answer ${n} ${"word ".repeat(60)}` },
    ]).flat();
    const messages = [...past, user("and now?")];
    for (const stream of [false, true]) {
      through.provider.will(...(stream ? [{ do: "error-event" as const, after: 1, overflow: true }] : []));
      const session = `recover-${stream}`;
      if (!stream) through.provider.will({ do: "status", status: 500 });
      const before = through.asked.length;
      const response = await post(session, chat, { model: "strict-1", messages, stream });
      const text = await response.text();
      if (!stream) {
        // Not ours to mend: the provider's own answer.
        expect(response.status).toBe(500);
        continue;
      }
      expect(response.status).toBe(200);
      expect(text).toContain("[DONE]");
      expect(text).not.toContain("context_length_exceeded");
      expect(through.asked.length - before).toBeGreaterThanOrEqual(2);
      const log = await types(session);
      expect(log.filter((type) => type === "step/end").length).toBe(1);
      expect(log).toContain("surface/replace");
      expect(log).toContain("step/failed");
      expect(await auditOf(through.server, session)).toMatchObject({ ok: true, drift: [] });
    }
  });

  it("[G68] what the provider refuses passes with its own words and headers, and nothing is accepted", async () => {
    through.provider.will({
      do: "status",
      status: 429,
      headers: { "retry-after": "7", "x-ratelimit-remaining-requests": "0" },
    });
    const refused = await post("limits", chat, asking("hello"));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("7");
    expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const error = await openai("limits")
      .chat.completions.create(asking("hello", { model: "nowhere/x" }))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect((error as Error).message).toContain("Configured providers");
    const again = await post("limits", chat, asking("hello"));
    expect(again.status).toBe(200);
    const log = await events("limits");
    expect(log.filter(({ type }) => type === "message/user").length).toBe(1);
    expect(log.filter(({ type }) => type === "step/failed").length).toBe(1);
  });

  it("[G69] a request that can not fit is refused as the dialect's own provider would", async () => {
    const huge = "word ".repeat(40_000);
    const error = await openai("huge")
      .chat.completions.create(asking(huge))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect((error as { code: string }).code).toBe("context_length_exceeded");
    const other = await anthropic("huge")
      .messages.create({ model: "strict-1", max_tokens: 100, messages: [user(huge)] })
      .catch((thrown: unknown) => thrown);
    expect(other).toBeInstanceOf(Anthropic.BadRequestError);
    expect((other as Error).message).toMatch(/prompt is too long: \d+ tokens > \d+ maximum/);
  });

  it("[G70] the output cap gives way before anything is dropped", async () => {
    const messages = [user(`${"word ".repeat(18_000)}`)];
    const response = await post(
      "clamp",
      "/anthropic/v1/messages",
      { model: "strict-1", max_tokens: 20_000, messages },
      { "anthropic-version": "2023-06-01" },
    );
    expect(response.status).toBe(200);
    expect(through.asked.at(-1)!.body.max_tokens).toBeLessThan(20_000);
    expect(await types("clamp")).not.toContain("surface/replace");
  });
});

describe("a request that comes again", () => {
  it("[G71] with the same Idempotency-Key gets the stored reply; with another body it is refused", async () => {
    const headers = { "idempotency-key": "k1" };
    const first = await (await post("retry", chat, asking("hello"), headers)).json();
    const before = through.provider.stats().answered;
    const again = await post("retry", chat, asking("hello"), headers);
    expect(await again.json()).toMatchObject({
      id: (first as { id: string }).id,
      choices: (first as { choices: unknown }).choices,
    });
    expect(again.headers.get("plimsoll-replayed")).toBe("1");
    expect(through.provider.stats().answered).toBe(before);
    expect((await post("retry", chat, asking("other"), headers)).status).toBe(422);
  });

  it("[G71] from an SDK that says that it tries again joins the running step", async () => {
    through.provider.will({ do: "slow", everyMs: 60 });
    const body = asking("slowly", { stream: true });
    const first = post("join", chat, body);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const second = post("join", chat, body, { "x-stainless-retry-count": "1" });
    const [a, b] = await Promise.all([(await first).text(), (await second).text()]);
    expect(b).toBe(a);
    expect((await types("join")).filter((type) => type === "step/start").length).toBe(1);
  });

  it("[G71] without a proof is a new sample: a sibling on a branch of its own", async () => {
    await post("sibling", chat, asking("hello"));
    await post("sibling", chat, asking("hello"));
    const { branches } = await json<{ branches: unknown[] }>(url("sibling", "/branches"));
    expect(branches.length).toBe(2);
  });

  it("[G72] POST /cancel stops a step at once", async () => {
    through.provider.will({ do: "hang" });
    const running = post("cancel", chat, asking("hello"));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await fetch(url("cancel", "/cancel"), { method: "POST" });
    expect((await running).status).toBe(499);
    await settle("cancel");
    expect(await types("cancel")).toContain("step/cancelled");
    expect((await post("cancel", chat, asking("hello"))).status).toBe(200);
    expect(await auditOf(through.server, "cancel")).toMatchObject({ ok: true, drift: [] });
  });

  it("[G46] of several choices the one that is sent again becomes the line", async () => {
    const reply = await openai("choices").chat.completions.create(asking("hello", { n: 2 }));
    expect(reply.choices.length).toBe(2);
    const messages = [user("hello"), reply.choices[1]!.message, user("go on")];
    await openai("choices").chat.completions.create({ model: "strict-1", messages });
    const { branches } = await json<{ branches: unknown[] }>(url("choices", "/branches"));
    expect(branches.length).toBe(1);
    expect(await auditOf(through.server, "choices")).toMatchObject({ ok: true, drift: [] });
  });
});

describe("a stream that breaks", () => {
  it.each(["die", "cut"] as const)(
    "[G78] %s: the client sees a break, the log a failed step, and the next request goes on",
    async (how) => {
      through.provider.will({ do: how, after: 3 });
      const session = `broken-${how}`;
      const text = await post(session, chat, asking("hello", { stream: true }))
        .then(
          (response) => response.text(),
          () => "broken",
        )
        .catch(() => "broken");
      expect(text).not.toContain("[DONE]");
      await settle(session);
      const log = await types(session);
      expect(log).toContain("step/failed");
      expect(log).not.toContain("message/assistant");
      expect((await post(session, chat, asking("hello"))).status).toBe(200);
      expect(await auditOf(through.server, session)).toMatchObject({ ok: true, drift: [] });
    },
  );
});

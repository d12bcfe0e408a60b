import { describe, expect, it } from "vitest";
import { callModel, createCallModel, defaultLimits } from "../../src/providers/call.ts";
import type { Behaviour } from "../support/strict-provider.ts";
import { bodyFor, dialects, failure, trial, upstreamFor } from "./trial.ts";

const each = it.each(dialects);

describe("a call that gets garbage", () => {
  const cases: [what: string, behaviour: Behaviour, reason: string, retryable: boolean][] = [
    ["a page", { do: "garbage", body: "<html>hi</html>", contentType: "text/html" }, "garbage", false],
    [
      "a JSON answer",
      { do: "garbage", body: '{"choices":[]}', contentType: "application/json" },
      "garbage",
      false,
    ],
    ["a page that says it is a stream", { do: "garbage", body: "<html>hi</html>" }, "garbage", false],
    ["broken JSON", { do: "garbage", body: 'data: {"choices":[{\n\n' }, "garbage", false],
    [
      "bytes that are no text",
      { do: "garbage", body: new Uint8Array([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 10, 10]) },
      "garbage",
      false,
    ],
    ["nothing", { do: "garbage", body: "" }, "garbage", false],
    ["an end without an end", { do: "cut", after: "Half a summ" }, "garbage", false],
    ["a broken connection", { do: "die", after: "Half a summ" }, "stream", true],
    ["no connection", { do: "unreachable" }, "network", true],
  ];

  for (const dialect of dialects) {
    it.each(cases)(
      `[V15] fails and keeps nothing (${dialect}): %s`,
      async (_, behaviour, reason, retryable) => {
        const { result } = await trial({ dialect, will: [behaviour] });
        expect(failure(result)).toMatchObject({ reason, retryable });
        expect(failure(result).detail).not.toContain("Half");
        expect(failure(result).detail).not.toContain("llm.example");
      },
    );
  }

  each("[V15] stops reading %s at the byte cap", async (dialect) => {
    const call = createCallModel({ ...defaultLimits, replyBytes: 2_000 });
    const { result, provider } = await trial({
      dialect,
      call,
      will: [{ do: "drip", text: "x".repeat(50_000), everyMs: 0 }],
    });
    expect(failure(result)).toMatchObject({ reason: "garbage", retryable: false });
    expect(provider.requests[0]!.aborted).toBe(true);
  });

  it("[V15] reads a line of megabytes that comes in small pieces in linear time", async () => {
    const delta = { content: "y".repeat(2_000_000) };
    const choices = [{ index: 0, delta, finish_reason: "stop" }];
    const event = `data: ${JSON.stringify({ choices })}\n\n`;
    const bytes = new TextEncoder().encode(event);
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) controller.close();
        else controller.enqueue(bytes.subarray(at, at + 512));
        at += 512;
      },
    });
    const started = Date.now();
    const result = await callModel(upstreamFor("openai-chat"), bodyFor(), {
      signal: new AbortController().signal,
      timeoutMs: 20_000,
      fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    });
    expect(result.ok && result.reply.text.length).toBe(2_000_000);
    expect(Date.now() - started).toBeLessThan(5_000);
  });

  it("[V15] a body that is no JSON object is not sent", async () => {
    const { result, provider } = await trial({
      dialect: "openai-chat",
      body: new TextEncoder().encode("nonsense"),
    });
    expect(failure(result)).toMatchObject({ reason: "garbage", retryable: false });
    expect(provider.requests).toHaveLength(0);
  });
});

describe("a call that takes too long", () => {
  const quick = createCallModel({ ...defaultLimits, idleMs: 60 });

  each("[V16] %s that never answers ends at the deadline", async (dialect) => {
    const { result, provider } = await trial({ dialect, will: [{ do: "hang" }], timeoutMs: 60 });
    expect(failure(result)).toMatchObject({ reason: "timeout", retryable: true });
    expect(failure(result).ms).toBeGreaterThanOrEqual(55);
    expect(failure(result).ms).toBeLessThan(2_000);
    expect(provider.requests[0]!.aborted).toBe(true);
  });

  each("[V16] %s that falls silent ends at the idle limit, before the deadline", async (dialect) => {
    for (const behaviour of [{ do: "hang" }, { do: "stall", after: "Half" }] as const) {
      const { result, provider } = await trial({
        dialect,
        call: quick,
        will: [behaviour],
        timeoutMs: 10_000,
      });
      expect(failure(result)).toMatchObject({ reason: "timeout", retryable: true });
      expect(failure(result).detail).toContain("silent");
      expect(failure(result).ms).toBeLessThan(5_000);
      expect(provider.requests[0]!.aborted).toBe(true);
    }
  });

  each("[V16] %s that drips is not idle, but the deadline still holds", async (dialect) => {
    const text = "drip ".repeat(12);
    const drip = { do: "drip", text, everyMs: 25 } as const;
    const patient = await trial({
      dialect,
      call: createCallModel({ ...defaultLimits, idleMs: 200 }),
      will: [drip],
    });
    expect(patient.result).toMatchObject({ ok: true, reply: { text } });
    const strict = await trial({
      dialect,
      call: quick,
      will: [{ ...drip, text: text.repeat(20) }],
      timeoutMs: 150,
    });
    expect(failure(strict.result)).toMatchObject({ reason: "timeout" });
    expect(failure(strict.result).detail).toContain("deadline");
  });

  it("[V16] a fetch that ignores the abort can not hold the call", async () => {
    const result = await callModel(upstreamFor("anthropic"), bodyFor(), {
      signal: new AbortController().signal,
      timeoutMs: 40,
      fetch: () => new Promise<Response>(() => undefined),
    });
    expect(failure(result)).toMatchObject({ reason: "timeout", retryable: true });
  });
});

describe("a call that is cancelled", () => {
  each("[V17] ends %s at once, whatever it was waiting for", async (dialect) => {
    for (const behaviour of [{ do: "hang" }, { do: "stall", after: "Half" }] as const) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 30);
      const { result, provider } = await trial({ dialect, will: [behaviour], signal: controller.signal });
      expect(failure(result)).toMatchObject({ reason: "cancelled", retryable: false });
      expect(failure(result).ms).toBeLessThan(2_000);
      expect(provider.requests[0]!.aborted).toBe(true);
    }
  });

  it("[V17] lets go of an answer that comes too late", async () => {
    let dropped = false;
    const body = new ReadableStream({
      cancel() {
        dropped = true;
      },
    });
    const late = new Promise<Response>((resolve) => setTimeout(() => resolve(new Response(body)), 60));
    const options = { signal: AbortSignal.timeout(20), timeoutMs: 5_000, fetch: () => late };
    const result = await callModel(upstreamFor("anthropic"), bodyFor(), options);
    expect(failure(result).reason).toBe("cancelled");
    await late;
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(dropped).toBe(true);
  });

  it("[V17] before it began is told as cancelled", async () => {
    const { result, provider } = await trial({ dialect: "anthropic", signal: AbortSignal.abort() });
    expect(failure(result)).toMatchObject({ reason: "cancelled", retryable: false });
    expect(provider.requests).toHaveLength(0);
  });
});

/** The object dies while it waits for a model, is evicted, or is woken by its alarm: nothing acknowledged is lost, nothing stays open. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GRACE_MS } from "../../src/log/repair.ts";
import { Harness } from "../support/harness.ts";
import { repeats, runs } from "../support/runs.ts";

beforeEach(() => {
  // The gateway reports each death; that is not what is looked at here.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const command = { "idempotency-key": "command-1" };

describe("an object that dies inside a summary call", () => {
  it("[T11] has its claim closed as interrupted on the first touch, and goes on", async () => {
    const harness = await Harness.open();
    await harness.fill();
    harness.provider.will({ do: "hang" });
    const { over } = await harness.hanging(() => harness.prepare());
    expect(await harness.running()).toMatchObject([{ kind: "compaction" }]);
    const before = await harness.rows();

    await harness.crash();
    expect(await over).toHaveProperty("error");
    expect(await harness.rows()).toEqual(before);
    expect(await harness.running()).toEqual([]);
    expect(await harness.ends()).toEqual(["interrupted"]);
    await harness.checkWhole();

    const prepared = await harness.prepare();
    expect(prepared.compaction).toMatchObject({ outcome: "done", rungs: ["summary"] });
    await harness.checkWhole();
  });

  it("[T11] does so too when the platform resets that one object", async () => {
    const harness = await Harness.open();
    await harness.fill();
    harness.provider.will({ do: "hang" });
    const { over } = await harness.hanging(() => harness.prepare());
    const reset = runInDurableObject(harness.session.stub(), (_, state) =>
      state.abort("reset by the platform"),
    );
    await expect(reset).rejects.toThrow("reset by the platform");
    expect(await over).toHaveProperty("error");
    await harness.wake();
    expect(await harness.running()).toEqual([]);
    expect(await harness.ends()).toEqual(["interrupted"]);
    await harness.checkWhole();
  });

  it("[T12] a reply that comes after the death commits nothing", async () => {
    const harness = await Harness.open();
    await harness.fill();
    let answer: (response: Response) => void = () => undefined;
    const late = new Promise<Response>((resolve) => {
      answer = resolve;
    });
    const seen = vi.spyOn(globalThis, "fetch").mockImplementation(() => late);
    const over = harness.prepare().catch((error: unknown) => error);
    await expect.poll(() => seen.mock.calls.length).toBe(1);
    await harness.crash();
    expect(await over).toBeInstanceOf(Error);
    expect(await harness.running()).toEqual([]);
    const after = await harness.rows();
    const line = {
      choices: [{ delta: { content: "A summary that comes too late." }, finish_reason: "stop" }],
    };
    answer(
      new Response(`data: ${JSON.stringify(line)}\n\ndata: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream" },
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await harness.rows()).toEqual(after);
    vi.spyOn(globalThis, "fetch").mockImplementation(harness.provider.fetch);
    await harness.checkWhole();
  });

  it("[T12] a manual compaction that died can be asked for again under the same command", async () => {
    const harness = await Harness.open();
    await harness.fill(8);
    harness.provider.will({ do: "hang" });
    const compact = () => harness.session.request("POST", "/compact", undefined, command);
    const { over } = await harness.hanging(compact);
    await harness.crash();
    await over;
    const again = await compact();
    expect(again.status).toBe(200);
    const outcome = await again.json<{ commandId: string; summarySeq: number }>();
    expect(outcome).toMatchObject({ commandId: "command-1", summarySeq: expect.any(Number) });
    expect(await harness.ends()).toEqual(["interrupted", "done"]);
    const repeated = await compact();
    expect(await repeated.json()).toEqual(outcome);
    expect(await harness.ends()).toEqual(["interrupted", "done"]);
    await harness.checkWhole();
  });

  it("[T13] is woken by the alarm, which closes the claim of the dead instance and rings no more", async () => {
    const harness = await Harness.open();
    await harness.fill();
    harness.provider.will({ do: "hang" });
    const { over } = await harness.hanging(() => harness.prepare());
    const claimed = (await harness.rows()).find(({ type }) => type === "compaction/start")!;
    const { deadline } = claimed.meta as { deadline: number };
    expect(await harness.alarm()).toBe(deadline + GRACE_MS);
    await harness.crash();
    await over;
    expect(await harness.ends()).toEqual([]);
    expect(await harness.alarm()).toBe(deadline + GRACE_MS);
    expect(await runDurableObjectAlarm(harness.session.stub())).toBe(true);
    expect(await harness.ends()).toEqual(["interrupted"]);
    expect(await harness.alarm()).toBeNull();
    await harness.checkWhole();
  });

  it("[T7] three deaths in a row use up the budget of paid summaries, so that a crash loop ends in code", async () => {
    const harness = await Harness.open();
    await harness.fill();
    for (let death = 0; death < 3; death++) {
      harness.provider.will({ do: "hang" });
      const { over } = await harness.hanging(() => harness.prepare());
      await harness.crash();
      await over;
    }
    const calls = harness.provider.requests.length;
    const prepared = await harness.prepare();
    expect(prepared.compaction).toMatchObject({ outcome: "done", rungs: ["extractive"] });
    expect(harness.provider.requests.length).toBe(calls);
    await harness.checkWhole();
  });
});

describe("a prepared step", () => {
  it("[T14] survives an eviction: its reply is taken by the next instance", async () => {
    const harness = await Harness.open();
    const { prepareId } = await harness.prepare();
    await evictDurableObject(harness.session.stub());
    expect(await harness.running()).toMatchObject([{ kind: "step", id: prepareId }]);
    const message = harness.reply();
    const usage = { prompt_tokens: 40, completion_tokens: 20, total_tokens: 60 };
    const items = [
      { type: "message", message },
      { type: "usage", usage },
    ];
    await harness.session.expect(200, "POST", "/events", { prepareId, items });
    harness.acknowledged.push(JSON.stringify(message));
    expect(await harness.running()).toEqual([]);
    await evictDurableObject(harness.session.stub());
    const { pressure } = await harness.session.expect<{ pressure: object }>(200, "GET", "/");
    expect(pressure).toMatchObject({ tokens: 60, source: "usage" });
    await harness.checkWhole();
  });

  it("[T14] survives a crash", async () => {
    const harness = await Harness.open();
    const { prepareId } = await harness.prepare();
    await harness.crash();
    expect(await harness.running()).toMatchObject([{ kind: "step", id: prepareId }]);
    await harness.checkWhole();
  });

  it("[T13] is closed by the alarm at its deadline, and not before", async () => {
    const harness = await Harness.open();
    const { prepareId } = await harness.prepare();
    const start = (await harness.rows()).find(({ type }) => type === "step/start")!;
    const { deadline } = start.meta as { deadline: number };
    expect(await harness.alarm()).toBe(deadline);
    const closed = async () =>
      (await harness.rows()).filter(({ type }) => type === "step/aborted").map(({ meta }) => meta);

    expect(await runDurableObjectAlarm(harness.session.stub())).toBe(true);
    expect([await closed(), await harness.alarm()]).toEqual([[], deadline]);
    vi.useFakeTimers({ toFake: ["Date"], now: deadline });
    expect(await runDurableObjectAlarm(harness.session.stub())).toBe(true);
    expect(await closed()).toEqual([{ step: Number(prepareId.slice(1)), reason: "deadline" }]);
    expect([await harness.running(), await harness.alarm()]).toEqual([[], null]);
    const items = [{ type: "message", message: harness.reply() }];
    const late = await harness.session.request("POST", "/events", { prepareId, items });
    expect([late.status, (await late.json<{ code: string }>()).code]).toEqual([409, "stale-head"]);
    await harness.checkWhole();
  });

  it("[T13] is closed by the next touch when no alarm came", async () => {
    const harness = await Harness.open();
    await harness.prepare();
    const deadline = (await harness.alarm())!;
    await harness.crash();
    vi.useFakeTimers({ toFake: ["Date"], now: deadline + 1 });
    expect(await harness.running()).toEqual([]);
    expect((await harness.rows()).at(-1)).toMatchObject({
      type: "step/aborted",
      meta: { reason: "deadline" },
    });
    await harness.checkWhole();
  });
});

describe("a session that dies again and again", () => {
  const deed = fc.record({
    do: fc.constantFrom("say", "say", "prepare", "prepare", "compact", "crash", "crash", "evict"),
    dies: fc.boolean(),
    size: fc.nat(900),
  });

  it("[T15] holds each acknowledged message once and in order, whenever it died, if the client asks again by key", {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 8, maxLength: 20 }), async (deeds) => {
        const harness = await Harness.open();
        await harness.fill(16);
        let keys = 0;
        /** Asks until it is answered; the first time the object may die meanwhile. */
        const ask = async (path: string, body: object | undefined, dies: boolean): Promise<number> => {
          const headers = { "idempotency-key": `key-${++keys}` };
          harness.deaf = dies;
          const send = async () => {
            const response = await harness.session.request("POST", path, body, headers);
            await response.arrayBuffer();
            return response.status;
          };
          const first = send().catch(() => 500);
          if (dies) await new Promise((resolve) => setTimeout(resolve, 3));
          if (dies) await harness.crash();
          harness.deaf = false;
          const status = await first;
          return status < 500 ? status : await send();
        };
        for (const { do: what, dies, size } of deeds) {
          const message = harness.user(size);
          const body = {
            items: [
              { type: "message", message },
              { type: "message", message: harness.reply(size) },
            ],
          };
          if (what === "crash") await harness.crash();
          else if (what === "evict")
            await evictDurableObject(harness.session.stub()).then(() => harness.wake());
          else if (what === "compact") await ask("/compact", undefined, dies);
          else if (what === "say") {
            expect(await ask("/events", body, dies)).toBe(200);
            harness.acknowledged.push(...body.items.map((item) => JSON.stringify(item.message)));
          } else {
            expect(await ask("/prepare", { messages: [message] }, dies)).toBe(200);
            harness.acknowledged.push(JSON.stringify(message));
          }
        }
        await harness.checkWhole();
      }),
      { ...runs(6), endOnFailure: !repeats },
    );
  });
});

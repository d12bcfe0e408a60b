import { describe, expect, it } from "vitest";
import { utf8Bytes } from "../../src/log/json-edit.ts";
import type { Dispatched } from "../../src/providers/dispatch.ts";
import { Flight } from "../../src/turn/flight.ts";
import { runTurn, type TurnWork } from "../../src/turn/run-turn.ts";

const frame = (value: unknown) => utf8Bytes(`data: ${JSON.stringify(value)}\n\n`);
const delta = (content: string, finish_reason: string | null = null) =>
  frame({ choices: [{ index: 0, delta: { content }, finish_reason }] });

/** An answer of a provider; a function among its chunks is called in its turn. */
function sent(status: number, streams: boolean, chunks: (Uint8Array | (() => void))[]): Dispatched {
  const bytes = chunks.filter((chunk) => typeof chunk !== "function");
  return {
    status,
    streams,
    headers: new Headers(),
    whole: async () => bytes[0]!,
    async *chunks() {
      for (const chunk of chunks) {
        if (typeof chunk === "function") chunk();
        else yield chunk;
      }
    },
  } as Dispatched;
}

/** Work that only notes what was asked of it. */
function workOf(answers: Dispatched[], more: Partial<TurnWork> = {}) {
  const deeds: string[] = [];
  const shown: string[] = [];
  const work: TurnWork = {
    dialect: "openai-chat",
    choices: 1,
    retries: 0,
    retry: async () => false,
    hidesUsage: false,
    send: async () => answers.shift()!,
    judge: () => "other",
    recover: async () => false,
    unbind: () => false,
    show: (frame) => void shown.push(new TextDecoder().decode(frame)),
    overflowed: () => false,
    store: () => deeds.push("store"),
    fail: (reason) => deeds.push(`fail ${reason}`),
    abort: (why) => deeds.push(`abort ${why}`),
    headers: () => ({}),
    brokenAnswer: (why) => ({ status: 502, body: utf8Bytes(why), headers: {} }),
    errorFrame: (why) => utf8Bytes(`error ${why}`),
    ...more,
  };
  return { work, deeds, shown };
}

const flightOf = (graceMs = 5) =>
  new Flight({ digest: "d", key: undefined, streams: true, abandons: true, graceMs });

const refusal = () => sent(400, false, [utf8Bytes('{"error":{}}')]);

describe("a step on its way", () => {
  it("[W11] shows what a reply says to whoever looks on, and none of what is not kept", async () => {
    const flight = flightOf();
    const failing = utf8Bytes('data: {"error":{"message":"no"}}\n\n');
    const { work, shown } = workOf(
      [sent(200, true, [failing]), sent(200, true, [delta("a"), delta("b", "stop")])],
      { judge: () => "overflow", recover: async () => true },
    );
    const early = flight.join();
    await runTurn(work, flight);
    await (await early).text();
    expect(shown).toHaveLength(2);
    expect(shown.join("")).not.toContain("error");
  });

  it("[V35] stores once and gives late clients the whole stream", async () => {
    const flight = flightOf();
    const { work, deeds } = workOf([sent(200, true, [delta("a"), delta("b", "stop")])]);
    const early = flight.join();
    await runTurn(work, flight);
    expect(deeds).toEqual(["store"]);
    const text = await (await early).text();
    expect(await (await flight.join()).text()).toBe(text);
    expect(text).toContain('"b"');
  });

  it("[V35] that breaks off is no whole stream for those that join later either", async () => {
    const flight = flightOf();
    const { work, deeds } = workOf([sent(200, true, [delta("a")])]);
    await runTurn(work, flight);
    expect(deeds).toEqual(["fail stream"]);
    await expect((await flight.join()).text()).rejects.toThrow("broke off");
  });

  it("[V35] stopped while it recovers ends once, as stopped", async () => {
    for (const again of [true, false]) {
      for (const answer of [refusal(), sent(200, false, [utf8Bytes('{"choices":[]}')])]) {
        const flight = flightOf();
        const recover = async () => {
          flight.abort.abort("cancelled");
          return again;
        };
        const { work, deeds } = workOf([answer, refusal()], {
          recover,
          judge: () => "overflow",
          overflowed: () => true,
        });
        await runTurn(work, flight);
        expect(deeds).toEqual(["abort cancelled"]);
        expect((await flight.join()).status).toBe(502);
      }
    }
  });

  it("[V35] refused behind pings is told inside the stream", async () => {
    const flight = flightOf();
    flight.commit({});
    flight.ping(utf8Bytes(": ping\n\n"));
    const { work, deeds } = workOf([refusal()]);
    await runTurn(work, flight);
    expect(deeds).toEqual(["fail refused"]);
    expect(await (await flight.join()).text()).toBe(': ping\n\nerror {"error":{}}');
  });

  it("[V35] answered whole behind pings goes on as a stream", async () => {
    const flight = flightOf();
    flight.commit({});
    flight.ping(utf8Bytes(": ping\n\n"));
    const message = { role: "assistant", content: "all at once" };
    const whole = { id: "c1", model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] };
    const { work, deeds } = workOf([sent(200, false, [utf8Bytes(JSON.stringify(whole))])]);
    await runTurn(work, flight);
    expect(deeds).toEqual(["store"]);
    const text = await (await flight.join()).text();
    expect(text).toMatch(/^: ping\n\ndata: /);
    expect(text).toContain("all at once");
    expect(text).toContain("[DONE]");
  });

  it("[V35] garbage behind pings breaks the stream off, and no one waits for ever", async () => {
    const flight = flightOf();
    flight.commit({});
    const client = await flight.join();
    const { work } = workOf([sent(200, false, [utf8Bytes("{}")])]);
    await runTurn(work, flight);
    await expect(client.text()).rejects.toThrow("broke off");
  });

  it("[V35] with an event too large for one is broken off", async () => {
    const flight = flightOf();
    const { work, deeds } = workOf([sent(200, true, [new Uint8Array(17 * 1024 * 1024).fill(0x61)])]);
    await runTurn(work, flight);
    expect(deeds).toEqual(["fail too-large"]);
    expect((await flight.join()).status).toBe(502);
  });

  it("[V35] is not answered a second time", async () => {
    const flight = flightOf();
    flight.answer(200, {}, utf8Bytes("first"));
    flight.answer(502, {}, utf8Bytes("second"));
    expect(await (await flight.join()).text()).toBe("first");
  });
});

describe("clients that leave a step", () => {
  const later = () => new Promise((resolve) => setTimeout(resolve, 40));

  it("[V35] before they waited, or while, leave nobody behind", async () => {
    for (const when of ["before", "while"]) {
      const flight = flightOf();
      const client = new AbortController();
      if (when === "before") client.abort();
      const answer = flight.join(client.signal);
      client.abort();
      await later();
      expect(flight.abort.signal.reason).toBe("client");
      flight.commit({});
      expect((await answer).status).toBe(499);
    }
  });

  it("[V35] are not missed while another one waits", async () => {
    const flight = flightOf();
    const client = new AbortController();
    const [gone, stays] = [flight.join(client.signal), flight.join()];
    client.abort();
    await later();
    expect(flight.abort.signal.aborted).toBe(false);
    flight.answer(200, {}, utf8Bytes("x"));
    expect([(await gone).status, (await stays).status]).toEqual([499, 200]);
  });
});

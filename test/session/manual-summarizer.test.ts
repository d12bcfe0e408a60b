/** Summarizers that fail: each is a failed attempt in the log, with the old Surface intact or a checkpoint by code. */
import { afterEach, describe, expect, it } from "vitest";
import { checkRigs, openRig, type Rig, user } from "../support/rig.ts";
import type { Behaviour } from "../support/strict-provider.ts";

afterEach(checkRigs);

const long = "word ".repeat(9_000);
const failures: [string, Behaviour, string, number][] = [
  ["garbage", { do: "garbage", body: "data: {not json\n\n" }, "garbage", 1],
  ["a page of HTML", { do: "garbage", body: "<html>", contentType: "text/html" }, "garbage", 1],
  ["bytes that are no text", { do: "garbage", body: new Uint8Array([0xff, 0xfe, 0xc0]) }, "garbage", 1],
  ["a stream that ends too early", { do: "cut", after: "half a summ" }, "garbage", 1],
  ["a connection that breaks", { do: "die", after: "half a summ" }, "stream", 3],
  [
    "[DSH-098] an error inside the stream",
    {
      do: "error-event",
      after: "half a summ",
      error: { error: { message: "bad", type: "invalid_request_error" } },
    },
    "stream",
    1,
  ],
  ["nothing at all", { do: "unreachable" }, "network", 3],
  ["a server error", { do: "server-error" }, "http", 3],
  ["a refusal", { do: "server-error", status: 400 }, "http", 1],
  ["[KIMI-014] an empty text", { do: "reply", text: "" }, "empty", 2],
  ["[OC-023] a tool call", { do: "reply", text: "", calls: [{ name: "read", args: "{}" }] }, "tool-call", 2],
  [
    "[DSH-099] [PI-021] a text cut at its cap",
    { do: "reply", text: "half a summ", finish: "length" },
    "truncated",
    2,
  ],
  ["a text over its cap", { do: "reply", text: long }, "over-cap", 2],
  ["a filtered text", { do: "reply", text: "half a summ", finish: "content_filter" }, "filtered", 1],
];

const attempts = async (rig: Rig) =>
  (await rig.bodies("compaction/attempt")).map(({ outcome, reason }) => [outcome, reason]);

describe.each(failures)("%s", (_, behaviour, reason, calls) => {
  it("[T27] [DSH-166] by hand: 502, the attempts in the log, the conversation as it was", async () => {
    const rig = await openRig();
    await rig.turns(6);
    const before = await rig.surface();
    rig.provider.will(...Array.from({ length: 4 }, () => behaviour));
    const failure = await rig.refused("POST", "/compact");
    expect(failure).toMatchObject({ code: "summary", status: 502, reason });
    expect(rig.provider.requests).toHaveLength(calls);
    const outcome = calls === 2 || reason === "filtered" ? "refused" : "failed";
    expect(await attempts(rig)).toEqual(Array.from({ length: calls }, () => [outcome, reason]));
    expect(await rig.surface()).toEqual(before);
    expect(await rig.bodies("compaction/end")).toMatchObject([
      { outcome: "failed", reason, progress: false },
    ]);
    const events = JSON.stringify(await rig.events());
    expect(events).not.toContain("half a summ");
    // The next prompt runs as if nothing had been.
    expect((await rig.prepare([user("go on")])).messages).toHaveLength(13);
  });

  it("[C36] under pressure: code writes the checkpoint, and the request goes out", async () => {
    const rig = await openRig();
    await rig.turns(41);
    rig.provider.will(...Array.from({ length: 4 }, () => behaviour));
    const { compaction, messages } = await rig.prepare([user("go on")]);
    expect(compaction).toMatchObject({ outcome: "done", rungs: ["extractive"] });
    expect(String(messages[0]!.content)).toMatch(/^<compacted-summary by="extractive"/);
    expect(rig.provider.requests).toHaveLength(calls);
  });
});

describe("a summarizer that takes its time", () => {
  it("[C35] hangs: given up after maxWaitMs, by hand with 502", async () => {
    const rig = await openRig({ policy: { maxWaitMs: 150 } });
    await rig.turns(6);
    rig.provider.will({ do: "hang" });
    expect(await rig.refused("POST", "/compact")).toMatchObject({ code: "summary", reason: "timeout" });
    expect(await attempts(rig)).toEqual([["failed", "timeout"]]);
    expect(rig.provider.requests[0]!.aborted).toBe(true);
  });

  it("[C35] stalls in the middle: the same, and under pressure code writes", async () => {
    const rig = await openRig({ policy: { maxWaitMs: 150 } });
    await rig.turns(41);
    rig.provider.will({ do: "stall", after: "half a summ" });
    const { compaction } = await rig.prepare([user("go on")]);
    expect(compaction).toMatchObject({ outcome: "done", rungs: ["extractive"] });
    expect(await attempts(rig)).toEqual([["failed", "timeout"]]);
  });

  it("[C35] drips a good summary: it lands", async () => {
    const rig = await openRig();
    await rig.turns(6);
    rig.provider.will({ do: "drip", text: "All is done.", everyMs: 5 });
    await rig.session.expect(200, "POST", "/compact");
    expect(String((await rig.surface())[0]!.content)).toContain("All is done.");
  });
});

it("[T27] a summarizer's key, address and words never reach the log or the answer", async () => {
  const rig = await openRig();
  await rig.turns(6);
  const leak = {
    error: { message: "bad key sk-live-1234567890abcdef of llm.example", type: "invalid_request_error" },
  };
  rig.provider.will({ do: "refuse", status: 400, body: leak }, { do: "unreachable" });
  const failure = await rig.refused("POST", "/compact");
  const text = JSON.stringify([failure, await rig.events()]);
  for (const secret of ["sk-live", "llm.example", "bad key"]) expect(text).not.toContain(secret);
});

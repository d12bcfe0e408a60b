import { describe, expect, it } from "vitest";
import { importClaudeCode } from "../../../cli/import/claude-code.ts";
import { importOpenAiChat } from "../../../cli/import/openai-chat.ts";
import type { Session } from "../../../cli/import/session.ts";
import { createOracle } from "../../../cli/oracle.ts";
import { playSession } from "../../../cli/play.ts";
import { utf8 } from "../../../cli/raw.ts";
import { FakeApi, type Sins } from "./fake-api.ts";
import { ccAssistant, ccUser, lines, result, text, use } from "./samples.ts";

/** A session of `turns` turns with two calls each; every fifth call has no result. */
function longSession(turns: number): Session {
  const out: string[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const [a, b] = [`a${turn}`, `b${turn}`];
    out.push(ccUser(`Please do part ${turn}. ${"It is about ships. ".repeat(9)}`));
    out.push(ccAssistant(`m${turn}`, [text("I will."), use(a), use(b)]));
    out.push(ccUser([result(a, `line ${turn}\n`.repeat(40))]));
    if (turn % 5 !== 4) out.push(ccUser([result(b, "short")]));
    out.push(ccAssistant(`n${turn}`, [text(`Part ${turn} is done.`)]));
  }
  return importClaudeCode(lines(...out, ccUser("Thank you.")));
}

function play(session: Session, sins: Sins = {}, window = 3_000) {
  const oracle = createOracle(session.dialect);
  const api = new FakeApi(oracle, sins);
  return playSession(session, api, { window, sessionId: "s" }, oracle).then((played) => ({ played, api }));
}

describe("the player", () => {
  it("plays a session with compactions, and finds nothing wrong with a right server", async () => {
    const session = longSession(30);
    const { played } = await play(session);
    expect(played.faults).toEqual([]);
    expect(played).toMatchObject({
      messages: session.messages.length,
      calls: 60,
      steps: 60,
      repaired: 6,
      window: 3_000,
      threshold: 2_400,
      irreducible: 0,
      illegalSurfaces: 0,
      overWindow: 0,
      auditDrift: 0,
    });
    expect(played.generation).toBeGreaterThan(2);
    expect(played.prunes + played.checkpoints).toBe(played.generation);
    expect(played.tokensSaved).toBeGreaterThan(played.tokensIn);
    expect(played.records.every(({ tokens, pressure }) => tokens === pressure)).toBe(true);
  });

  it("saves nothing where nothing is compacted, closings of the server included", async () => {
    const { played } = await play(longSession(6), {}, 100_000);
    expect(played.generation).toBe(0);
    expect(played.repaired).toBe(1);
    expect(played.tokensSaved).toBe(0);
    const growing = played.records.every(({ uncompacted, tokens }) => uncompacted === tokens);
    expect(growing).toBe(true);
  });

  it("measures how much of a request begins like the one before", async () => {
    const { played } = await play(longSession(30));
    const [first, second] = played.records;
    expect(first?.prefixBytes).toBe(0);
    expect(second?.prefixBytes).toBe(first?.bytes);
    expect(second?.previousBytes).toBe(first?.bytes);
    const cut = played.records.find(({ compaction }) => compaction !== undefined);
    expect(cut?.prefixBytes).toBeLessThan((cut?.previousBytes ?? 0) / 2);
  });

  it("posts the raw messages, each request under its own key, with exact usage in the dialect's shape", async () => {
    const session = longSession(2);
    const { api } = await play(session);
    const sent = api.bodies.join("\n");
    for (const { json } of session.messages) expect(sent).toContain(json);
    expect(api.keys.size).toBe(api.bodies.length - 1);
    const oracle = createOracle("anthropic");
    const [opening, reply] = session.messages;
    const input = oracle.message(utf8(opening?.json ?? ""));
    const output = oracle.message(utf8(reply?.json ?? ""));
    expect(api.bodies[2]).toContain(JSON.stringify({ input_tokens: input, output_tokens: output }));
  });

  it("asks for little output in a small window and sets no limit from 32k on", async () => {
    const small = await play(longSession(1), {}, 16_000);
    expect(small.api.bodies[0]).toContain('"capacity":{"window":16000,"maxOutput":1024}');
    expect(small.api.bodies[1]).toContain('"maxOutput":1024');
    const large = await play(longSession(1), {}, 32_000);
    expect(large.api.bodies.join("")).not.toContain("maxOutput");
  });

  it("counts the envelope of a chat session, and reports its usage as that dialect does", async () => {
    const call = { id: "a", type: "function", function: { name: "bash", arguments: "{}" } };
    const session = importOpenAiChat(
      JSON.stringify({
        messages: [
          { role: "system", content: "You are a helper of the harbour office." },
          { role: "user", content: "go" },
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: "a", content: "done" },
          { role: "assistant", content: "Done." },
        ],
      }),
    );
    const { played, api } = await play(session);
    expect(played.faults).toEqual([]);
    expect(played.records[0]?.tokens).toBe(12 + 1 + 9);
    expect(played.records[0]?.bytes).toBeGreaterThan((session.messages[0]?.json.length ?? 0) + 50);
    expect(api.bodies[2]).toContain('"usage":{"prompt_tokens":22,"completion_tokens":');
  });

  it("appends the batch and the reply of a step that nothing makes fit, and goes on", async () => {
    const { played } = await play(longSession(10), { irreducibleStep: 5 });
    expect(played.irreducible).toBe(1);
    expect(played.steps).toBe(19);
    expect(played.faults).toEqual([]);
  });

  it("counts a call that the server closes when the session ends over it", async () => {
    const open = lines(ccUser("go"), ccAssistant("m1", [use("a")]), ccUser("stop"));
    const { played } = await play(importClaudeCode(open));
    expect(played).toMatchObject({ repaired: 1, steps: 1, messages: 3, faults: [] });
  });

  it("plays an empty session to its end", async () => {
    const { played } = await play(importClaudeCode(""));
    expect(played).toMatchObject({ messages: 0, steps: 0, tokensIn: 0, maxPressure: 0, faults: [] });
  });

  it.each<[string, Sins, RegExp]>([
    ["an illegal Surface", { truncateStep: 2 }, /^step 2: illegal Surface: call-without-result/],
    ["a request over the window", { neverCompact: true }, /tokens are over the window of 3000$/],
    ["a lost message", { forget: 40 }, /posted messages are not in the log/],
    ["a doubled message", { repeat: 40 }, /^1 messages stand in the log twice/],
    [
      "a past that changed",
      { forgetsThePast: true },
      /^the Surface of step \d+ \(seq \d+\) is no longer what/,
    ],
    ["drift", { drift: true }, /^the audit found drift: pressure$/],
  ])("notices %s", async (_name, sins, fault) => {
    const { played } = await play(longSession(20), sins);
    expect(played.faults.join("\n")).toMatch(new RegExp(fault.source, "m"));
    const { illegalSurfaces, overWindow, auditDrift } = played;
    expect(illegalSurfaces > 0).toBe(sins.truncateStep !== undefined);
    expect(overWindow > 0).toBe(sins.neverCompact === true);
    expect(auditDrift).toBe(sins.drift === true ? 1 : 0);
  });

  it("stops with the code and the place when the server refuses a step", async () => {
    await expect(play(longSession(3), { brokenStep: 2 })).rejects.toThrow(
      "POST /prepare answered 400 (bad-message) at messages[0]: no",
    );
  });
});

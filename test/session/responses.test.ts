/** A session in OpenAI Responses: replies of several items, appended, compacted, closed and shown in other dialects. */
import { afterEach, describe, expect, it } from "vitest";
import { type DialectName, dialectNames } from "../../src/dialects/dialect.ts";
import { violations } from "../../src/dialects/legal.ts";
import { bytesOf } from "../support/engine.ts";
import { checkRigs, openRig, type Rig, said, user, words } from "../support/rig.ts";

afterEach(checkRigs);

type Item = Record<string, unknown>;

const reasoning = (n: number): Item => ({
  type: "reasoning",
  id: `rs_${n}`,
  summary: [{ type: "summary_text", text: `thought ${n}` }],
  encrypted_content: "e",
});
const message = (text: string): Item => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
});
const call = (id: string): Item => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name: "run",
  arguments: `{"path":"src/${id}.ts"}`,
});
const output = (id: string, text: string): Item => ({
  type: "function_call_output",
  call_id: id,
  output: text,
});
const usage = (input: number, out: number): Item => ({
  type: "usage",
  usage: { input_tokens: input, output_tokens: out },
});

/** Turns with a loop in each: thought, words and two calls, their outputs, thought and an answer. */
async function work(rig: Rig, turns: number): Promise<void> {
  for (let n = 0; n < turns; n++) {
    await rig.say(
      user(words(60, `ask${n}`)),
      reasoning(n),
      message(`looking at ${n}`),
      call(`a${n}`),
      call(`b${n}`),
      output(`b${n}`, words(40)),
      output(`a${n}`, words(40)),
    );
    // The rest item by item, as a harness may.
    await rig.say(reasoning(n + 1_000));
    await rig.say(message(words(60, `told${n}`)));
  }
}

/** The items of every reply that begins with reasoning stand together, all of them. */
function whole(items: readonly Item[]): boolean {
  return items.every((item, index) => {
    if (item.type !== "function_call" || !String(item.call_id).startsWith("a")) return true;
    const before = items.slice(index - 2, index).map(({ type }) => type);
    return before.join() === "reasoning,message" && items[index + 1]?.type === "function_call";
  });
}

describe("a session in Responses", () => {
  it("[P34] [O21] compacts without a model and tears no reply", async () => {
    for (const boundary of ["turn", "pair"]) {
      const rig = await openRig({
        dialect: "openai-responses",
        provider: false,
        policy: { boundary, summary: { route: "extractive" } },
      });
      await work(rig, 28);
      const answer = await rig.prepare([user("and now?")]);
      expect(answer.compaction).toMatchObject({ outcome: "done", rungs: ["extractive"], generation: 1 });
      const items = answer.messages as Item[];
      expect(violations("openai-responses", items.map(bytesOf))).toEqual([]);
      expect(whole(items)).toBe(true);
      expect(items.filter(({ type }) => type === "function_call").length).toBeGreaterThan(0);
      expect(items.at(-1)).toEqual(user("and now?"));
      expect(answer.compaction!.tokensAfter).toBeLessThan(answer.compaction!.tokensBefore);
    }
  });

  it("[M26] takes a reply of several items with its usage, which is the next anchor", async () => {
    const rig = await openRig({ dialect: "openai-responses" });
    const { prepareId } = await rig.prepare([user("go")]);
    await rig.append([said(reasoning(1)), said(call("a")), usage(5_000, 20)], { prepareId });
    const { pressure, messages } = await rig.prepare([output("a", "done")]);
    expect(pressure.source).toBe("usage");
    expect(pressure.tokens).toBeGreaterThanOrEqual(5_020);
    expect(pressure.tokens).toBeLessThan(5_040);
    expect(messages).toEqual([user("go"), reasoning(1), call("a"), output("a", "done")]);
  });

  it("[P29] [P40] closes what is left open by an output of the call's own type, and leaves lone reasoning out", async () => {
    const rig = await openRig({ dialect: "openai-responses" });
    const custom = { type: "custom_tool_call", call_id: "c", name: "patch", input: "x" };
    await rig.say(user("go"), reasoning(1), custom, call("d"));
    const { messages, repaired } = await rig.prepare([user("stop")]);
    expect(repaired.map(({ call }) => call)).toEqual(["c", "d"]);
    expect((messages as Item[]).map(({ type }) => type)).toEqual([
      undefined,
      "reasoning",
      "custom_tool_call",
      "function_call",
      "custom_tool_call_output",
      "function_call_output",
      undefined,
    ]);
    await rig.say(reasoning(2), user("never mind"));
    const surface = (await rig.surface()) as Item[];
    expect(surface.slice(-2)).toEqual([user("stop"), user("never mind")]);
    const late = await rig.refused("POST", "/events", { items: [said(output("c", "late"))] });
    expect(late.code).toBe("late-result");
  });

  it("[P21] refuses references, and the shapes of other dialects", async () => {
    const rig = await openRig({ dialect: "openai-responses" });
    for (const wrong of [
      { type: "item_reference", id: "msg_1" },
      { role: "tool", tool_call_id: "a", content: "x" },
      { role: "user", content: [{ type: "text", text: "x" }] },
    ]) {
      const problem = await rig.refused("POST", "/events", { items: [said(wrong)] });
      expect(problem).toMatchObject({ code: "bad-message", status: 400 });
    }
    await rig.say(user("fine"));
  });

  it("[P33] shows its Surface in every dialect that is asked for", async () => {
    const rig = await openRig({ dialect: "openai-responses" });
    await work(rig, 2);
    for (const dialect of dialectNames) {
      const path = `/surface?dialect=${dialect}`;
      const { messages } = await rig.session.expect<{ messages: object[] }>(200, "GET", path);
      expect(violations(dialect as DialectName, messages.map(bytesOf))).toEqual([]);
      expect(JSON.stringify(messages)).toContain("looking at 1");
      if (dialect === "openai-responses") expect(messages).toEqual(await rig.surface());
    }
    expect(await rig.refused("GET", "/surface?dialect=gemini")).toMatchObject({ status: 400, at: "dialect" });
  });

  it("[C80] has its summary written over Responses where its provider speaks nothing else", async () => {
    const PROVIDERS = { fake: { baseUrl: "https://llm.example/v1", dialects: ["openai-responses"] } };
    const rig = await openRig({ dialect: "openai-responses", env: { PROVIDERS } });
    const sent: { url: string; body: Item & { input: Item[] } }[] = [];
    await rig.plug((parts) => {
      parts.fetch = async (input, init) => {
        const body = JSON.parse(new TextDecoder().decode(init?.body as Uint8Array));
        sent.push({ url: String(input), body });
        return stream("## Goal\nKeep the gauge right.\n\n## Next\nGo on with ask27.");
      };
    });
    await work(rig, 28);
    const answer = await rig.prepare([user("and now?")]);
    expect(answer.compaction).toMatchObject({ outcome: "done" });
    expect(sent.length).toBeGreaterThan(0);
    for (const { url, body } of sent) {
      expect(url).toBe("https://llm.example/v1/responses");
      expect(body).toMatchObject({ model: "gpt-x", stream: true });
      expect(violations("openai-responses", body.input.map(bytesOf))).toEqual([]);
    }
    expect(JSON.stringify(answer.messages[0])).toContain("Keep the gauge right.");
  });
});

function stream(text: string): Response {
  const events = [
    { type: "response.created", response: { model: "gpt-x" } },
    { type: "response.output_text.delta", delta: text },
    {
      type: "response.completed",
      response: { status: "completed", usage: { input_tokens: 9, output_tokens: 9 } },
    },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

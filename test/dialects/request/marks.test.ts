import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClientMarks, cacheMarks } from "../../../src/dialects/request/marks.ts";
import { planMarks } from "../../../src/dialects/request/plan-marks.ts";
import { messageMark, plainMark } from "../../../src/dialects/request/put-marks.ts";
import { prefixOf, readRequest } from "../../../src/dialects/request/read.ts";
import { upstreamBody } from "../../../src/dialects/request/upstream.ts";
import { applyEdits } from "../../../src/log/json-edit.ts";
import { text, utf8 } from "../../log/json-text.ts";

const short = { cache_control: { type: "ephemeral" } };
const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
const block = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
const says = (...content: object[]) => ({ role: "user", content });
const claude = (more: object) => readRequest("anthropic", utf8({ model: "m", messages: [], ...more }));

/** Marks without their bytes. */
const places = ({ messages, tools, system }: Pick<ClientMarks, "messages" | "tools" | "system">) => ({
  tools: tools.map(({ index, ttl }) => [index, ttl]),
  system: system.map(({ index, ttl }) => [index, ttl]),
  messages: messages.map(({ message, path, ttl }) => [message, path, ttl]),
});

describe("the client's marks", () => {
  const result = { type: "tool_result", tool_use_id: "t", content: [block("r"), block("s", short)] };
  const messages = [
    says(block("a", short), block("b")),
    { role: "user", content: "cache_control" },
    says(result, block("c", hour)),
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "t", name: "f", input: { ...short, content: [short] } }],
    },
  ];
  const request = claude({
    messages,
    tools: [{ name: "a", ...hour }, { name: "b" }],
    system: [block("s", short)],
  });

  it("are read as positions, and never inside a call's arguments", () => {
    const marks = cacheMarks(request);
    expect(places(marks)).toEqual({
      tools: [[0, "1h"]],
      system: [[0, "5m"]],
      messages: [
        [0, [0], "5m"],
        [2, [0, 1], "5m"],
        [2, undefined, "1h"],
      ],
    });
    expect(text(marks.messages[2]!.control)).toBe('{"type":"ephemeral","ttl":"1h"}');
    expect(marks.open).toEqual({ tools: true, system: false });
    expect(marks.automatic).toBeUndefined();
    expect(cacheMarks(claude(hour)).automatic?.ttl).toBe("1h");
  });

  it("are found in a known prefix too", () => {
    for (const count of [1, 2, 3, 4]) {
      const behind = readRequest("anthropic", request.body, prefixOf(request, count));
      expect(cacheMarks(behind)).toEqual(cacheMarks(request));
    }
  });

  it("are none in other dialects", () => {
    const body = utf8({ model: "m", messages: [says(block("a", short))] });
    expect(cacheMarks(readRequest("openai-chat", body)).messages).toEqual([]);
  });

  it.each<[string, object, { tools: boolean; system: boolean }]>([
    ["nothing to mark", { system: "", tools: [] }, { tools: false, system: false }],
    ["a text and tools", { system: "s", tools: [{ name: "a" }] }, { tools: true, system: true }],
    ["an empty last block", { system: [block("a"), block("")] }, { tools: false, system: false }],
    [
      "a marked tool before one on demand",
      {
        tools: [
          { name: "a", ...short },
          { name: "b", defer_loading: true },
        ],
      },
      { tools: false, system: false },
    ],
  ])("leave %s open or not", (_, more, open) => {
    expect(cacheMarks(claude(more)).open).toEqual(open);
  });
});

describe("a mark on a message", () => {
  const control = plainMark("5m");
  const put = (message: object, path?: number[]) => {
    const bytes = utf8(message);
    return JSON.parse(text(applyEdits(bytes, messageMark(bytes, 0, { control, path })))) as object;
  };
  const thinking = { type: "thinking", thinking: "t", signature: "s" };

  it.each<[string, object, number[] | undefined, object]>([
    [
      "a text becomes a block",
      { content: "hi", role: "user" },
      undefined,
      { content: [block("hi", short)], role: "user" },
    ],
    ["an empty text has none", { role: "user", content: "" }, undefined, { role: "user", content: "" }],
    ["the last block", says(block("a"), block("b")), undefined, says(block("a"), block("b", short))],
    ["a block by its place", says(block("a"), block("b")), [0], says(block("a", short), block("b"))],
    ["a place that is gone", says(block("a")), [3], says(block("a", short))],
    ["not thinking", says(block("a"), thinking), undefined, says(block("a", short), thinking)],
    ["not thinking by its place", says(thinking, block("a")), [0], says(thinking, block("a", short))],
    ["thinking alone has none", says(thinking), undefined, says(thinking)],
    ["not an empty text", says(block("a"), block("")), undefined, says(block("a", short), block(""))],
    [
      "a block of a result",
      says({ type: "tool_result", content: [block("r")] }),
      [0, 0],
      says({ type: "tool_result", content: [block("r", short)] }),
    ],
    [
      "a result whose block is gone",
      says({ type: "tool_result", content: "r" }),
      [0, 1],
      says({ type: "tool_result", content: "r", ...short }),
    ],
    ["a mark that stands there", says(block("a", hour)), undefined, says(block("a", hour))],
    ["a null there", says(block("a", { cache_control: null })), undefined, says(block("a", short))],
  ])("%s", (_, message, path, expected) => {
    expect(put(message, path)).toEqual(expected);
  });
});

describe("the plan", () => {
  const none: ClientMarks = {
    tools: [],
    system: [],
    messages: [],
    automatic: undefined,
    open: { tools: true, system: true },
  };
  const mark = (ttl: "5m" | "1h" = "5m") => ({ control: plainMark(ttl), ttl });
  const plan = (client: Partial<ClientMarks>, more: Partial<Parameters<typeof planMarks>[0]> = {}) => {
    const { tools, system, messages } = planMarks({
      client: { ...none, ...client },
      place: (n) => n,
      steps: [3, 5],
      ...more,
    });
    const ttl = (control: Uint8Array | undefined) => control && (text(control).includes("1h") ? "1h" : "5m");
    return [ttl(tools), ttl(system), ...messages.map((one) => [one.message, ttl(one.control)])];
  };

  it.each<[string, unknown[], unknown[]]>([
    ["tools, system and the last two steps", plan({}), ["5m", "5m", [3, "5m"], [5, "5m"]]],
    [
      "the checkpoint before the end of tools",
      plan({}, { checkpoint: 0 }),
      [undefined, "5m", [0, "5m"], [3, "5m"], [5, "5m"]],
    ],
    [
      "tools as the end of the head",
      plan({ open: { tools: true, system: false } }, { checkpoint: 0 }),
      ["5m", undefined, [0, "5m"], [3, "5m"], [5, "5m"]],
    ],
    [
      "the newest step alone beside three of the client's",
      plan({ system: [1, 2, 3].map((index) => ({ ...mark(), index })) }),
      [undefined, undefined, [5, "5m"]],
    ],
    [
      "nothing beside four",
      plan({ messages: [0, 1, 2, 4].map((message) => ({ ...mark(), message })) }),
      [undefined, undefined, [0, "5m"], [1, "5m"], [2, "5m"], [4, "5m"]],
    ],
    [
      "the client's mark on a step once",
      plan({ messages: [{ ...mark("1h"), message: 5 }] }),
      ["1h", "1h", [3, "1h"], [5, "1h"]],
    ],
    [
      "an hour only before an hour",
      plan({ messages: [{ ...mark("1h"), message: 4 }] }),
      [undefined, "1h", [3, "1h"], [4, "1h"], [5, "5m"]],
    ],
    [
      "one step for an automatic mark",
      plan({ automatic: mark() }, { checkpoint: 0 }),
      [undefined, "5m", [0, "5m"], [3, "5m"]],
    ],
    [
      "no mark of a message that is gone",
      plan(
        {
          messages: [
            { ...mark(), message: 1 },
            { ...mark(), message: 6 },
          ],
        },
        { place: (n) => (n < 2 ? undefined : n - 1) },
      ),
      ["5m", "5m", [3, "5m"], [5, "5m"]],
    ],
    [
      "few messages",
      plan({ open: { tools: false, system: false } }, { steps: [0], checkpoint: 0 }),
      [undefined, undefined, [0, "5m"]],
    ],
  ])("has %s", (_, found, expected) => {
    expect(found).toEqual(expected);
  });

  it("adds no fifth mark, and none of five minutes before one of an hour", () => {
    const ttl = fc.constantFrom("5m" as const, "1h" as const);
    const spot = fc.integer({ min: 0, max: 9 });
    const ground = fc.record({
      at: fc.uniqueArray(spot, { maxLength: 6 }),
      ttls: fc.array(ttl, { minLength: 6, maxLength: 6 }),
      inSystem: fc.nat({ max: 2 }),
      automatic: fc.option(ttl, { nil: undefined }),
      shift: fc.integer({ min: -5, max: 5 }),
      checkpoint: fc.option(spot, { nil: undefined }),
      steps: fc.uniqueArray(spot, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(ground, ({ at, ttls, inSystem, automatic, shift, checkpoint, steps }) => {
        // A legal client has its hours before its five minutes.
        const kept = [...ttls].sort();
        const own = at.sort((a, b) => a - b).map((message, i) => ({ ...mark(kept[i]), message }));
        const system = Array.from({ length: inSystem }, (_, index) => ({ ...mark("1h"), index }));
        const client = { ...none, messages: own, system, automatic: automatic && mark(automatic) };
        const place = (n: number) => (n + shift < 0 ? undefined : n + shift);
        const plan = planMarks({ client, place, checkpoint, steps });
        const alive = own.filter(({ message }) => place(message) !== undefined);
        const fixed = alive.length + inSystem + (automatic === undefined ? 0 : 1);
        const marks = [plan.tools, plan.system, ...plan.messages.map(({ control }) => control)].filter(
          (one) => one !== undefined,
        );
        const total = marks.length + inSystem + (automatic === undefined ? 0 : 1);
        expect(total).toBeLessThanOrEqual(4);
        if (fixed <= 4)
          expect(plan.messages.map(({ message }) => message)).toEqual(
            expect.arrayContaining(alive.map(({ message }) => place(message))),
          );
        const hours = marks.map((control) => text(control).includes("1h"));
        if (automatic !== "1h") expect(hours).toEqual([...hours].sort((a, b) => Number(b) - Number(a)));
        else if (!own.some((one) => one.ttl === "5m")) expect(hours).not.toContain(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it("goes into the body, whose list is replaced or not", () => {
    const tools = [{ name: "t" }, { name: "later", defer_loading: true }];
    const messages = [says(block("a", hour)), { role: "assistant", content: "b" }, says(block("c"))];
    const request = claude({ tools, system: "s", messages });
    const goes = (list: object[] | undefined, cacheMarks: ReturnType<typeof planMarks>) =>
      JSON.parse(
        text(upstreamBody(request, { model: "m", messages: list?.map(utf8), cacheMarks })),
      ) as object;
    const client = cacheMarks(request);
    const marked = { model: "m", tools: [{ name: "t", ...hour }, tools[1]], system: [block("s", hour)] };
    expect(goes(undefined, planMarks({ client, place: (n) => n, steps: [2] }))).toEqual({
      ...marked,
      messages: [messages[0], messages[1], says(block("c", short))],
    });
    const bare = [says(block("summary")), says(block("a")), messages[1]!, says(block("c"))];
    expect(goes(bare, planMarks({ client, place: (n) => n + 1, checkpoint: 0, steps: [3] }))).toEqual({
      model: "m",
      tools,
      system: [block("s", hour)],
      messages: [says(block("summary", hour)), says(block("a", hour)), messages[1], says(block("c", short))],
    });
  });

  it("marks messages of a known prefix in their place", () => {
    const messages = [says(block("a")), says(block("b")), says(block("c"))];
    const whole = claude({ messages });
    const behind = readRequest("anthropic", whole.body, prefixOf(whole, 2));
    const change = {
      model: "m",
      messages: undefined,
      cacheMarks: { messages: [{ message: 1, control: plainMark("5m") }] },
    };
    expect(JSON.parse(text(upstreamBody(behind, change)))).toEqual({
      model: "m",
      messages: [messages[0], says(block("b", short)), messages[2]],
    });
  });
});

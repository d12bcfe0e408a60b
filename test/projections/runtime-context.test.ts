import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dialectOf } from "../../src/dialects/registry.ts";
import { noWeight, plus, weightOf } from "../../src/log/events.ts";
import { measure } from "../../src/projections/pressure.ts";
import {
  contextHistory,
  type Emission,
  type LoggedContext,
  nextContext,
  placeContext,
  type RuntimeContext,
  shadowed,
  weighContext,
} from "../../src/projections/runtime-context.ts";
import { units } from "../support/engine.ts";

/** A conversation of one branch: requests carry a candidate, checkpoints shadow what stands before them. */
class Talk {
  readonly nodes: LoggedContext[] = [];
  readonly texts = new Map<number, string>();
  private depth = 0;
  private upto = 0;

  history() {
    return contextHistory(this.nodes.toReversed(), (node) => node.depth > this.upto);
  }

  /** What the request tells, and the log keeps. */
  ask(given: RuntimeContext | null | undefined): string | undefined {
    const told = nextContext(given, this.history());
    this.depth++;
    if (told === undefined) return undefined;
    const { key, text } = this.written(told);
    const node = { seq: this.depth, depth: this.depth, key };
    this.nodes.push(node);
    this.texts.set(node.seq, text);
    return text;
  }

  compact(): void {
    this.upto = this.depth;
  }

  /** What the model reads of it. */
  visible(): string[] {
    return this.nodes.filter(({ depth }) => depth > this.upto).map(({ seq }) => this.texts.get(seq)!);
  }

  private written(told: Emission): { key: string; text: string } {
    return "again" in told ? { key: told.again.key, text: this.texts.get(told.again.seq)! } : told;
  }
}

const none = /No runtime context is active/;

describe("runtime context", () => {
  it("[DSH-217] is told when it is new, when it changed and when it ended, and never twice the same", () => {
    const talk = new Talk();
    const told = ["read-only", "read-only", "write", "", ""].map((text) => talk.ask(text));
    expect(told.map((text) => text !== undefined)).toEqual([true, false, true, true, false]);
    expect(told[0]).toContain("read-only");
    expect(told[2]).toContain("write");
    expect(told[2]).toContain("replaces all earlier");
    expect(told[3]).toMatch(none);
    expect(told[3]).toContain("All earlier runtime context is void");
    // What was sent stays as it was sent.
    expect(talk.visible()).toEqual([told[0], told[2], told[3]]);
  });

  it("[DSH-192] looks at what still stands on the Surface: only the newer of two was shadowed", () => {
    const [a, b] = ["A", "B"].map((text, i) => {
      const told = nextContext(text, { shown: undefined, last: undefined });
      if (told === undefined || "again" in told) throw new Error("nothing told");
      return { seq: i + 1, depth: i + 1, key: told.key };
    }) as [LoggedContext, LoggedContext];
    const history = contextHistory([b, a], (node) => node === a);
    expect(history).toEqual({ shown: a, last: b });
    expect(nextContext("A", history)).toBeUndefined();
    const sections = [
      { name: "Mode", text: "plan" },
      { name: "Empty", text: " " },
      { name: "Open\nfiles", text: "a.ts\nb.ts" },
    ];
    expect(nextContext(sections, history)).toMatchObject({
      text: expect.stringContaining(
        "\n\n## Mode\nplan\n\n## Open files\na.ts\nb.ts\n</runtime-context>",
      ) as string,
    });
  });

  it("[DSH-193] is each session's own", () => {
    const [one, two] = [new Talk(), new Talk()];
    one.ask("A");
    two.ask("B");
    expect(one.ask("A")).toBeUndefined();
    expect(two.ask("A")).toBeDefined();
  });

  it("[DSH-194] re-based: a replacement in front of the request puts the snapshot into that very request", () => {
    const talk = new Talk();
    const first = talk.ask("A");
    const before = nextContext("A", talk.history());
    expect(before).toBeUndefined();
    talk.compact();
    expect(talk.ask("A")).toBe(first);
    expect(talk.ask("A")).toBeUndefined();
  });

  it("[DSH-219] that ended is called void although only a summary may still repeat it, once", () => {
    const talk = new Talk();
    talk.ask("A");
    talk.compact();
    expect(talk.ask(null)).toMatch(none);
    expect(talk.ask(null)).toBeUndefined();
    talk.compact();
    expect(talk.ask(null)).toBeUndefined();
    expect(talk.ask("A")).toContain("A");
  });

  it("[KIMI-030] stands exactly once in the first request after a compaction", () => {
    const talk = new Talk();
    talk.ask("goal: ship");
    talk.ask("goal: ship");
    talk.compact();
    expect(talk.visible()).toEqual([]);
    talk.ask("goal: ship");
    expect(talk.visible()).toHaveLength(1);
  });

  it("says nothing about nothing", () => {
    const talk = new Talk();
    expect([talk.ask(undefined), talk.ask(null), talk.ask("  \n"), talk.ask([])]).toEqual(
      Array.from({ length: 4 }),
    );
  });

  it("stays in force while the application says nothing, and comes again in its own bytes", () => {
    const talk = new Talk();
    const first = talk.ask("A");
    expect(talk.ask(undefined)).toBeUndefined();
    talk.compact();
    expect(talk.ask(undefined)).toBe(first);
    talk.ask("");
    talk.compact();
    expect(talk.ask(undefined)).toBeUndefined();
  });

  it("cannot close its own frame", () => {
    const text = new Talk().ask("a </runtime-context> b < / RUNTIME-context> c <runtime-contexts>")!;
    expect(text.match(/<\s*\/\s*runtime-context\s*>/gi)).toHaveLength(1);
    expect(text).toContain("<runtime-contexts>");
  });

  it("always leaves the model with the candidate as the newest that it reads, or with none", () => {
    const acts = fc.array(fc.constantFrom("A", "B", "", "compact"), { maxLength: 30 });
    fc.assert(
      fc.property(acts, (list) => {
        const talk = new Talk();
        for (const act of list) {
          if (act === "compact") talk.compact();
          else {
            talk.ask(act);
            const [newest, earlier] = talk.visible().toReversed();
            if (act !== "") expect(newest).toContain(`\n${act}\n`);
            else if (newest !== undefined) expect(newest).toMatch(none);
            else expect(talk.history().last?.key ?? "").toBe("");
            if (newest !== undefined) expect(newest).not.toBe(earlier);
          }
        }
      }),
    );
  });
});

describe("the price of runtime context", () => {
  const dialect = dialectOf("anthropic");
  const load = (told: Emission | undefined) =>
    told === undefined || "again" in told
      ? noWeight
      : weightOf(weighContext(dialect, units, told.text).facts);

  it("counts in the pressure of the request that will carry it, and in nobody else's", () => {
    const talk = new Talk();
    const pressure = (incoming = noWeight) =>
      measure({ envelope: { tokens: 0, bytes: 0 }, surface: noWeight, incoming }, 2, undefined).tokens;
    const told = nextContext("A", talk.history());
    const weight = load(told);
    expect(weight.tokens).toBe((told as { text: string }).text.length + 12);
    expect(pressure(plus(noWeight, weight))).toBe(pressure() + 2 * weight.tokens);
    talk.ask("A");
    expect(load(nextContext("A", talk.history()))).toEqual(noWeight);
    // A compaction that shadows it has to leave room for it.
    expect(load(nextContext("A", shadowed(talk.history())))).toEqual(weight);
  });

  it("is that of a message which is a user's in form, and starts no turn", () => {
    const weighed = weighContext(dialect, units, "x");
    expect(weighed.message.role).toBe("user");
    expect(weighed.turn).toBe(false);
    expect(new TextDecoder().decode(weighed.bytes)).toBe('{"role":"user","content":"x"}');
  });
});

describe("the place of runtime context", () => {
  const at = (name: string, open: string[] = []) => ({ name, open });
  const context = at("context");
  const names = (open: string[], batch: ReturnType<typeof at>[]) =>
    placeContext(open, batch, context)?.map(({ name }) => name);

  it.each([
    ["in front of what the user says", [], [at("user")], ["context", "user"]],
    ["alone where nothing enters", [], [], ["context"]],
    [
      "behind the results, never between a call and its result",
      ["a", "b"],
      [at("result a", ["b"]), at("result b"), at("user")],
      ["result a", "result b", "context", "user"],
    ],
    [
      "behind a message that ends the calls itself",
      ["a"],
      [at("result a with text")],
      ["result a with text", "context"],
    ],
  ])("is %s", (_, open, batch, expected) => {
    expect(names(open, batch)).toEqual(expected);
  });

  it("is nowhere while a call stays open", () => {
    expect(names(["a", "b"], [at("result a", ["b"])])).toBeUndefined();
    expect(names(["a"], [])).toBeUndefined();
  });
});

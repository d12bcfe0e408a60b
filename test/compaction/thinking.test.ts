/** Thinking that is bound to what stood before it leaves the Surface once a place in front of it is replaced. */
import { describe, expect, it } from "vitest";
import { staleForms } from "../../src/compaction/forms.ts";
import { isLoopOpen, staleThinking } from "../../src/compaction/thinking.ts";
import { dropThinking } from "../../src/compaction/transaction.ts";
import type { ThinkingBinding } from "../../src/providers/provider.ts";
import { Bed, calls, result, textOf, user } from "../support/engine.ts";

const thought = (text: string) => ({ type: "thinking", thinking: text, signature: "sig" });
const use = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const think = (text: string, ...more: object[]) => ({ role: "assistant", content: [thought(text), ...more] });
const answered = (id: string) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
});
const say = { type: "text", text: "well" };

/** Three thinking replies; the newest is in the middle of a tool loop. */
function loop(binding: ThinkingBinding): { bed: Bed; seqs: number[] } {
  const bed = new Bed({ dialect: "anthropic", binding });
  const seqs = bed.say(
    user(10),
    think("one", say),
    user(10),
    think("two", use("a")),
    answered("a"),
    think("three", use("b")),
    answered("b"),
  );
  return { bed, seqs };
}

describe("what is stale", () => {
  it.each<[ThinkingBinding, number, number[]]>([
    ["prefix", 0, [1, 3, 5]],
    ["prefix", 2, [3, 5]],
    ["prefix", 6, []],
    ["none", 0, [1, 3]],
    ["none", 4, []],
  ])(
    "[C15] with binding %s and a change at %i: all behind it, but the open loop's last where nothing binds",
    (binding, changed, stale) => {
      const { bed } = loop(binding);
      const items = bed.items();
      const found = staleThinking(items, changed, binding, isLoopOpen(items, false));
      expect(found.map((item) => items.indexOf(item))).toEqual(stale);
    },
  );

  it("[C15] a loop is open until the user types", () => {
    const { bed } = loop("none");
    expect(isLoopOpen(bed.items(), false)).toBe(true);
    expect(isLoopOpen(bed.items(), true)).toBe(false);
    bed.say(user(5));
    expect(isLoopOpen(bed.items(), false)).toBe(false);
    expect(isLoopOpen([], false)).toBe(false);
    const chat = new Bed();
    chat.say(user(5), calls(["a"]), result("a", 5), { role: "assistant", content: "done" });
    expect(isLoopOpen(chat.items(), false)).toBe(false);
  });
});

describe("the forms that a replacement owes", () => {
  it("[C15] hold the message less its thinking, priced; a message with a form of its own owes none", () => {
    const { bed, seqs } = loop("prefix");
    const made = [{ node: seqs[3]!, kind: "clip" as const, bytes: new Uint8Array(), facts: {} as never }];
    const forms = staleForms(bed.ground, bed.snapshot(), 0, made);
    expect(forms.map(({ node, kind }) => [node, kind])).toEqual([
      [seqs[1], "thinking"],
      [seqs[5], "thinking"],
    ]);
    expect(JSON.parse(textOf(forms[0]!.bytes))).toEqual({ role: "assistant", content: [say] });
    expect(forms[0]!.facts).toMatchObject({ price: 16, thinking: false });
  });

  it("[C15] leave a message of thinking alone out of the Surface: no bytes, no weight", () => {
    const bed = new Bed({ dialect: "anthropic", binding: "prefix" });
    const [, only] = bed.say(user(5), think("only"), user(5));
    const [form] = staleForms(bed.ground, bed.snapshot(), 0, []);
    expect(form).toMatchObject({ node: only, facts: { price: 0, bytes: 0, thinking: false } });
    expect(form!.bytes.byteLength).toBe(0);
  });

  it("[C15] a route switch takes all thinking out, once", () => {
    const { bed } = loop("none");
    expect(dropThinking(bed.ground, bed.snapshot())).toBe(true);
    expect(JSON.stringify(bed.shown())).not.toContain("thinking");
    expect(bed.tip.gen).toBe(1);
    expect(dropThinking(bed.ground, bed.snapshot())).toBe(false);
    expect(bed.tip.gen).toBe(1);
  });
});

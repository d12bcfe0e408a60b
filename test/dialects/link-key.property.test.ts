/** However a message is spelled, its key is one; whatever is changed of what it says, its key is another. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linkKey } from "../../src/dialects/link-key.ts";
import { type WireDialect, wireDialects } from "../../src/dialects/wire.ts";
import { key } from "./link-key-messages.ts";

/** What one message says. */
interface Saying {
  kind: "asked" | "answered" | "called" | "result";
  text: string;
  callId: string;
  name: string;
  args: { [name: string]: unknown };
}

/** JSON that a call has as a string. */
class Inside {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

const words = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
  fc.constantFrom("é", "\u0000", "\ud800", "\udc00x", '"\\', "🚢", " ", "null", "__proto__"),
  fc.integer({ min: 60, max: 300 }).map((length) => `${"y".repeat(length)}\n"`),
);
const saying: fc.Arbitrary<Saying> = fc.record({
  kind: fc.constantFrom("asked", "answered", "called", "result"),
  text: words,
  callId: words,
  name: words,
  args: fc
    .dictionary(words, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
    .map((rest) => ({ ...rest, size: 12.5 })),
});

/** The native message; `loose` asks whether to write a text the longer way. */
function native(
  dialect: WireDialect,
  { kind, text, callId, name, args }: Saying,
  loose: () => boolean,
): object {
  const type = dialect !== "openai-responses" ? "text" : kind === "answered" ? "output_text" : "input_text";
  const content = loose() ? [{ type, text }] : text;
  if (kind === "asked") return { role: "user", content };
  if (kind === "answered") return { role: "assistant", content };
  if (dialect === "openai-chat") {
    if (kind === "result") return { role: "tool", tool_call_id: callId, content };
    const call = { id: callId, type: "function", function: { name, arguments: new Inside(args) } };
    return { role: "assistant", content, tool_calls: [call] };
  }
  if (dialect === "openai-responses") {
    if (kind === "result") return { type: "function_call_output", call_id: callId, output: content };
    return { type: "function_call", call_id: callId, name, arguments: new Inside(args) };
  }
  if (kind === "result")
    return { role: "user", content: [{ type: "tool_result", tool_use_id: callId, content }] };
  return {
    role: "assistant",
    content: [
      { type: "text", text },
      { type: "tool_use", id: callId, name, input: args },
    ],
  };
}

const emptyMembers: [string, unknown][] = [
  ["refusal", null],
  ["annotations", []],
  ["audio", null],
  ["unknown", {}],
  ["comment", ""],
  ["cache_control", { type: "ephemeral", ttl: "1h" }],
];

/** Writes a value in one of many spellings; `pick(n)` chooses below n. Only objects of the message itself get members. */
function spell(value: unknown, pick: (n: number) => number, inMessage = true): string {
  const space = () => ["", "", " ", "\n\t", "\r\n  "][pick(5)]!;
  if (value instanceof Inside) return spell(spell(value.value, pick, false), pick, false);
  if (typeof value === "string")
    return `"${Array.from({ length: value.length }, (_, i) => unit(value, i, pick)).join("")}"`;
  if (typeof value === "number") return number(value, pick);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value))
    return `[${value.map((part) => space() + spell(part, pick, inMessage) + space()).join(",")}]`;
  const own = Object.entries(value);
  if (inMessage) own.push(...emptyMembers.filter(([name]) => !(name in value) && pick(4) === 0));
  for (let i = own.length - 1; i > 0; i--) {
    const j = pick(i + 1);
    [own[i], own[j]] = [own[j]!, own[i]!];
  }
  // What stands in an input is the call's own, whatever its name; what was added stays as it is.
  const member = ([name, part]: [string, unknown]) => {
    const owned = inMessage && name !== "input" && name in value;
    return `${space()}${spell(name, pick, false)}${space()}:${space()}${spell(part, pick, owned)}${space()}`;
  };
  return `{${own.map(member).join(",")}}`;
}

/** One UTF-16 unit. A half of a pair is either raw beside its other half, or both are escapes. */
function unit(text: string, i: number, pick: (n: number) => number): string {
  const hex = (at: number) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`;
  const raw = JSON.stringify(text[i]).slice(1, -1);
  if (/[\ud800-\udfff]/.test(text[i]!)) return hex(i);
  return pick(6) === 0 ? hex(i) : raw;
}

function number(value: number, pick: (n: number) => number): string {
  const plain = JSON.stringify(value);
  if (pick(3) > 0 || !/^-?[1-9]\d*$/.test(plain)) return plain;
  return pick(2) === 0 ? `${plain}.00` : `${plain}0E-1`;
}

function choices(tape: readonly number[]): (n: number) => number {
  let at = 0;
  return (n) => (tape[at++ % tape.length]! + at) % n;
}

const tape = fc.array(fc.nat(1 << 16), { minLength: 40, maxLength: 80 });
const dialects = fc.constantFrom(...wireDialects);
const plainly = () => false;
const written = (dialect: WireDialect, said: Saying) =>
  key(
    dialect,
    spell(native(dialect, said, plainly), () => 0),
  );

/** Every change of what a message of that kind says, in the fields that its dialect writes. */
function changes(dialect: WireDialect, said: Saying): Saying[] {
  const longer = `${said.text}x`;
  const other: Saying[] = [];
  if (said.kind !== "called" || dialect !== "openai-responses") other.push({ ...said, text: longer });
  if (said.kind === "asked") other.push({ ...said, kind: "answered" });
  if (said.kind === "called" || said.kind === "result") other.push({ ...said, callId: `${said.callId}x` });
  if (said.kind !== "called") return other;
  other.push({ ...said, name: `${said.name}x` });
  other.push(
    { ...said, args: { ...said.args, size: 12.25 } },
    { ...said, args: { ...said.args, size: "12.5" } },
  );
  other.push({ ...said, args: { ...said.args, [`${Object.keys(said.args).join("")}more`]: null } });
  other.push({ ...said, args: { ...said.args, size: [12.5] } });
  return other;
}

describe("a content key", () => {
  it("is the same in every spelling", () => {
    fc.assert(
      fc.property(dialects, saying, tape, (dialect, said, numbers) => {
        const pick = choices(numbers);
        const message = native(dialect, said, () => pick(2) === 0);
        expect(key(dialect, spell(message, pick))).toBe(written(dialect, said));
      }),
      { numRuns: 600 },
    );
  });

  it("is another after every change, in every spelling", () => {
    fc.assert(
      fc.property(dialects, saying, tape, (dialect, said, numbers) => {
        const pick = choices(numbers);
        for (const changed of changes(dialect, said)) {
          const message = native(dialect, changed, () => pick(2) === 0);
          expect(key(dialect, spell(message, pick))).not.toBe(written(dialect, said));
        }
      }),
      { numRuns: 200 },
    );
  });

  it("is equal for equal JSON only: any two inputs of a call", () => {
    const sorted = (value: unknown): unknown => {
      if (Array.isArray(value)) return ["list", ...value.map(sorted)];
      if (typeof value !== "object" || value === null) return Object.is(value, -0) ? 0 : value;
      const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
      return ["object", ...members.map(([name, part]) => [name, sorted(part)])];
    };
    const json = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(json, json, tape, (one, other, numbers) => {
        const keyOf = (k: unknown) =>
          key(
            "anthropic",
            spell({ role: "assistant", content: [{ type: "tool_use", input: { k } }] }, choices(numbers)),
          );
        const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
        expect(keyOf(one) === keyOf(other)).toBe(same);
      }),
      { numRuns: 500 },
    );
  });

  it("is never one in two dialects", () => {
    fc.assert(
      fc.property(saying, ({ text }) => {
        const message = { role: "user", content: text };
        expect(new Set(wireDialects.map((dialect) => key(dialect, message))).size).toBe(wireDialects.length);
      }),
    );
  });
});

describe("a link key", () => {
  it("of two histories is one only if all their contents are", () => {
    const content = fc.constantFrom("a", "b", "ab", "");
    const list = fc.array(content, { maxLength: 5 });
    const link = (contents: readonly string[]) =>
      contents.reduce((parent, next) => linkKey(parent, next), "");
    fc.assert(
      fc.property(list, list, (one, other) => {
        const counted = (contents: readonly string[]) =>
          JSON.stringify(contents.filter((part) => part !== ""));
        expect(link(one) === link(other)).toBe(counted(one) === counted(other));
      }),
    );
  });
});

/** A provider that compacts by itself: what it made stands for all that it read. */
import { expect, it } from "vitest";
import { audit } from "../../../src/session/audit.ts";
import { currentPressure } from "../../../src/session/pressure.ts";
import { Lines } from "./lines.ts";

const shapes = {
  anthropic: {
    user: (content: string) => ({ role: "user", content }),
    said: (text: string) => ({ role: "assistant", content: [{ type: "text", text }] }),
    compacted: [
      {
        role: "assistant",
        content: [
          { type: "compaction", content: "what was", encrypted_content: "e1" },
          { type: "text", text: "and on" },
        ],
      },
    ],
  },
  "openai-responses": {
    user: (content: string) => ({ type: "message", role: "user", content }),
    said: (text: string) => ({
      type: "message",
      role: "assistant",
      id: `msg_${text}`,
      content: [{ type: "output_text", text, annotations: [] }],
    }),
    compacted: [
      { type: "compaction", id: "cmp_1", encrypted_content: "e1" },
      {
        type: "message",
        role: "assistant",
        id: "msg_on",
        content: [{ type: "output_text", text: "and on", annotations: [] }],
      },
    ],
  },
} as const;

for (const dialect of ["anthropic", "openai-responses"] as const) {
  const { user, said, compacted } = shapes[dialect];
  const begun = [user("a".repeat(4_000)), said("A"), user("b")];

  const compactedLines = async (): Promise<Lines> => {
    const lines = new Lines(dialect);
    await lines.step(begun.slice(0, 1), said("A"));
    await lines.step(begun, [...compacted]);
    return lines;
  };

  it(`[G80] ${dialect}: the Surface starts from a reply's compaction, and so does the pressure`, async () => {
    const lines = await compactedLines();
    expect(lines.shown("main")).toEqual(compacted);
    const { core } = lines;
    expect(currentPressure(core, core.log.branchNamed("main")!).surface).toBeLessThan(2_000);
    // What was before is in the log, and on the branch as it was then.
    expect(lines.nodes()).toBe(3 + compacted.length);
    expect(await audit(core.log, undefined, () => Promise.resolve())).toMatchObject({ ok: true, drift: [] });
  });

  it(`[G80] ${dialect}: sent again whole or from the compaction on, the list goes on behind it`, async () => {
    for (const listed of [[...begun, ...compacted], [...compacted], compacted.slice(0, 1)]) {
      const lines = await compactedLines();
      const whole = listed.length >= compacted.length;
      const list = [...listed, ...(whole ? [] : compacted.slice(1)), user("c")];
      expect(await lines.step(list, said("C"))).toBe("main");
      expect(lines.shown("main")).toEqual([...compacted, user("c"), said("C")]);
      expect(lines.nodes()).toBe(3 + compacted.length + 2);
    }
  });

  it(`[G80] ${dialect}: a rewind to before the compaction shows what was there`, async () => {
    const lines = await compactedLines();
    const fork = await lines.step([...begun.slice(0, 2), user("other")], said("O"));
    expect(fork).not.toBe("main");
    expect(lines.shown(fork)).toEqual([...begun.slice(0, 2), user("other"), said("O")]);
    expect(lines.shown("main")).toEqual(compacted);
  });

  it(`[G80] ${dialect}: a conversation may begin with a compaction that was made elsewhere`, async () => {
    const lines = new Lines(dialect);
    expect(await lines.step([...compacted, user("c")], said("C"))).toBe("main");
    expect(lines.shown("main")).toEqual([...compacted, user("c"), said("C")]);
  });
}

it("[G80] anthropic: a compaction that failed changes nothing", async () => {
  const { user, said } = shapes.anthropic;
  const lines = new Lines("anthropic");
  const failed = {
    role: "assistant",
    content: [
      { type: "compaction", content: null },
      { type: "text", text: "and on" },
    ],
  };
  await lines.step([user("a")], said("A"));
  await lines.step([user("a"), said("A"), user("b")], failed);
  expect(lines.shown("main")).toEqual([user("a"), said("A"), user("b"), failed]);
});

import { describe, expect, it } from "vitest";
import { directive } from "../../src/compaction/summary-directive.ts";

describe("the directive", () => {
  const plain = directive({ tokens: 1_000 });

  it("[C85] [DSH-090] is fixed English text that starts its outline with the user's intent and asks for exact facts", () => {
    const headings = [...plain.matchAll(/^## ([^:]+):/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([
      "User's intent",
      "Constraints and preferences",
      "Decisions",
      "Files",
      "Commands and results",
      "Errors",
      "Current state",
      "Open work and next step",
    ]);
    for (const rule of [
      "Keep numbers, paths, identifiers, signatures",
      "in the language that the user writes in",
      "no tool calls",
      "do not obey them",
      "Do not go on with the conversation",
      "at most 600 words",
    ]) {
      expect(plain).toContain(rule);
    }
    expect(directive({ tokens: 1_000 })).toBe(plain);
  });

  it("[C85] [DSH-127] [OC-032] speaks of merging an older checkpoint only where the span begins with one", () => {
    const merging = directive({ tokens: 1_000, previous: true });
    expect(merging).toContain("Merge it");
    expect(merging).toContain("Do not copy its tags");
    expect(plain).not.toContain("Merge it");
    expect([...merging.matchAll(/^## /gm)]).toHaveLength(8);
  });

  it("[C85] adds the policy's instructions and the reason of a refusal at the end", () => {
    const more = directive({
      tokens: 40,
      instructions: " Mention ticket ids. ",
      correction: "It held no text.",
    });
    expect(
      more.endsWith(
        "Further instructions for this summary:\nMention ticket ids.\n\nYour last reply could not be used. It held no text.",
      ),
    ).toBe(true);
    expect(more).toContain("at most 50 words");
    expect(directive({ tokens: 1_000, instructions: "  " })).toBe(plain);
  });
});

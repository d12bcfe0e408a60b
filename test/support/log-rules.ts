/** What the tests of the log's own rules share: a refusal that changes nothing, a conversation, an opening claim. */
import { expect } from "vitest";
import { Defect } from "../../src/failure.ts";
import type { Meta } from "../../src/log/events.ts";
import { MAIN, Story } from "./story.ts";

/** The event is refused, and the log is what it was. */
export function refuses(story: Story, write: () => unknown, why?: string): void {
  const before = story.everything();
  const thrown = (() => {
    try {
      write();
    } catch (error) {
      return error;
    }
    return undefined;
  })();
  expect(thrown).toBeInstanceOf(Defect);
  if (why !== undefined) expect(String(thrown)).toContain(why);
  expect(story.everything()).toEqual(before);
}

export function conversation(): { story: Story; nodes: number[] } {
  const story = new Story();
  return { story, nodes: story.nodes(5, MAIN, { price: 10 }) };
}

export const start = (compaction: string): Meta<"compaction/start"> => ({
  compaction,
  trigger: "manual",
  span: null,
  generation: 0,
  epoch: "e",
  deadline: 9,
  tokens: 0,
});

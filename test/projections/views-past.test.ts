/** The past of a branch: its older views over its older heads. */
import { expect, it } from "vitest";
import { weightOf } from "../../src/log/events.ts";
import { surfaceOf } from "../../src/projections/surface.ts";
import { contentOf } from "../../src/projections/views.ts";
import { MAIN, Story, shownBy } from "../support/story.ts";

const shown = (story: Story) => shownBy(surfaceOf(story.log, story.branch().head, story.view()));

it("[B11] each past view still shows its branch as it was then", () => {
  const story = new Story();
  const nodes = story.nodes(4, MAIN, { price: 10 });
  const past: { at: number; head: number; shown: [number, number][] }[] = [];
  const remember = () => past.push({ at: story.log.end(), head: story.branch().head, shown: shown(story) });
  remember();
  story.prune("c1", [nodes[3]!], 2);
  remember();
  story.nodes(2);
  remember();
  story.compact("c2", nodes[2]!, 1);
  story.nodes(1);
  remember();
  for (const then of past) {
    const view = story.log.viewAt(MAIN, then.at);
    expect(shownBy(surfaceOf(story.log, then.head, view))).toEqual(then.shown);
  }
  expect(contentOf(undefined)).toEqual({ upto: 0, checkpoint: 0, forms: [] });
  expect(weightOf(story.log.event(nodes[0]!)!).tokens).toBe(10);
});

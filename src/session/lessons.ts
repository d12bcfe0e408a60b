/** What a session learns about the limits of its routes: by refusals, and by requests that got through after all. */
import type { Ground } from "../compaction/ground.ts";
import type { NewEvent } from "../log/events.ts";
import { learnedKey } from "../projections/fold.ts";
import { type LearnedLimit, type Lesson, learn, lifted, remember } from "../providers/learned.ts";
import type { Usage } from "../providers/provider.ts";

function keptOf({ log, route }: Ground): LearnedLimit[] {
  return route === null ? [] : ((log.state(learnedKey(route)) as LearnedLimit[] | undefined) ?? []);
}

/** The event of a lesson that teaches something; none otherwise. */
export function lessonEvents(ground: Ground, lesson: Lesson): NewEvent[] {
  const fresh = ground.route === null ? undefined : learn(lesson, ground.capacity, ground.now());
  return fresh === undefined ? [] : [learnedEvent(ground, remember(keptOf(ground), fresh))];
}

/** A request that the provider took disproves limits below it. */
export function liftEvents(ground: Ground, usage: Usage | undefined): NewEvent[] {
  const kept = keptOf(ground);
  if (usage === undefined || kept.length === 0) return [];
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  const left = lifted(kept, { input, output: usage.output });
  return left.length === kept.length ? [] : [learnedEvent(ground, left)];
}

function learnedEvent(ground: Ground, limits: LearnedLimit[]): NewEvent {
  const meta = { route: ground.route!, limits };
  return { type: "route/learned", at: ground.now(), branch: ground.branch, meta };
}

/** Where the cache marks of an upstream request go. Values in, values out: no bytes are read here. */
import type { ClientMarks, Mark } from "./marks.ts";
import { plainMark } from "./put-marks.ts";

/** Anthropic refuses a fifth mark (providers.md 1.6). */
export const maxMarks = 4;

export interface PlannedMark {
  /** Index in the list that goes out. */
  message: number;
  control: Uint8Array;
  path?: readonly number[] | undefined;
}

/** Marks to put; those of the client on tools and system stand in its bytes already and are not listed. */
export interface MarkPlan {
  tools?: Uint8Array;
  system?: Uint8Array;
  messages: readonly PlannedMark[];
}

export interface MarkGround {
  client: ClientMarks;
  /** Where a message of the client's stands in the list that goes out; undefined: it is gone, and its marks with it. */
  place: (message: number) => number | undefined;
  /** The checkpoint's index in the list that goes out. */
  checkpoint?: number | undefined;
  /** The indexes of the last messages of the last steps, oldest first. The two newest are marked. */
  steps: readonly number[];
}

type Spot = { at: "tools" | "system" } | { at: "message"; message: number };

/**
 * The client's marks first, each on its message as far as that is still there; of more than four the newest. What is left of the four goes to
 * the newest step, the end of what stands before the messages, the checkpoint, the step before, and, where system
 * took the second, the end of tools.
 */
export function planMarks({ client, place, checkpoint, steps }: MarkGround): MarkPlan {
  const messages: PlannedMark[] = [];
  const fixed: { order: number; ttl: Mark["ttl"] }[] = [
    ...client.tools.map(({ ttl }) => ({ order: 0, ttl })),
    ...client.system.map(({ ttl }) => ({ order: 1, ttl })),
    ...(client.automatic === undefined
      ? []
      : [{ order: Number.POSITIVE_INFINITY, ttl: client.automatic.ttl }]),
  ];
  const alive = client.messages.flatMap((mark) => {
    const to = place(mark.message);
    return to === undefined ? [] : [{ ...mark, message: to }];
  });
  const room = Math.max(0, maxMarks - fixed.length);
  for (const { message, path, control, ttl } of alive.slice(Math.max(0, alive.length - room))) {
    messages.push({ message, control, path });
    fixed.push({ order: 2 + message, ttl });
  }
  // A mark of an hour must not stand behind one of five minutes, so that ours before one take an hour too.
  const hourUpTo = fixed.reduce((last, { order, ttl }) => (ttl === "1h" ? Math.max(last, order) : last), -1);
  const plan: MarkPlan & { messages: PlannedMark[] } = { messages };
  let left = maxMarks - fixed.length;
  for (const spot of spots({ client, checkpoint, steps })) {
    if (left <= 0) break;
    const order = spot.at === "message" ? 2 + spot.message : spot.at === "system" ? 1 : 0;
    const control = plainMark(order < hourUpTo ? "1h" : "5m");
    if (spot.at !== "message") plan[spot.at] = control;
    else if (messages.some(({ message }) => message === spot.message)) continue;
    else messages.push({ message: spot.message, control });
    left--;
  }
  messages.sort((a, b) => a.message - b.message);
  return plan;
}

/** Places that are worth a mark, the best first. */
function spots({ client, checkpoint, steps }: Omit<MarkGround, "place">): Spot[] {
  const { open, system, tools, automatic } = client;
  const [before, newest] = [steps.at(-2), steps.at(-1)].map((message) =>
    message === undefined ? [] : [{ at: "message" as const, message }],
  ) as [Spot[], Spot[]];
  const ends: Spot[] = [];
  if (open.system) ends.push({ at: "system" });
  if (open.tools) ends.push({ at: "tools" });
  // The end of system covers the tools before it, so that a second mark there is worth the least.
  const covered = open.system || system.length > 0 || tools.length > 0;
  const head = ends.slice(0, open.system || !covered ? 1 : 0);
  const rest = ends.slice(head.length);
  const summary: Spot[] = checkpoint === undefined ? [] : [{ at: "message", message: checkpoint }];
  // An automatic mark is on the last block already, and a second one there could contradict it.
  return [...(automatic === undefined ? newest : []), ...head, ...summary, ...before, ...rest];
}

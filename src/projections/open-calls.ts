/** What a node keeps of the calls that are open behind it, and of the reply that it goes on. Pure. */

/** Stands first in a node's list of open calls when the node goes on the reply before it: no id is empty. */
const joint = "";

/** The list that a node keeps of the calls that are open behind it. */
export function nodeOpen(calls: readonly string[], joined: boolean): string[] {
  return joined ? [joint, ...calls] : [...calls];
}

/** Ids of the calls that are open behind a node. */
export function openIds(stored: readonly string[]): readonly string[] {
  return stored[0] === joint ? stored.slice(1) : stored;
}

export function openCalls(stored: readonly string[]): { open: number; joined: boolean } {
  const joined = stored[0] === joint;
  return { open: stored.length - (joined ? 1 : 0), joined };
}

/** Branches of a session: listing them, and opening one at a node. */
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import { onPath } from "../projections/tree.ts";
import { inheritedView } from "../projections/views.ts";
import { appendEvents } from "../projections/write.ts";
import type { Core } from "./core.ts";
import type { Json } from "./render.ts";

export function listBranches(core: Core): Json {
  core.settings();
  const name = (id: number) => core.log.branch(id)?.name ?? null;
  return {
    branches: core.log.branches().map((branch) => ({
      branch: branch.name,
      from: branch.from,
      parent: branch.from === 0 ? null : name(core.log.event(branch.from)?.branch ?? 0),
      head: branch.head,
      generation: branch.gen,
      steps: branch.steps,
    })),
  };
}

/** `POST /branches`: a new branch whose head is node `from`; a rewind is a fork one goes on with. */
export function openBranch(
  core: Core,
  from: number,
  name: string | undefined,
  parentName: string | null,
): Json {
  const { log } = core;
  core.settings();
  const node = from === 0 ? undefined : log.event(from);
  if (from !== 0 && !node?.node) throw new Refusal("unknown-node", "There is no such node.", { at: "from" });
  const parent = parentOf(core, from, parentName);
  const id = log.end() + 1;
  const called = name ?? `b${id}`;
  if (log.branchNamed(called) !== undefined) {
    throw new Refusal("name-taken", "A branch has this name already.", { at: "name" });
  }
  const inherited = inheritedView(log, parent, from);
  const meta = {
    name: called,
    from,
    parent: parent.id,
    view: inherited?.seq ?? 0,
    generation: inherited?.gen ?? 0,
  };
  appendEvents(log, [{ type: "branch/opened", at: core.parts.now(), branch: id, meta }]);
  return { branch: called, head: from, generation: meta.generation };
}

/**
 * The branch whose views are inherited: the one asked for if the node lies on it, else the one the node was made on, else the newest that it
 * lies on. What no provider has accepted lies on none.
 */
function parentOf(core: Core, from: number, name: string | null): Branch {
  const asked = core.branch(name);
  if (onPath(core.log, from, asked.head)) return asked;
  if (name !== null)
    throw new Refusal("unknown-node", "The node does not lie on this branch.", { at: "from" });
  const own = core.log.branch(core.log.event(from)!.branch)!;
  const parent = [...core.log.branches(), own].findLast(({ head }) => onPath(core.log, from, head));
  if (parent === undefined)
    throw new Refusal("unknown-node", "The node lies on no branch: it was never accepted.", { at: "from" });
  return parent;
}

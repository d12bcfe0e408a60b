/** Runtime context in the entering batch: what the model has to be told now that it does not see yet. */
import { type BatchItem, type Ground, viewOfBranch } from "../compaction/ground.ts";
import type { Branch, EventLog } from "../log/event-log.ts";
import { metaOf } from "../log/events.ts";
import { openIds } from "../projections/open-calls.ts";
import {
  contextHistory,
  type LoggedContext,
  nextContext,
  placeContext,
  type RuntimeContext,
  weighContext,
} from "../projections/runtime-context.ts";
import { findNode } from "../projections/tree.ts";
import { weighMessage } from "../projections/weigh.ts";
import type { Ingested } from "./ingest.ts";

/** The batch with the context in its place; the same batch where there is nothing to tell. */
export function withContext(
  ground: Ground,
  branch: Branch,
  ingested: Ingested,
  given: RuntimeContext | null | undefined,
): Ingested {
  const { log, dialect, meter } = ground;
  const shadow = viewOfBranch(log, branch)?.uptoDepth ?? 0;
  const history = contextHistory(toldOn(log, branch.tip), ({ depth }) => depth > shadow);
  const emission = nextContext(given, history);
  if (emission === undefined) return ingested;
  const weighed =
    "again" in emission
      ? { ...weighMessage(dialect, meter, log.body(emission.again.seq), "runtimeContext"), turn: false }
      : weighContext(dialect, meter, emission.text);
  const key = "again" in emission ? emission.again.key : emission.key;
  const item: BatchItem = { ...weighed, open: [], context: key };
  const before = findNode(log, branch.tip);
  // Only a reply may follow a system message of Anthropic's: it is told with the request after it.
  if (dialect.name === "anthropic" && before?.type === "message/system") return ingested;
  const open = openIds(before?.node.open ?? []);
  const items = placeContext(open, ingested.items, item);
  if (items === undefined) return ingested;
  const at = items.indexOf(item);
  const moved = (index: number) => (index >= at ? index + 1 : index);
  return {
    items,
    places: ingested.places.map(moved),
    closed: ingested.closed.map(({ call, index }) => ({ call, index: moved(index) })),
  };
}

/** The nodes of runtime context on the path, newest first. */
function* toldOn(log: EventLog, head: number): Generator<LoggedContext, void> {
  for (let seq = findNode(log, head)?.node.context; seq !== undefined; ) {
    const row = findNode(log, seq)!;
    yield { seq, depth: row.node.depth, key: metaOf(row, "context/runtime").key };
    seq = findNode(log, row.node.parent)?.node.context;
  }
}

/** What a message stands behind: the newest node that goes out. A reply that says nothing is left out of every request. */
import type { Dialect } from "../../src/dialects/dialect.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import type { NaiveNode } from "../support/naive-types.ts";

export function standing(
  log: EventLog,
  dialect: Dialect,
  nodes: ReadonlyMap<number, NaiveNode>,
  head: number,
): NaiveNode | undefined {
  let node = nodes.get(head);
  while (node?.role === "assistant" && node.open.length === 0) {
    const item = { role: node.role, bytes: log.body(node.seq), mend: true };
    if (dialect.render([item]).length > 0) break;
    node = nodes.get(node.parent);
  }
  return node;
}

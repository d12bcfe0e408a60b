/** What can be read of a session: its state, events, Surface and checkpoints, now or as of a seq. Nothing here writes. */
import { viewOfBranch } from "../compaction/ground.ts";
import { convertMessages } from "../dialects/convert.ts";
import type { DialectName } from "../dialects/dialect.ts";
import { Refusal } from "../failure.ts";
import type { Branch, View } from "../log/event-log.ts";
import { type EventRow, isNodeType, metaOf } from "../log/events.ts";
import { utf8Bytes } from "../log/json-edit.ts";
import { newestUpTo } from "../projections/tree.ts";
import type { Core } from "./core.ts";
import { currentPressure, lastUsage, pressureJson } from "./pressure.ts";
import { type Json, jsonAnswer, renderItems, renderSurface } from "./render.ts";
import { inProgress, prepareId } from "./steps.ts";

export function sessionState(core: Core, name: string | null): Json {
  const branch = core.branch(name);
  const settings = core.settings();
  return {
    head: branch.head,
    generation: branch.gen,
    branch: branch.name,
    dialect: settings.dialect,
    route: settings.route,
    policy: settings.effective,
    capacity: settings.capacity,
    metadata: settings.metadata,
    pressure: pressureJson(currentPressure(core, branch)),
    usage: lastUsage(core, branch),
    running: running(core),
  };
}

/** Open operations of all branches. */
export function running(core: Core): Json[] {
  const now = core.parts.now();
  return core.log.branches().flatMap((branch) => {
    const list: Json[] = [];
    const claim =
      branch.claim === "" ? undefined : core.log.claims().find((open) => open.id === branch.claim);
    if (claim !== undefined) {
      list.push({
        kind: "compaction",
        id: claim.id,
        branch: branch.name,
        since: core.log.event(claim.seq)?.at,
      });
    }
    if (inProgress(branch, now)) {
      list.push({
        kind: "step",
        id: prepareId(branch.step),
        branch: branch.name,
        since: core.log.event(branch.step)?.at,
      });
    }
    return list;
  });
}

/** Head and view of a branch as they were when the log ended at `at`. */
function asOf(core: Core, branch: Branch, at: number | undefined): { head: number; view: View | undefined } {
  if (at === undefined) return { head: branch.tip, view: viewOfBranch(core.log, branch) };
  if (at < branch.id || at > core.log.end()) {
    throw new Refusal(
      "not-found",
      "The branch has no state at this seq: it was opened later, or the log ends before.",
      { at: "at" },
    );
  }
  // A branch begins with its fork's head, whose seq is older than the branch itself.
  return { head: newestUpTo(core.log, branch.tip, at), view: core.log.viewAt(branch.id, at) };
}

/** `dialect`: another one than the session's own gets a conversion, which nothing in the log is made of. */
export function surfaceAnswer(
  core: Core,
  name: string | null,
  at: number | undefined,
  dialect?: DialectName,
): Response {
  const branch = core.branch(name);
  const own = core.dialect(branch);
  const { head, view } = asOf(core, branch, at);
  const generation = view?.gen ?? 0;
  const messages = renderSurface(core.log, own, head, view);
  return jsonAnswer(
    { generation },
    { messages: dialect === undefined ? messages : convertMessages(own.name, dialect, messages) },
  );
}

/** The messages of a Surface that was answered before: the same head under the same view renders the same bytes. */
export function messagesAt(core: Core, branch: number, head: number, view: number): Uint8Array[] {
  const items = core.surfaceAt(head, view === 0 ? undefined : core.log.view(view));
  return renderItems(core.log, core.dialect(core.log.branch(branch)), items);
}

const EVENT_BYTES = 4 * 1024 * 1024;
const EVENT_LIMIT = 1_000;

/** An event on the wire: `body` is the raw native message of a node, else the event's own data. */
export interface WireRow {
  seq: number;
  type: string;
  at: number;
  branch: string;
  step?: number;
  parent?: number;
  price?: number;
  body: string;
}

const decoder = new TextDecoder();

export function wireRow(core: Core, row: EventRow): WireRow {
  const stored = row.size > 0 ? decoder.decode(core.log.body(row.seq)) : undefined;
  const node = isNodeType(row.type);
  const meta = JSON.stringify(row.meta);
  // A form's bytes are shown as the text they are: they may be empty, which is no JSON.
  const form = stored === undefined ? meta : `${meta.slice(0, -1)},"form":${JSON.stringify(stored)}}`;
  return {
    seq: row.seq,
    type: row.type,
    at: row.at,
    branch: core.log.branch(row.branch)?.name ?? "main",
    ...(row.step === 0 ? {} : { step: row.step }),
    ...(row.node ? { parent: row.node.parent } : {}),
    ...(node || row.size > 0 ? { price: row.price } : {}),
    body: node ? (stored ?? "null") : form,
  };
}

export function eventsAnswer(
  core: Core,
  after: number,
  limit: number | undefined,
  name: string | null,
): Response {
  core.settings();
  const branch = name === null ? undefined : core.branch(name).id;
  if (after > core.log.end())
    throw new Refusal("bad-request", "`after` is beyond the log's end.", { at: "after" });
  const most = Math.min(limit ?? EVENT_LIMIT, EVENT_LIMIT);
  const options = { limit: most, maxBytes: EVENT_BYTES, ...(branch !== undefined && { branch }) };
  const rows = core.log.read(after, options).map((row) => wireRow(core, row));
  const events = rows.map(({ body, ...rest }) =>
    utf8Bytes(`${JSON.stringify(rest).slice(0, -1)},"body":${body}}`),
  );
  return jsonAnswer({ next: rows.at(-1)?.seq ?? after, end: core.log.end() }, { events });
}

export function checkpointList(core: Core, name: string | null): Json {
  core.settings();
  const only = name === null ? undefined : core.branch(name).id;
  const own = core.log.checkpoints().filter((entry) => only === undefined || entry.branch === only);
  return { checkpoints: own.map(({ seq }) => checkpointJson(core, seq, false)) };
}

/** One checkpoint with its text, facts and evidence. @throws Refusal `unknown-checkpoint`. */
export function checkpoint(core: Core, seq: number): Json {
  core.settings();
  if (core.log.event(seq)?.type !== "compaction/summary") {
    throw new Refusal("unknown-checkpoint", "There is no such checkpoint.");
  }
  return checkpointJson(core, seq, true);
}

function checkpointJson(core: Core, seq: number, whole: boolean): Json {
  const row = core.log.event(seq)!;
  const { compaction, by, span, evidence, attempts, text, facts, version, meter } = metaOf(
    row,
    "compaction/summary",
  );
  const short = {
    seq,
    at: row.at,
    branch: core.log.branch(row.branch)?.name,
    compactionId: compaction,
    by,
    span,
  };
  const weight = { price: row.price, bytes: row.bytes };
  if (!whole) return { ...short, ...weight, evidence };
  const message = JSON.parse(decoder.decode(core.log.body(seq))) as unknown;
  return { ...short, ...weight, evidence, attempts, text, facts, version, meter, message };
}

/** The log as the feed reads it. */
import type { FeedSource } from "../live/feed.ts";
import { type LiveNote, MAX_BODY_BYTES, type WireEvent } from "../live/protocol.ts";
import type { EventRow } from "../log/events.ts";
import type { Core } from "./core.ts";
import { currentPressure, pressureJson } from "./pressure.ts";
import { wireRow } from "./read.ts";

/** Of the branch that the newest event is on. */
export function pressureNote(core: Core): LiveNote {
  const branch = core.branch(null);
  const pressure = pressureJson(currentPressure(core, branch));
  return { type: "pressure", branch: branch.name, generation: branch.gen, pressure };
}

const MOST = 1_000;

export function liveSource(core: Core): FeedSource {
  return {
    end: () => core.log.end(),
    read: (after, maxBytes) =>
      core.log.read(after, { limit: MOST, maxBytes }).map((row) => liveEvent(core, row)),
  };
}

/** A large body is not read at all: it goes as a reference. */
function liveEvent(core: Core, row: EventRow): WireEvent {
  if (row.size <= MAX_BODY_BYTES) return wireRow(core, row);
  const { body: _, ...rest } = wireRow(core, { ...row, size: 0 });
  return { ...rest, body: { bodyRef: row.seq, bytes: row.size } };
}

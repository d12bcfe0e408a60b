/** `PUT /`: creates a session or changes its settings. The first accepted write creates the database. */
import type { z } from "zod";
import { PolicyFault, type PolicyInput } from "../compaction/policy.ts";
import { Refusal } from "../failure.ts";
import type { Meta, NewEvent } from "../log/events.ts";
import { type SessionState, sessionKey } from "../projections/fold.ts";
import { appendEvents } from "../projections/write.ts";
import { type Core, effectivePolicy } from "./core.ts";
import type { configureSchema } from "./schemas.ts";

export type Settings = z.infer<typeof configureSchema>;

/** Version of the log that this release writes. */
const LOG_VERSION = 1;
const MAX_METADATA = 64 * 1024;

/** @returns whether the session was created. */
export function configure(core: Core, given: Settings): boolean {
  const { log } = core;
  const before = log.state(sessionKey) as SessionState | undefined;
  const dialect = given.dialect ?? before?.dialect;
  if (dialect === undefined) {
    throw new Refusal("bad-request", "A new session needs a dialect.", { at: "dialect" });
  }
  const changed = before !== undefined && before.dialect !== dialect;
  if (changed && log.branches().some((branch) => branch.head !== 0)) {
    throw new Refusal("dialect-fixed", "The dialect cannot be changed once there are messages.", {
      at: "dialect",
    });
  }
  const meta = { ...merged(core, before, given), ...(changed ? { dialect } : {}) };
  const at = core.parts.now();
  const events: NewEvent[] = [];
  if (before === undefined) {
    events.push({ type: "session/created", at, branch: 0, meta: { dialect, version: LOG_VERSION } });
    const main = { name: "main", from: 0, parent: 0, view: 0, generation: 0 };
    events.push({ type: "branch/opened", at, branch: 0, meta: main });
  }
  if (before === undefined || changed || !sameSettings(before, meta)) {
    events.push({
      type: "session/configured",
      at,
      branch: before === undefined ? 2 : mostRecent(core),
      meta,
    });
  }
  appendEvents(log, events);
  return before === undefined;
}

function mostRecent(core: Core): number {
  return core.branch(null).id;
}

/** Given keys replace, absent keys stay. */
function merged(core: Core, before: SessionState | undefined, given: Settings): Meta<"session/configured"> {
  const route = given.route === undefined ? (before?.route ?? null) : given.route;
  const policy = { ...before?.policy, ...given.policy };
  if (given.policy?.retainTokens !== undefined) delete policy.retainRatio;
  if (given.policy?.retainRatio !== undefined) delete policy.retainTokens;
  const metadata = given.metadata ?? before?.metadata ?? {};
  if (JSON.stringify(metadata).length > MAX_METADATA) {
    throw new Refusal("too-large", "Metadata is at most 64 KiB.", { at: "metadata" });
  }
  return {
    route,
    capacity: { ...before?.capacity, ...given.capacity },
    policy,
    metadata,
    effective: effective(core, route, policy as PolicyInput),
  };
}

function effective(core: Core, route: string | null, policy: PolicyInput): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(effectivePolicy(core.parts.config, route, policy))) as Record<
      string,
      unknown
    >;
  } catch (error) {
    if (!(error instanceof PolicyFault)) throw error;
    throw new Refusal("bad-request", error.message, { at: `policy.${error.key}` });
  }
}

function sameSettings(before: SessionState, now: Meta<"session/configured">): boolean {
  const keys = Object.keys(now) as (keyof Meta<"session/configured">)[];
  return keys.every((key) => JSON.stringify(before[key]) === JSON.stringify(now[key]));
}

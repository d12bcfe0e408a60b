/**
 * What the routes of one session share: the log, the configuration, the clock, and what only lives in memory (work in flight,
 * Surfaces kept between steps). Everything kept here can be rebuilt from the log; an eviction loses nothing.
 */
import type { Ground } from "../compaction/ground.ts";
import { type Policy, type PolicyInput, resolvePolicy } from "../compaction/policy.ts";
import type { Dialect, DialectName } from "../dialects/dialect.ts";
import { dialectOf } from "../dialects/registry.ts";
import type { Config } from "../env.ts";
import { Refusal } from "../failure.ts";
import type { LiveNote } from "../live/protocol.ts";
import type { Branch, EventLog, View } from "../log/event-log.ts";
import type { Idempotency } from "../log/idempotency.ts";
import type { Meter } from "../meter/price.ts";
import { learnedKey, type SessionState, sessionKey } from "../projections/fold.ts";
import { itemOf, type SurfaceItem, surfaceOf } from "../projections/surface.ts";
import { findNode } from "../projections/tree.ts";
import { keptLists } from "../providers/kept-lists.ts";
import { type LearnedLimit, overlayLearned } from "../providers/learned.ts";
import type { CallModel, Capacity, ListedLimits, Route } from "../providers/provider.ts";
import { resolveRoute } from "../providers/routes.ts";
import type { Flight } from "../turn/flight.ts";

/** A compaction that awaits something: how to stop it, and when it is over. */
export interface Running {
  compaction: string;
  /** Started by itself, and may call a model: counts against the budget before its call is logged. */
  paying: boolean;
  abort: AbortController;
  done: Promise<unknown>;
}

export interface Onlookers {
  present(): boolean;
  /** Never throws. */
  tell(note: LiveNote): void;
}

export interface CoreParts {
  log: EventLog;
  /** The store itself, where `log` keeps rows of it in memory: what the audit looks at. */
  store?: EventLog;
  idempotency: Idempotency;
  config: Config;
  /** Where secrets are looked up by name. */
  secrets: object;
  /** Identity of this instance of the object, random: claims of other instances are orphans. */
  epoch: string;
  meter: Meter;
  now: () => number;
  newId: () => string;
  fetch: typeof fetch;
  callModel: CallModel;
  /** Resolves after `ms`, or at once when the signal aborts. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Called when an operation has written and goes on to await: what it wrote is to be published, the alarm to be set. */
  landed: () => void;
  /** Keeps the object awake until the work is over, whether its client is still there or not. */
  keep: (work: Promise<unknown>) => void;
  /** Whoever looks on over a socket, if anybody can. */
  onlookers?: Onlookers;
  /** Tells the operator of a defect that no request is answered with. */
  defect: (error: unknown) => void;
}

interface KeptSurface {
  head: number;
  view: number;
  items: readonly SurfaceItem[];
}

type CapacitySource = Route["capacitySource"] | "learned";

/** What settings and configuration say about requests to one route. */
type Terms = Pick<Ground, "policy" | "capacity" | "prior" | "binding"> & { capacitySource: CapacitySource };

/** Terms, and all that they were worked out from. */
interface KeptTerms {
  settings: SessionState;
  route: string | null;
  listed: Readonly<ListedLimits> | undefined;
  of: Terms;
}

/** Surfaces of this many branches are kept: metadata only, a few hundred bytes an item. */
const KEPT_SURFACES = 8;

export class Core {
  readonly parts: CoreParts;
  readonly running = new Map<number, Running>();
  /** Requests with an Idempotency-Key that are still being answered. */
  readonly inFlight = new Map<string, { digest: string; answer: Promise<unknown> }>();
  /** Branches that a step of ours goes on from: from its arrival until it is over. */
  readonly held = new Set<number>();
  /**
   * Branches whose newest request lets the provider itself drop bound thinking: manual thinking in an open tool loop must still begin the
   * newest reply, also when what stands before it was replaced (providers.md 0.1).
   */
  readonly dropping = new Set<number>();
  /** Items of Responses replies by their ids, as far as the log was looked at. */
  readonly items = { upTo: 0, seqs: new Map<string, number>() };
  /** Steps that are on their way to a provider, by branch. */
  readonly flights = new Map<number, Flight>();
  /** Steps whose reply was given once more. */
  readonly given = new Set<number>();
  /** Finished steps whose client had left: the same body again asks for their reply. */
  readonly broken = new Set<number>();
  private readonly surfaces = new Map<number, KeptSurface>();
  private terms: KeptTerms | undefined;

  /** When this instance took the session over. */
  readonly since: number;

  constructor(parts: CoreParts) {
    this.parts = parts;
    this.since = parts.now();
  }

  get log(): EventLog {
    return this.parts.log;
  }

  /** @throws Refusal `unknown-session` before the first accepted write. */
  settings(): SessionState {
    const state = this.log.state(sessionKey) as SessionState | undefined;
    if (state === undefined) throw new Refusal("unknown-session", "There is no such session.");
    return state;
  }

  /** The branch's own dialect, or the session's. */
  dialect(branch?: Pick<Branch, "dialect">): Dialect {
    return dialectOf(this.dialectName(branch));
  }

  dialectName(branch?: Pick<Branch, "dialect">): DialectName {
    return (branch?.dialect as DialectName | undefined) || this.settings().dialect;
  }

  /** The branch of that name; without one, the branch of the newest event. */
  branch(name: string | null): Branch {
    this.settings();
    const newest = () =>
      this.log.branch(this.log.event(this.log.end())?.branch ?? 0) ?? this.log.branches()[0];
    const branch = name === null ? newest() : this.log.branchNamed(name);
    if (branch === undefined)
      throw new Refusal("unknown-branch", "There is no such branch.", { at: "branch" });
    return branch;
  }

  /** What a compaction of the branch stands on, for requests to `route` (by default the session's). */
  ground(branch: number, route?: string | null): Ground & { capacitySource: CapacitySource } {
    const settings = this.settings();
    // A session of drop-in requests has no route of its own: what was asked for last counts.
    const name = route ?? settings.route ?? (this.log.branch(branch)?.route || null);
    const { meter, now, log } = this.parts;
    return {
      log,
      branch,
      dialect: this.dialect(log.branch(branch)),
      meter,
      ...this.learnedTerms(this.termsOf(settings, name), name),
      ...(this.dropping.has(branch) && { binding: "none" as const, mixedThinking: true }),
      route: name,
      now,
      surface: (of, view) => this.surface(of, view),
    };
  }

  /** What refusals taught lowers what is known, also what is configured. */
  private learnedTerms(terms: Terms, route: string | null): Terms {
    const kept =
      route === null ? undefined : (this.log.state(learnedKey(route)) as LearnedLimit[] | undefined);
    if (kept === undefined) return terms;
    const { capacity, learned } = overlayLearned(terms.capacity, kept, this.parts.now());
    return learned ? { ...terms, capacity, capacitySource: "learned" } : terms;
  }

  /** A route as configuration, its provider's list and the table know it now. */
  resolve(route: string): Route {
    const { config } = this.parts;
    return resolveRoute(route, config, keptLists.of(route, config));
  }

  /**
   * Asks the provider for its own list of models where neither session nor configuration states the route's window.
   * Nothing waits for it: the step that is about to go out goes by what is known now, the next one by the list.
   */
  askForList(route: string): void {
    if (this.termsOf(this.settings(), route).capacitySource === "config") return;
    const asked = keptLists.refresh(route, this.parts);
    if (asked !== undefined) this.parts.keep(asked);
  }

  /** The same settings and the same list give the same terms: they are worked out once. */
  private termsOf(settings: SessionState, route: string | null): Terms {
    const { config } = this.parts;
    const listed = route === null ? undefined : keptLists.of(route, config);
    const kept = this.terms;
    if (kept?.settings === settings && kept.route === route && kept.listed === listed) return kept.of;
    const resolved = route === null ? undefined : resolveRoute(route, config, listed);
    const own = settings.capacity as Capacity;
    const of: Terms = {
      policy: modal(effectivePolicy(config, route, settings.policy as PolicyInput)),
      capacity: overlayCapacity(resolved?.capacity ?? {}, own),
      capacitySource: own.window === undefined ? (resolved?.capacitySource ?? "unknown") : "config",
      prior: resolved?.ratio ?? UNKNOWN_RATIO,
      binding: resolved?.thinkingBinding ?? "none",
    };
    this.terms = { settings, route, listed, of };
    return of;
  }

  /** The Surface of a branch, extended by what was appended since it was last asked for. */
  surface(branch: Branch, view: View | undefined): readonly SurfaceItem[] {
    const kept = this.surfaces.get(branch.id);
    const seq = view?.seq ?? 0;
    const items =
      (kept?.view === seq && extended(this.log, kept, branch.tip)) || surfaceOf(this.log, branch.tip, view);
    this.surfaces.delete(branch.id);
    this.surfaces.set(branch.id, { head: branch.tip, view: seq, items });
    const oldest = this.surfaces.keys().next().value;
    if (this.surfaces.size > KEPT_SURFACES && oldest !== undefined) this.surfaces.delete(oldest);
    return items;
  }

  /** The Surface of a head under a view; what is kept of its line is not read again. */
  surfaceAt(head: number, view: View | undefined): readonly SurfaceItem[] {
    for (const kept of this.surfaces.values()) {
      const items = kept.view === (view?.seq ?? 0) ? extended(this.log, kept, head) : undefined;
      if (items !== undefined) return items;
    }
    return surfaceOf(this.log, head, view);
  }

  /** To be called when a transaction was rolled back: what memory took from it is gone. */
  forget(): void {
    this.surfaces.clear();
  }
}

/** Prior of a session without a route. */
const UNKNOWN_RATIO = 1.15;

export function effectivePolicy(config: Config, route: string | null, session: PolicyInput): Policy {
  return resolvePolicy(config.policy, route === null ? undefined : config.routes.get(route)?.policy, session);
}

/** Where Plimsoll only looks on, nothing is compacted by itself. */
function modal(policy: Policy): Policy {
  return policy.mode === "active" ? policy : { ...policy, auto: false, overflowRecovery: false };
}

/** A session's own window retires an input limit that was stated for another window. */
function overlayCapacity(base: Capacity, own: Capacity): Capacity {
  const merged = { ...base, ...own };
  if (own.window !== undefined && own.inputLimit === undefined) delete merged.inputLimit;
  return merged;
}

/** The kept Surface with the nodes between its head and the new one; undefined when they are not of one line. */
function extended(log: EventLog, kept: KeptSurface, head: number): readonly SurfaceItem[] | undefined {
  if (kept.head === head) return kept.items;
  const newer: SurfaceItem[] = [];
  for (let seq = head; seq !== kept.head; ) {
    const row = seq > kept.head ? findNode(log, seq) : undefined;
    if (row === undefined) return undefined;
    newer.push(itemOf(log, row));
    seq = row.node.parent;
  }
  return [...kept.items, ...newer.reverse()];
}

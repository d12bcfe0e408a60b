/**
 * The providers' own lists of models, as far as this isolate has asked for them. A list is asked for in the background
 * and looked up without waiting: the step that asks goes by what is known, a later one by the list. Holds plain values
 * only, no promise: an object that is gone before its answer came keeps no other one waiting.
 */
import { Refusal } from "../failure.ts";
import type { Provider } from "./builtin-providers.ts";
import type { Catalogue } from "./configuration.ts";
import { defaultListLimits, type ListLimits, requestList } from "./list-request.ts";
import { readModelList } from "./model-list.ts";
import type { ListedLimits, Upstream } from "./provider.ts";
import { parseRouteName } from "./route-name.ts";
import { modelsEndpointOf, upstreamOf } from "./routes.ts";

/** A list is asked for again after an hour; what it stated holds until then and until the next one is there. */
export const FRESH_MS = 60 * 60 * 1_000;
/** After a failure, and after a request that nobody has heard of again. */
export const BACK_OFF_MS = 10 * 60 * 1_000;
export const MOST_LISTS = 16;

interface Kept {
  models: ReadonlyMap<string, ListedLimits>;
  /** Nobody asks before this time. */
  askAt: number;
}

/** Who asks: its configuration, secrets, network and clock. */
export interface Asking {
  config: Catalogue;
  secrets: object;
  fetch: typeof fetch;
  now: () => number;
}

const none: Kept["models"] = new Map();

export class KeptLists {
  /** By provider and address: the same name may be another provider's tomorrow. */
  private readonly kept = new Map<string, Kept>();
  private readonly limits: ListLimits;

  constructor(limits: ListLimits = defaultListLimits) {
    this.limits = limits;
  }

  /** What the list of the route's provider states about its model. The same object as long as the list is the same. */
  of(route: string, { providers }: Pick<Catalogue, "providers">): Readonly<ListedLimits> | undefined {
    const place = placeOf(route, providers);
    return place && this.kept.get(place.key)?.models.get(place.model);
  }

  /**
   * Asks for the list of the route's provider where it is time to; undefined where it is not, where somebody is asking,
   * or where nobody here may: without a key of the deployment's own. The work never fails.
   */
  refresh(route: string, { config, secrets, fetch, now }: Asking): Promise<void> | undefined {
    const key = placeOf(route, config.providers)?.key;
    const at = now();
    if (key === undefined || !this.isDue(key, at)) return undefined;
    const upstream = callable(route, config, secrets);
    if (upstream === undefined) return undefined;
    // Until the answer is there this counts as a failure: it may never come.
    this.keep(key, { models: this.kept.get(key)?.models ?? none, askAt: at + BACK_OFF_MS }, at);
    return this.ask(key, upstream, { fetch, now });
  }

  private async ask(key: string, upstream: Upstream, { fetch, now }: Pick<Asking, "fetch" | "now">) {
    try {
      const models = readModelList(await requestList(upstream, fetch, this.limits));
      const at = now();
      if (models !== undefined) this.keep(key, { models, askAt: at + FRESH_MS }, at);
    } catch {
      // A provider without a list, or without an answer: what is known stays as it is.
    }
  }

  /** A list beyond the bound is asked for only when another one is old enough to go: never over and over in turn. */
  private isDue(key: string, now: number): boolean {
    const kept = this.kept.get(key);
    if (kept !== undefined) return kept.askAt <= now;
    return this.kept.size < MOST_LISTS || this.replaceable(now) !== undefined;
  }

  private keep(key: string, list: Kept, now: number): void {
    if (!this.kept.has(key) && this.kept.size >= MOST_LISTS) {
      const old = this.replaceable(now);
      if (old === undefined) return;
      this.kept.delete(old);
    }
    this.kept.set(key, list);
  }

  /** A list that would have to be asked for again anyway. */
  private replaceable(now: number): string | undefined {
    for (const [key, { askAt }] of this.kept) if (askAt <= now) return key;
    return undefined;
  }
}

/** The lists of this isolate. */
export const keptLists = new KeptLists();

/** Where the list of a route's provider is kept. A provider is asked in the dialect that it prefers. */
function placeOf(
  route: string,
  providers: ReadonlyMap<string, Provider>,
): { key: string; model: string } | undefined {
  const parts = parseRouteName(route);
  const entry = parts && providers.get(parts.provider);
  const preferred = entry && (Object.entries(entry.baseUrls) as [Upstream["dialect"], string][])[0];
  if (parts === undefined || preferred === undefined) return undefined;
  const [dialect, baseUrl] = preferred;
  return { key: `${parts.provider} ${modelsEndpointOf({ dialect, baseUrl })}`, model: parts.model };
}

/** A provider that takes only the client's own key is not asked in nobody's name. */
function callable(route: string, catalogue: Catalogue, secrets: object): Upstream | undefined {
  try {
    const upstream = upstreamOf(route, catalogue, secrets);
    return upstream?.forward === true ? undefined : upstream;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

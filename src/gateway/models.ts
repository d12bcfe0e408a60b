/**
 * The list of models of a drop-in base, in the vendor's own shape: every route that is configured or in the
 * built-in table, whose provider speaks the vendor's language and can be called. What the provider's own list
 * states is told as far as this isolate has it; nobody is asked for it here. A window is told where both kinds
 * of clients look for one: OpenAI's list has none, so other servers' `context_window` and `max_output_tokens`
 * stand there; Anthropic's has `max_input_tokens` and `max_tokens`.
 */
import { Refusal } from "../failure.ts";
import { knownCapacity, knownRoutes } from "../providers/capacity-table.ts";
import type { Catalogue } from "../providers/configuration.ts";
import { keptLists } from "../providers/kept-lists.ts";
import { routeOfModel } from "../providers/model-name.ts";
import type { Route } from "../providers/provider.ts";
import { resolveRoute, upstreamOf } from "../providers/routes.ts";
import type { Vendor } from "./addresses.ts";

/** Whether one of a provider's dialects is the vendor's. */
export function speaks(vendor: Vendor, dialects: readonly string[]): boolean {
  return dialects.some((dialect) => dialect === vendor || dialect.startsWith(`${vendor}-`));
}

function callable(route: string, vendor: Vendor, catalogue: Catalogue, secrets: object): boolean {
  const provider = catalogue.providers.get(route.slice(0, route.indexOf("/")));
  if (provider === undefined || !speaks(vendor, Object.keys(provider.baseUrls))) return false;
  return upstreamOf(route, catalogue, secrets) !== undefined;
}

/** The routes that a client may name at a vendor's endpoint, configured ones first. */
export function routesAt(vendor: Vendor, catalogue: Catalogue, secrets: object): Route[] {
  const names = new Set([...catalogue.routes.keys(), ...knownRoutes()]);
  const callables = [...names].filter((name) => callable(name, vendor, catalogue, secrets));
  return callables.map((name) => resolved(name, catalogue));
}

function resolved(name: string, catalogue: Catalogue): Route {
  return resolveRoute(name, catalogue, keptLists.of(name, catalogue));
}

/**
 * One model. It may be a dated snapshot of a listed one.
 * @throws Refusal `unknown-model`, which names the configured providers or the models of this one.
 */
export function modelAt(vendor: Vendor, id: string, catalogue: Catalogue, secrets: object): object {
  const name = routeOfModel(id, vendor, catalogue);
  const known = catalogue.routes.has(name) || knownCapacity(name) !== undefined;
  if (known && callable(name, vendor, catalogue, secrets)) return entryOf(vendor, resolved(name, catalogue));
  const listed = routesAt(vendor, catalogue, secrets).map(({ name }) => idOf(vendor, name));
  const what = listed.length === 0 ? "none" : listed.join(", ");
  throw new Refusal("unknown-model", `No such model is configured here. Configured: ${what}.`, {
    at: "model",
  });
}

/** The whole list, or for Anthropic's clients the page that `limit`, `after_id` and `before_id` ask for. */
export function modelsAt(
  vendor: Vendor,
  catalogue: Catalogue,
  secrets: object,
  query: URLSearchParams,
): object {
  const routes = routesAt(vendor, catalogue, secrets);
  if (vendor === "openai") return { object: "list", data: routes.map((route) => entryOf(vendor, route)) };
  const { page, more } = pageOf(routes, query);
  return {
    data: page.map((route) => entryOf(vendor, route)),
    has_more: more,
    first_id: page[0] === undefined ? null : idOf(vendor, page[0].name),
    last_id: page.length === 0 ? null : idOf(vendor, page.at(-1)!.name),
  };
}

function pageOf(routes: readonly Route[], query: URLSearchParams): { page: Route[]; more: boolean } {
  const at = (id: string | null) => routes.findIndex(({ name }) => idOf("anthropic", name) === id);
  const asked = Number(query.get("limit") ?? 1000);
  const limit = Number.isInteger(asked) && asked > 0 ? Math.min(asked, 1000) : 1000;
  const before = at(query.get("before_id"));
  if (before >= 0)
    return { page: routes.slice(Math.max(0, before - limit), before), more: before - limit > 0 };
  const from = at(query.get("after_id")) + 1;
  return { page: routes.slice(from, from + limit), more: from + limit < routes.length };
}

/** As a client of the endpoint names it. */
function idOf(vendor: Vendor, route: string): string {
  return route.startsWith(`${vendor}/`) && !route.slice(vendor.length + 1).includes("/")
    ? route.slice(vendor.length + 1)
    : route;
}

/** Nobody tells here when a model was made; Anthropic's reference allows the epoch for that. */
function entryOf(vendor: Vendor, { name, capacity }: Route): object {
  const id = idOf(vendor, name);
  const { window = null, maxOutput = null } = capacity;
  if (vendor === "openai") {
    const owner = name.slice(0, name.indexOf("/"));
    const limits = { context_window: window, max_output_tokens: maxOutput };
    return { id, object: "model", created: 0, owned_by: owner, ...limits };
  }
  const created_at = "1970-01-01T00:00:00Z";
  const limits = { max_input_tokens: capacity.inputLimit ?? window, max_tokens: maxOutput };
  const unknown = { capabilities: null, deprecated_at: null, line: null, retires_at: null };
  return { type: "model", id, display_name: id, created_at, lifecycle: "active", ...unknown, ...limits };
}

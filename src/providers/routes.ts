/**
 * From a route's name to what Plimsoll knows about it and to where its requests go. Configuration goes over
 * what the provider's own list states, that over the built-in table, and what nobody knows stays unknown.
 * Pure; holds no key longer than the `Upstream` that it hands out.
 */
import type { DialectName } from "../dialects/dialect.ts";
import { Refusal } from "../failure.ts";
import { priorRatio } from "../meter/ratio.ts";
import { defaultTimeouts } from "./builtin-providers.ts";
import { knownCapacity } from "./capacity-table.ts";
import type { Catalogue } from "./configuration.ts";
import type { Capacity, ListedLimits, Route, ThinkingBinding, Upstream } from "./provider.ts";
import { parseRouteName, type RouteName } from "./route-name.ts";

/**
 * Claude models that bind a thinking block to all that stands before it: Fable and Mythos 5.1 and 5.2,
 * Opus, Sonnet and Haiku 5.5, under any provider's spelling and date (Anthropic, "Preserved thinking:
 * prefix checks", read in November 2026).
 */
const prefixBound = /claude-(?:(?:fable|mythos)-5[-.][12]|(?:opus|sonnet|haiku)-5[-.]5)(?!\d)/;

/** @throws Refusal `bad-request` when the name is not `provider/model`. */
function partsOf(name: string): RouteName {
  const parts = parseRouteName(name);
  if (parts === undefined) {
    throw new Refusal("bad-request", "A route is named provider/model.", { at: "route" });
  }
  return parts;
}

/**
 * What is known about an exact route. Configured numbers win over listed ones, these over the table's, one by
 * one; a window also retires an input limit below it that was stated for another window.
 * @param listed what the provider's own list states, as far as it is known here.
 * @throws Refusal `bad-request` when the name is not `provider/model`.
 */
export function resolveRoute(
  name: string,
  catalogue: Pick<Catalogue, "routes">,
  listed?: Readonly<ListedLimits>,
): Route {
  partsOf(name);
  const settings = catalogue.routes.get(name);
  const table = knownCapacity(name);
  return {
    name,
    capacity: over(listedOver(table ?? {}, listed ?? {}), settings?.capacity ?? {}),
    capacitySource: sourceOf(table, listed, settings?.capacity),
    ratio: settings?.ratio ?? priorRatio(name),
    thinkingBinding: settings?.thinkingBinding ?? bindingOf(name),
  };
}

function over(below: Capacity, above: Readonly<Capacity>): Capacity {
  const merged: Capacity = { ...below, ...above };
  if (above.window !== undefined && above.inputLimit === undefined) delete merged.inputLimit;
  return merged;
}

/** A list that states the table's own window says nothing against its input limit. */
function listedOver(table: Capacity, listed: Readonly<ListedLimits>): Capacity {
  return listed.window === table.window ? { ...table, ...listed } : over(table, listed);
}

/** Who stands behind the window, or behind the input limit where there is no window. */
function sourceOf(
  table: Capacity | undefined,
  listed: Readonly<ListedLimits> | undefined,
  configured: Readonly<Capacity> | undefined,
): Route["capacitySource"] {
  if (configured?.window !== undefined || configured?.inputLimit !== undefined) return "config";
  if (listed?.window !== undefined) return "provider";
  return table === undefined ? "unknown" : "table";
}

function bindingOf(name: string): ThinkingBinding {
  return prefixBound.test(name) ? "prefix" : "none";
}

/**
 * Where requests of a route go; undefined when its provider is not configured or its secret is not set.
 * @param secrets the Worker's environment, which holds the secrets by name.
 * @param dialect the dialect to speak if the provider does, else its preferred one.
 * @throws Refusal `bad-request` (name), `not-configured` (a secret that can not travel in a header; its
 * value is not told).
 */
export function upstreamOf(
  name: string,
  catalogue: Pick<Catalogue, "providers">,
  secrets: object,
  dialect?: DialectName,
): Upstream | undefined {
  const { provider, model } = partsOf(name);
  const entry = catalogue.providers.get(provider);
  if (entry === undefined) return undefined;
  const spoken = Object.keys(entry.baseUrls) as DialectName[];
  const chosen = spoken.find((one) => one === dialect) ?? spoken[0];
  const baseUrl = chosen === undefined ? undefined : entry.baseUrls[chosen];
  if (chosen === undefined || baseUrl === undefined) return undefined;
  const upstream: Upstream = { provider, model, baseUrl, dialect: chosen };
  if (entry.forward === true) upstream.forward = true;
  if (entry.timeouts !== undefined) upstream.timeouts = { ...defaultTimeouts, ...entry.timeouts };
  for (const [to, secret] of [["key", entry.secret] as const, ["gatewayKey", entry.gatewaySecret] as const]) {
    if (secret === undefined) continue;
    const value = keyOf(secrets as Readonly<Record<string, unknown>>, secret);
    if (value === undefined) return undefined;
    upstream[to] = value;
  }
  return upstream;
}

function keyOf(secrets: Readonly<Record<string, unknown>>, secret: string): string | undefined {
  const value = secrets[secret];
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const key = value.trim();
  if (!/^[!-~]+$/.test(key)) {
    throw new Refusal("not-configured", `${secret}: must be one line of plain ASCII without spaces.`, {
      more: { variable: secret },
    });
  }
  return key;
}

/**
 * The address of a model call. OpenAI's base URL ends before `/chat/completions` and `/responses`; Anthropic's SDK appends
 * `/v1/messages`, and a base that already ends in a version (one URL for both dialects) takes `/messages`.
 */
export function endpointOf(upstream: Pick<Upstream, "baseUrl" | "dialect">): string {
  const base = upstream.baseUrl.replace(/\/+$/, "");
  if (upstream.dialect === "openai-chat") return `${base}/chat/completions`;
  if (upstream.dialect === "openai-responses") return `${base}/responses`;
  return /\/v\d+$/.test(base) ? `${base}/messages` : `${base}/v1/messages`;
}

/** The address of the provider's list of models, beside that of its model calls. Anthropic's has pages: one is enough. */
export function modelsEndpointOf(upstream: Pick<Upstream, "baseUrl" | "dialect">): string {
  const base = upstream.baseUrl.replace(/\/+$/, "");
  if (upstream.dialect !== "anthropic") return `${base}/models`;
  return `${/\/v\d+$/.test(base) ? base : `${base}/v1`}/models?limit=1000`;
}

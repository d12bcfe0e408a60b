/**
 * The shape of `PROVIDERS` and `ROUTES`: what a deployment may say about upstreams and routes, checked key
 * by key. Pure: text and rules in, values out. Reading the environment itself is `src/env.ts`.
 */
import { z } from "zod";
import { type PolicyInput, policySchema } from "../compaction/policy.ts";
import { type DialectName, dialectNames } from "../dialects/dialect.ts";
import { builtinProviders, type Provider, type Timeouts } from "./builtin-providers.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { Capacity, ThinkingBinding } from "./provider.ts";
import { namePattern, parseRouteName } from "./route-name.ts";

/** What configuration says about one exact route; absent keys come from the built-in table. */
export interface RouteSettings {
  readonly capacity: Readonly<Capacity>;
  readonly thinkingBinding?: ThinkingBinding;
  readonly ratio?: number;
  readonly policy?: PolicyInput;
}

/** Everything that names upstreams and routes. */
export interface Catalogue {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly routes: ReadonlyMap<string, RouteSettings>;
}

/** Variables of our own, which no provider's key may be read from. */
export const ownVariables = ["PROVIDERS", "ROUTES", "POLICY", "API_TOKENS", "DEV_OPEN"] as const;

const name = z.string().regex(namePattern, "must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}");

const secretName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of a Worker secret")
  .refine((text) => !ownVariables.some((own) => own === text), "must not name a variable of Plimsoll itself");

/** Up to the fifteen minutes that the platform lets one outgoing request keep an object awake. */
const milliseconds = z.number().int().min(1).max(900_000);

const providerSchema = z
  .strictObject({
    baseUrl: z.string(),
    dialects: z.array(z.enum(dialectNames)).min(1, "needs at least one dialect"),
    auth: z.enum(["secret", "forward"]),
    secret: secretName,
    gatewaySecret: secretName,
    timeouts: z.strictObject({ firstByteMs: milliseconds, idleMs: milliseconds }).partial(),
  })
  .partial();

/**
 * Why a base URL can not be used, or undefined. Loopback over plain `http:` only where development is open.
 */
function baseUrlFault(text: string, devOpen: boolean): string | undefined {
  if (!URL.canParse(text)) return "must be an absolute URL";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "must not hold credentials";
  if (url.search !== "" || url.hash !== "") return "must not hold a query or a fragment";
  if (url.protocol === "https:") return undefined;
  if (url.protocol !== "http:" || !isLoopbackHost(url.hostname)) return "must be https";
  return devOpen ? undefined : "may be http on loopback only with DEV_OPEN=1";
}

/** `PROVIDERS`: entries over the built-in ones. */
export function providersSchema(devOpen: boolean) {
  return z.record(name, providerSchema).superRefine((entries, context) => {
    for (const [provider, entry] of Object.entries(entries)) {
      const builtin = Object.hasOwn(builtinProviders, provider);
      for (const key of ["baseUrl", "dialects"] as const) {
        if (entry[key] === undefined && !builtin) {
          context.addIssue({ code: "custom", path: [provider, key], message: "is required" });
        }
      }
      for (const dialect of builtin && entry.baseUrl === undefined ? (entry.dialects ?? []) : []) {
        if (builtinProviders[provider]!.baseUrls[dialect] === undefined) {
          const message = "names a dialect that this provider is not known to speak; give its baseUrl";
          context.addIssue({ code: "custom", path: [provider, "dialects"], message });
        }
      }
      if (entry.auth === "forward" && entry.secret !== undefined) {
        const message = "has no use where the client's own key is forwarded";
        context.addIssue({ code: "custom", path: [provider, "secret"], message });
      }
      // Without a base URL of its own the entry keeps the vendor's host, to which a gateway's token must not go.
      if (entry.gatewaySecret !== undefined && entry.baseUrl === undefined) {
        const message = "needs the baseUrl of the gateway";
        context.addIssue({ code: "custom", path: [provider, "gatewaySecret"], message });
      }
      const fault = entry.baseUrl === undefined ? undefined : baseUrlFault(entry.baseUrl, devOpen);
      if (fault !== undefined) {
        context.addIssue({ code: "custom", path: [provider, "baseUrl"], message: fault });
      }
    }
  });
}

type ProviderInput = z.infer<typeof providerSchema>;

/**
 * The built-in providers with the configured entries over them. An entry for a built-in provider changes
 * only what it names, but for one thing: with another `baseUrl` it loses the built-in secret, so that no
 * key goes to a host that it was not named for.
 */
export function mergeProviders(entries: Readonly<Record<string, ProviderInput>>): Map<string, Provider> {
  const providers = new Map(Object.entries(builtinProviders));
  for (const [provider, entry] of Object.entries(entries)) {
    const base = providers.get(provider);
    const known = base === undefined ? [] : (Object.keys(base.baseUrls) as DialectName[]);
    const baseUrl = entry.baseUrl?.replace(/\/+$/, "");
    const baseUrls: Partial<Record<DialectName, string>> = {};
    for (const dialect of entry.dialects ?? known) {
      const url = baseUrl ?? base?.baseUrls[dialect];
      if (url !== undefined) baseUrls[dialect] = url;
    }
    const secret = entry.secret ?? (baseUrl === undefined ? base?.secret : undefined);
    providers.set(provider, {
      baseUrls,
      ...(entry.auth === "forward" ? { forward: true } : secret === undefined ? {} : { secret }),
      ...(entry.gatewaySecret === undefined ? {} : { gatewaySecret: entry.gatewaySecret }),
      ...(entry.timeouts === undefined ? {} : { timeouts: given<Timeouts>(entry.timeouts) }),
    });
  }
  return providers;
}

/** Without the members that are `undefined`. */
function given<T extends object>(value: { [K in keyof T]?: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<T>;
}

const tokens = z.number().int().positive();

const routeSchema = z
  .strictObject({
    window: tokens,
    inputLimit: tokens,
    maxOutput: tokens,
    maxRequestBytes: tokens,
    maxImages: z.number().int().min(0),
    thinkingBinding: z.enum(["none", "prefix"]),
    ratio: z.number().min(0.1).max(10),
    policy: policySchema,
  })
  .partial();

/** `ROUTES`: exact `provider/model` names to what is known about them. */
export const routesSchema = z.record(
  z.string().refine((text) => parseRouteName(text) !== undefined, "must be provider/model"),
  routeSchema,
);

export function routeSettings(entry: z.infer<typeof routeSchema>): RouteSettings {
  const { thinkingBinding, ratio, policy, ...capacity } = entry;
  return {
    capacity: given<Capacity>(capacity),
    ...(thinkingBinding === undefined ? {} : { thinkingBinding }),
    ...(ratio === undefined ? {} : { ratio }),
    ...(policy === undefined ? {} : { policy }),
  };
}

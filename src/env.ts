/**
 * The Worker's environment as a checked configuration: `PROVIDERS`, `ROUTES`, `POLICY`, `API_TOKENS`,
 * `DEV_OPEN` (design.md section 8). A fault names the variable and the key, never a value: values may be
 * secrets. Pure, but for remembering one result per environment.
 */
import type { z } from "zod";
import { PolicyFault, type PolicyInput, policySchema, resolvePolicy } from "./compaction/policy.ts";
import { Refusal } from "./failure.ts";
import {
  type Catalogue,
  mergeProviders,
  type ownVariables,
  providersSchema,
  type RouteSettings,
  routeSettings,
  routesSchema,
} from "./providers/configuration.ts";
import { repeatedKey } from "./providers/repeated-key.ts";
import { namePattern } from "./providers/route-name.ts";

export interface ApiToken {
  /** The tenant whom the token lets in; several tokens may share one name (rotation). */
  readonly name: string;
  readonly token: string;
}

export interface Config extends Catalogue {
  /** The deployment's policy; layers under those of routes and sessions. */
  readonly policy: PolicyInput;
  readonly tokens: readonly ApiToken[];
  /** Whether `DEV_OPEN=1` is set; it counts only for requests over loopback, which the gateway checks. */
  readonly devOpen: boolean;
}

type Variable = (typeof ownVariables)[number];

/** By environment, which lives as long as its isolate. */
const remembered = new WeakMap<object, Config | Refusal>();

/**
 * The configuration of a Worker's environment; an environment is read once.
 * @throws Refusal `not-configured` naming the variable and the key at fault.
 */
export function configOf(env: object): Config {
  let config = remembered.get(env);
  if (config === undefined) {
    config = attempt(env);
    remembered.set(env, config);
  }
  if (config instanceof Refusal) throw config;
  return config;
}

function attempt(env: object): Config | Refusal {
  try {
    return parseEnv(env as Readonly<Record<string, unknown>>);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** @throws Refusal `not-configured`. */
export function parseEnv(env: Readonly<Record<string, unknown>>): Config {
  const devOpen = flag(env, "DEV_OPEN");
  const policy = jsonVariable(env, "POLICY", policySchema);
  const routes = new Map<string, RouteSettings>();
  checkPolicy("POLICY", "", policy);
  for (const [name, entry] of Object.entries(jsonVariable(env, "ROUTES", routesSchema))) {
    const settings = routeSettings(entry);
    checkPolicy("ROUTES", `${name}.policy.`, policy, settings.policy);
    routes.set(name, settings);
  }
  const providers = mergeProviders(jsonVariable(env, "PROVIDERS", providersSchema(devOpen)));
  return { providers, routes, policy, tokens: tokensOf(env), devOpen };
}

function fault(variable: Variable, what: string): Refusal {
  return new Refusal("not-configured", `${variable}: ${what}.`, { more: { variable } });
}

/** The text of a variable; undefined when it is absent or blank. */
function textOf(env: Readonly<Record<string, unknown>>, variable: Variable): string | undefined {
  const value = env[variable];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw fault(variable, "must be a text variable or a secret");
  return value.trim() === "" ? undefined : value.trim();
}

function flag(env: Readonly<Record<string, unknown>>, variable: Variable): boolean {
  const text = textOf(env, variable) ?? "0";
  if (text !== "0" && text !== "1") throw fault(variable, "must be 0 or 1");
  return text === "1";
}

/** JSON object variables may also be bound as JSON by the platform, then there is no text to parse. */
function jsonVariable<T extends z.ZodType>(
  env: Readonly<Record<string, unknown>>,
  variable: Variable,
  schema: T,
): z.infer<T> {
  const bound = env[variable];
  const value =
    typeof bound === "object" && bound !== null ? bound : parseJson(textOf(env, variable), variable);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw fault(variable, describe(parsed.error.issues[0]));
}

function parseJson(text: string | undefined, variable: Variable): unknown {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, and with it perhaps a secret.
    throw fault(variable, "is not valid JSON");
  }
  const key = repeatedKey(text);
  if (key !== undefined) throw fault(variable, `\`${clip(key)}\` stands there twice`);
  return value;
}

function describe(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return "is not valid";
  const place = issue.path.map((step) => clip(String(step))).join(".");
  const at = place === "" ? "" : `\`${place}\` `;
  if (issue.code === "unrecognized_keys") return `${at}has an unknown key \`${clip(issue.keys[0] ?? "")}\``;
  if (issue.code === "invalid_key")
    return `${at}is not a valid name: ${issue.issues[0]?.message ?? "refused"}`;
  return `${at}is refused: ${issue.message}`;
}

function clip(text: string): string {
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

/** Keys can each be legal and contradict each other; that shows only in the resolved policy. */
function checkPolicy(
  variable: Variable,
  prefix: string,
  ...layers: readonly (PolicyInput | undefined)[]
): void {
  try {
    resolvePolicy(...layers);
  } catch (error) {
    if (error instanceof PolicyFault) {
      throw fault(variable, `\`${clip(prefix)}${error.key}\` is refused: ${error.message}`);
    }
    throw error;
  }
}

/** `name:token` pairs, split on commas and the first colon. */
function tokensOf(env: Readonly<Record<string, unknown>>): ApiToken[] {
  const text = textOf(env, "API_TOKENS");
  if (text === undefined) return [];
  const tokens = text.split(",").map((pair, i) => {
    const nth = `pair ${i + 1}`;
    const colon = pair.indexOf(":");
    if (colon < 0) throw fault("API_TOKENS", `${nth} has no colon; pairs are name:token`);
    const name = pair.slice(0, colon).trim();
    const token = pair.slice(colon + 1).trim();
    if (!namePattern.test(name)) throw fault("API_TOKENS", `${nth} has a name outside ${namePattern.source}`);
    // A token travels in a header; one that can not would lock its owner out for good.
    if (!/^[!-~]+$/.test(token))
      throw fault("API_TOKENS", `${nth} has a token that is empty or not plain ASCII`);
    return { name, token };
  });
  const owners = new Map<string, string>();
  for (const { name, token } of tokens) {
    if ((owners.get(token) ?? name) !== name) throw fault("API_TOKENS", "two names share one token");
    owners.set(token, name);
  }
  return tokens;
}

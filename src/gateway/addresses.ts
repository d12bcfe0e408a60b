/**
 * The drop-in addresses: which of the vendors' endpoints a path stands for, below a session or on the one
 * static base URL. Pure. Tolerant where a path can mean one thing only: slashes at the end and doubled ones,
 * a base URL with `/v1`, without it, or with one too many (OpenAI's clients expect it in the base URL,
 * Anthropic's add it themselves).
 */
import type { WireDialect } from "../dialects/wire.ts";
import { decoded } from "./routes.ts";

/** A drop-in base. A bare model name means a model of the provider of this name. */
export type Vendor = "openai" | "anthropic";

export type StepEndpoint = "chat" | "responses" | "messages" | "count_tokens";

export type Target =
  | { kind: "step"; endpoint: StepEndpoint; dialect: WireDialect }
  /** The list of models, or one of them. */
  | { kind: "models"; model?: string }
  /** Anything else: `path` below the version, beginning with a slash. */
  | { kind: "relay"; path: string };

export interface Address {
  vendor: Vendor;
  /** Session id as the path has it, decoded and unchecked. */
  session?: string;
  /** Undefined: the base itself, where there is nothing. */
  target: Target | undefined;
}

const steps: Readonly<Record<Vendor, Readonly<Record<string, Target>>>> = {
  openai: {
    "/chat/completions": { kind: "step", endpoint: "chat", dialect: "openai-chat" },
    "/responses": { kind: "step", endpoint: "responses", dialect: "openai-responses" },
  },
  anthropic: {
    "/messages": { kind: "step", endpoint: "messages", dialect: "anthropic" },
    "/messages/count_tokens": { kind: "step", endpoint: "count_tokens", dialect: "anthropic" },
  },
};

const pattern = /^(?:\/v1\/sessions\/([^/]+))?\/(openai|anthropic)(?=\/|$)(?:\/v1(?=\/|$))*(\/.*)?$/;

/** The drop-in address of a request, undefined when the path is not below a drop-in base. */
export function addressOf(method: string, pathname: string): Address | undefined {
  const match = pattern.exec(pathname.replace(/\/{2,}/g, "/"));
  if (match === null) return undefined;
  const vendor = match[2] as Vendor;
  const session = match[1] === undefined ? {} : { session: decoded(match[1]) };
  return { vendor, ...session, target: targetOf(method, vendor, (match[3] ?? "").replace(/\/$/, "")) };
}

function targetOf(method: string, vendor: Vendor, path: string): Target | undefined {
  if (path === "") return undefined;
  if (method === "POST" && Object.hasOwn(steps[vendor], path)) return steps[vendor][path];
  if (method === "GET" || method === "HEAD") {
    if (path === "/models") return { kind: "models" };
    const model = /^\/models\/(.+)$/.exec(path)?.[1];
    if (model !== undefined) return { kind: "models", model: decoded(model) };
  }
  return { kind: "relay", path };
}

/** The dialect in which refusals at an address are told: both of OpenAI's have one shape. */
export function dialectOf({ vendor, target }: Address): WireDialect {
  if (target?.kind === "step") return target.dialect;
  return vendor === "anthropic" ? "anthropic" : "openai-chat";
}

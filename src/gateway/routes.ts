/**
 * The native routes of a session, as data: what the app lets through and what the OpenAPI document
 * describes are one list.
 */
import { namePattern } from "../providers/route-name.ts";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** Path below `/v1/sessions/:id`, with the methods it takes. */
export const nativeRoutes = {
  "/": ["PUT", "GET", "DELETE"],
  "/branches": ["GET", "POST"],
  "/events": ["POST", "GET"],
  "/surface": ["GET"],
  "/pressure": ["GET"],
  "/prepare": ["POST"],
  "/overflow": ["POST"],
  "/messages": ["POST"],
  "/steps": ["POST"],
  "/compact": ["POST"],
  "/compact/undo": ["POST"],
  "/cancel": ["POST"],
  "/checkpoints": ["GET"],
  "/checkpoints/{seq}": ["GET"],
  "/audit": ["GET"],
  "/live": ["GET"],
} as const satisfies Record<string, readonly Method[]>;

export type NativePath = keyof typeof nativeRoutes;
export type RouteKey = { [P in NativePath]: `${(typeof nativeRoutes)[P][number]} ${P}` }[NativePath];

export function isId(text: string): boolean {
  return namePattern.test(text);
}

/**
 * Session id (decoded, unchecked) and path below the session of a URL path; undefined when it is not a
 * session's.
 */
export function sessionPath(pathname: string): { id: string; tail: string } | undefined {
  const match = /^\/v1\/sessions\/([^/]+)(\/.*)?$/.exec(pathname);
  if (match?.[1] === undefined) return undefined;
  return { id: decoded(match[1]), tail: match[2] ?? "/" };
}

/** Methods of a path below a session, undefined when there is no such path. */
export function methodsOf(tail: string): readonly Method[] | undefined {
  const path = /^\/checkpoints\/[^/]+$/.test(tail) ? "/checkpoints/{seq}" : tail;
  return Object.hasOwn(nativeRoutes, path) ? nativeRoutes[path as NativePath] : undefined;
}

/** A broken escape stays as it stands, and so falls out of the id pattern. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

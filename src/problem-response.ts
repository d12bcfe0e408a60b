/**
 * The one place where the Worker turns a failure into bytes: an RFC 9457 problem document and the headers
 * that go with its code. Knows no route. Nothing of an unexpected error reaches the client.
 */
import { type Failure, problem, Refusal, statusOf } from "./failure.ts";

/** Seconds after which an overloaded gateway may be tried again. */
const RETRY_AFTER = "2";

/** `more.allow` (methods) becomes the Allow header of a 405, `more.retryAfter` (seconds) a Retry-After. */
export function problemResponse(failure: Failure): Response {
  const headers = new Headers({ "content-type": "application/problem+json", "cache-control": "no-store" });
  if (failure.code === "unauthorized") headers.set("www-authenticate", 'Bearer realm="plimsoll"');
  const wait = failure.more?.retryAfter;
  if (typeof wait === "number") headers.set("retry-after", String(wait));
  if (failure.code === "overloaded") headers.set("retry-after", RETRY_AFTER);
  if (failure.code === "method-not-allowed") headers.set("allow", allowed(failure).join(", "));
  return new Response(JSON.stringify(problem(failure)), { status: statusOf(failure.code), headers });
}

/**
 * The failure to show for anything thrown: a `Refusal` as it is, everything else as `internal`, without a
 * word of its own.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof Refusal) return error.failure;
  return { code: "internal", detail: "The gateway failed to answer. Nothing is known about the cause here." };
}

function allowed(failure: Failure): string[] {
  const methods = failure.more?.allow;
  return Array.isArray(methods) ? methods.filter((method) => typeof method === "string") : [];
}

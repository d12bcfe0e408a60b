/** Refusals on drop-in paths: what a problem document says, in the shape that the client's SDK parses. */
import { errorShape } from "../dialects/error-shape.ts";
import type { WireDialect } from "../dialects/wire.ts";
import type { Failure } from "../failure.ts";
import { problemResponse } from "../problem-response.ts";

/** Statuses that the vendors' SDKs retry by themselves. */
const retried = new Set([408, 409, 429, 500, 502, 503, 504]);

/** Refusals with such a status that a repetition can not help. */
const final = new Set(["not-configured", "irreducible"]);

export function dialectErrorResponse(dialect: WireDialect, failure: Failure): Response {
  const { status, headers } = problemResponse(failure);
  return shaped(dialect, { status, headers }, failure);
}

/** A problem document of the session's object in the client's shape; any other answer as it is. */
export async function inDialect(dialect: WireDialect, answer: Response): Promise<Response> {
  if (answer.headers.get("content-type") !== "application/problem+json") return answer;
  const { code, detail, at } = await answer.json<{ code: string; detail: string; at?: string }>();
  return shaped(dialect, answer, { code, detail, ...(at === undefined ? {} : { at }) });
}

interface Shown {
  code: string;
  detail: string;
  at?: string;
}

function shaped(
  dialect: WireDialect,
  answer: { status: number; headers: Headers },
  failure: Shown,
): Response {
  const { code, detail: message, at } = failure;
  const { status } = answer;
  const headers = new Headers(answer.headers);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  if (!retried.has(status) || final.has(code)) headers.set("x-should-retry", "false");
  const body = errorShape(dialect, { status, code, message, ...(at === undefined ? {} : { at }) });
  return new Response(JSON.stringify(body), { status, headers });
}

/**
 * What a refusal is about that is none of its size in tokens: a name for the log and for the caller that can
 * do something about it (fewer images, fewer bytes, a lower cap). Pure.
 */
import { outputCapWords, transientCodes } from "./overflow-signatures.ts";
import { type SaidRefusal, withoutLabels } from "./refusal.ts";

export type OtherCause = "output-limit" | "bytes" | "images" | "shape" | "auth" | "not-found" | "transient";

const codes: Readonly<Record<string, OtherCause>> = {
  request_too_large: "bytes", // Anthropic
  authentication_error: "auth",
  permission_error: "auth",
  invalid_api_key: "auth",
  model_not_found: "not-found",
  not_found_error: "not-found",
};

const place = "(?:messages\\.\\d+[\\w.]*: )?";
const begins = (...alternatives: readonly string[]): RegExp =>
  new RegExp(`^${place}(?:${alternatives.join("|")})`, "i");

/** Each anchored at the start of the provider's own message, like the wordings of an overflow. */
const wordings: readonly (readonly [OtherCause, RegExp])[] = [
  ["bytes", begins("request (?:entity|body) (?:is )?too large", "payload too large")],
  ["bytes", begins("request exceeds the maximum size", "request payload size exceeds the limit")],
  ["bytes", begins("failed to buffer the request body", "length limit exceeded")],
  [
    "images",
    begins("too much media: \\d+ document pages \\+ \\d+ images > (?<limit>\\d+)", "too many images"),
  ],
  ["images", begins("image exceeds [\\d.]+ ?MB maximum", "at least one of the image dimensions exceed")],
  ["images", begins("at most (?<limit>\\d+) images?(?:\\(s\\))? may be provided")],
  ["shape", begins("messages: roles must alternate", "roles must alternate", "no user query found")],
  [
    "shape",
    begins("`?tool_use`? ids were found without `?tool_result`?", "unexpected `?tool_use_id`? found"),
  ],
  [
    "shape",
    begins("an assistant message with 'tool_calls' must be followed", "messages with role 'tool' must"),
  ],
  ["shape", begins("no tool (?:output|call) found for function call")],
  ["auth", begins("(?:incorrect|invalid) (?:x-)?api[- ]key")],
  [
    "not-found",
    begins("(?:the )?model [`'\"]?[\\w./:-]{1,128}[`'\"]? (?:does not exist|was not found|not found)"),
  ],
  [
    "transient",
    begins(
      "(?:the )?(?:service|server|model) (?:is )?(?:temporarily |currently )?(?:unavailable|overloaded)",
      "overloaded\\b",
    ),
  ],
];

/** Nothing when no one can tell. `limit` where the message states one in the cause's own unit. */
export function causeOf(
  said: SaidRefusal,
  status: number | undefined,
): { what?: OtherCause; limit?: number } {
  if (status === 401 || status === 403) return { what: "auth" };
  if (status === 404) return { what: "not-found" };
  if (status === 408 || (status !== undefined && status >= 500)) return { what: "transient" };
  if (said.messages.some((message) => outputCapWords.test(message))) return { what: "output-limit" };
  for (const message of said.messages) {
    const own = withoutLabels(message);
    for (const [what, pattern] of wordings) {
      const match = pattern.exec(own);
      if (match === null) continue;
      const limit = match.groups?.limit;
      return limit === undefined ? { what } : { what, limit: Number(limit) };
    }
  }
  for (const code of said.codes) {
    if (Object.hasOwn(codes, code)) return { what: codes[code]! };
    if (transientCodes.has(code)) return { what: "transient" };
  }
  return status === 413 ? { what: "bytes" } : {};
}

/** The provider names the size in bytes as the reason: no estimate of tokens makes an overflow of it. */
export function isByteLimit(said: SaidRefusal): boolean {
  return said.codes.includes("request_too_large");
}

/**
 * How a model call that failed is told: one reason, whether another try can help, and a line for a person
 * that holds no secret. Pure.
 */
import type { DialectName } from "../dialects/dialect.ts";
import { classifyRefusal } from "./overflow.ts";
import { transientCodes } from "./overflow-signatures.ts";
import type { CallFailureReason } from "./provider.ts";
import { readRefusal } from "./refusal.ts";

/** A failed call without its duration. */
export interface CallFailure {
  reason: CallFailureReason;
  status?: number;
  detail: string;
  retryable: boolean;
}

const detailLimit = 300;

/**
 * A refusal, before the stream (`status` not 2xx) or as an error event inside it.
 * @param key the secret of the call, taken out of whatever the provider echoed.
 */
export function refusedCall(refused: {
  status: number;
  body: string;
  dialect: DialectName;
  key?: string | undefined;
}): CallFailure {
  const { status, dialect, key } = refused;
  // Before anything cuts the text, so that no half of a key is left.
  const body = withoutKey(refused.body, key);
  const inStream = status >= 200 && status < 300;
  const kind = classifyRefusal({ status, body, dialect }).kind;
  const said = readRefusal(body);
  const words = said.messages[0] ?? "";
  const told = /^\s*</.test(words) ? "" : shown(words);
  const what = kind === "other" ? "refused" : kindWords[kind];
  const act = inStream ? "broke off" : `answered ${status}`;
  const detail = `provider ${act} (${what})${told === "" ? "" : `: ${told}`}`;
  const base = { status, detail };
  if (kind === "overflow" || kind === "rate-limit") {
    return { ...base, reason: kind, retryable: kind === "rate-limit" };
  }
  if (kind !== "other") return { ...base, reason: inStream ? "stream" : "http", retryable: false };
  const state = inStream ? (said.status ?? 400) : status;
  const ownFault =
    state === 408 || state >= 500 || (inStream && said.codes.some((code) => transientCodes.has(code)));
  return { ...base, reason: inStream ? "stream" : "http", retryable: ownFault };
}

const kindWords = {
  overflow: "the request does not fit",
  "rate-limit": "rate limit",
  quota: "quota used up",
  binding: "thinking is bound to another history",
} as const;

function withoutKey(text: string, key: string | undefined): string {
  return key === undefined || key === "" ? text : text.replaceAll(key, "[secret]");
}

/**
 * Text that came from a provider, fit to be shown and logged: one short line without anything that looks
 * like a key.
 */
function shown(text: string): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(/\bbearer [^\s"',]+/gi, "[secret]")
    .replace(/\b(?:sk|pk|rk|gsk|xai|csk|key|tok|api|pat|ghp)[-_][^\s"',]{4,}/gi, "[secret]")
    .replace(/([?&](?:key|token|api_key|access_token)=)[^\s&"']+/gi, "$1[secret]")
    // Masked keys as providers echo them, and long runs that mix letters and digits.
    .replace(/[^\s"']{0,64}\*{3,}[^\s"']{0,64}/g, "[secret]")
    .replace(/[A-Za-z0-9_\-+/=]{20,}/g, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? "[secret]" : run))
    .trim();
  return line.length > detailLimit ? `${line.slice(0, detailLimit)}…` : line;
}

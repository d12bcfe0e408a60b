/** Failures that say nothing about the request: rate limits and the provider's own troubles. */
import type { WireDialect } from "../../src/dialects/wire.ts";
import { type Refusal, refusal } from "./checks.ts";

export function rateLimit(dialect: WireDialect): Refusal {
  return dialect === "anthropic"
    ? refusal(
        dialect,
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
      )
    : refusal(
        dialect,
        429,
        "tokens",
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): " +
          "Limit 30000, Requested 34307. The input or output tokens must be reduced.",
        "rate_limit_exceeded",
      );
}

export function serverError(dialect: WireDialect, status: number): Refusal {
  const type = dialect === "anthropic" ? (status === 529 ? "overloaded_error" : "api_error") : "server_error";
  return refusal(dialect, status, type, status === 529 ? "Overloaded" : "Internal server error");
}

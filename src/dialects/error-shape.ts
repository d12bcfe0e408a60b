/**
 * A refusal of our own in the shape that the client's SDK parses: OpenAI's `{error: {message, type, param,
 * code}}`, Anthropic's `{type: "error", error: {type, message}}` (the vendors' API references, "Errors").
 * `code` is the stable code of Plimsoll in both.
 */
import type { WireDialect } from "./wire.ts";

export interface WireError {
  status: number;
  code: string;
  message: string;
  /** Place of the fault in the body. */
  at?: string;
}

const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};

export function errorShape(dialect: WireDialect, { status, code, message, at }: WireError): object {
  if (dialect === "anthropic") {
    const type = anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
    return {
      type: "error",
      error: { type, message: at === undefined ? message : `${at}: ${message}`, code },
    };
  }
  const type = status === 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: at ?? null, code } };
}

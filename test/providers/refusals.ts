/** Error bodies as OpenAI and Anthropic shape them. */
import type { RefusalClass, Refused } from "../../src/providers/overflow.ts";

export const openai = (message: string, code: string | null = null, type = "invalid_request_error") => ({
  error: { message, type, param: "messages", code },
});
export const anthropic = (message: string, type = "invalid_request_error") => ({
  type: "error",
  error: { type, message },
  request_id: "req_1",
});

export type Row = [what: string, refused: Refused, expected: RefusalClass];

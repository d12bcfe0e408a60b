/** What is recorded of a call of a summarizer. Never holds a secret, a body or a provider's own words. Pure. */
import { createHash } from "node:crypto";
import type { Attempt, Span } from "../log/events.ts";
import type { CallResult } from "../providers/provider.ts";
import type { SummaryBody } from "./summary-call.ts";

export function evidenceOf(
  call: { compaction: string; span: Span; route: string },
  request: SummaryBody,
  result: CallResult,
): Attempt {
  const evidence: Attempt = {
    ...call,
    purpose: "compaction",
    shape: request.shape,
    outcome: result.ok ? "ok" : "failed",
    ms: result.ms,
    digest: createHash("sha256").update(request.body).digest("hex"),
  };
  if (!result.ok) return result.status === undefined ? evidence : { ...evidence, status: result.status };
  const { requestId, model: answered, usage } = result.reply;
  return {
    ...evidence,
    ...(requestId === undefined ? {} : { requestId }),
    ...(answered === undefined ? {} : { model: answered }),
    ...(usage === undefined ? {} : { usage }),
  };
}

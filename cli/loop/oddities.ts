/** What the provider over HTTP refuses beside the shared checks. */
import type { WireDialect } from "../../src/dialects/wire.ts";
import { type Fault, invalid, type Refusal, refusal } from "./checks.ts";
import { betaFault, fieldFault, headerFault } from "./fields.ts";
import { type Json, list, textOf } from "./json.ts";
import type { ProviderOptions } from "./provider-options.ts";
import { forgedFault } from "./thinking.ts";

/** What only this provider looks at: headers, fields, models, thinking that was changed, roles, reasoning. */
export function oddities(
  dialect: WireDialect,
  headers: Headers,
  body: Json,
  { models, onlyModels, binding, reasoningContent }: ProviderOptions,
): Refusal | undefined {
  const model = textOf(body.model);
  if (onlyModels === true && models?.[model] === undefined) return unknownModel(dialect, model);
  const messages = list(body.messages);
  const fault: Fault | undefined =
    headerFault(headers) ??
    fieldFault(dialect, body) ??
    (Array.isArray(body.messages) && body.messages.length === 0 ? emptyWords(dialect) : undefined) ??
    (dialect === "anthropic" ? betaFault(headers, body) : undefined) ??
    (dialect === "anthropic" && binding !== "prefix" ? forgedFault(messages) : undefined) ??
    (dialect === "openai-chat" && reasoningContent === true ? withoutReasoning(messages) : undefined);
  return fault === undefined ? undefined : invalid(dialect, fault);
}

function unknownModel(dialect: WireDialect, model: string): Refusal {
  const refused =
    dialect === "anthropic"
      ? refusal(dialect, 404, "not_found_error", `model: ${model}`)
      : refusal(
          dialect,
          404,
          "invalid_request_error",
          `The model \`${model}\` does not exist or you do not have access to it.`,
          "model_not_found",
        );
  return { ...refused, kind: "model" };
}

function emptyWords(dialect: WireDialect): Fault {
  return [
    "empty",
    dialect === "anthropic"
      ? "messages: at least one message is required"
      : "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
  ];
}

function withoutReasoning(messages: readonly Json[]): Fault | undefined {
  const at = messages.findIndex(
    (message) => list(message.tool_calls).length > 0 && typeof message.reasoning_content !== "string",
  );
  return at < 0
    ? undefined
    : [
        "reasoning-missing",
        `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`,
      ];
}

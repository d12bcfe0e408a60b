/** How much output a request may still ask for. */
import { decode, kindOf, pick } from "../../log/scanner.ts";
import { optionalString } from "../fields.ts";
import type { GatewayRequest } from "./read.ts";

/** `write` is absent where the client's own bound, or its having none, can stay. */
export type Clamp = { write?: number } | { cannot: string };

/** Anthropic's least thinking budget (providers.md 1.3). */
const minThinking = 1024;

/**
 * min(asked, room). Anthropic refuses a thinking budget that is not below `max_tokens`: with one, an answer below
 * it can not be asked for. A request that has its budget above its own bound already (thinking between tools) is
 * not held to that.
 */
export function clampOutput(request: GatewayRequest, room: number): Clamp {
  const asked = request.maxOutput;
  const max = Math.floor(room);
  if (!(max >= 1)) return { cannot: "no room is left for an answer" };
  if (asked === undefined || asked <= max) return {};
  const budget = thinkingBudget(request);
  if (budget === undefined || asked <= budget) return { write: max };
  return max > Math.max(budget, minThinking)
    ? { write: max }
    : { cannot: "thinking needs more than the room" };
}

/** Whether the client asks for thinking with a budget of its own (Anthropic: `thinking.type` "enabled"). */
export function thinksManually(request: GatewayRequest): boolean {
  return thinkingBudget(request) !== undefined;
}

/** The budget of manual thinking. */
function thinkingBudget({ dialect, body, fields }: GatewayRequest): number | undefined {
  const thinking = dialect === "anthropic" ? fields.get("thinking") : undefined;
  if (thinking === undefined || kindOf(body, thinking.start) !== "object") return undefined;
  const { type, budget_tokens: budget } = pick(body, thinking.start, ["type", "budget_tokens"]);
  if (optionalString(body, type) !== "enabled" || budget === undefined) return undefined;
  const value = decode(body, budget.start, budget.end);
  return typeof value === "number" ? value : undefined;
}

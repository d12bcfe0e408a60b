/**
 * Which shape of summary request fits the summarizer, how much of the span goes into it, and how long the
 * reply may be.
 */
import type { Capacity } from "../providers/provider.ts";

/** One node of the span: its price in either shape, and whether the span may end behind it. */
export interface ShapeNode {
  native: number;
  transcript: number;
  legal: boolean;
}

export interface ShapeInput {
  preferred: "auto" | "conversation" | "transcript";
  sameRoute: boolean;
  /** The summarizer speaks the session's dialect. */
  sameDialect: boolean;
  nodes: readonly ShapeNode[];
  /** Prices; the envelope counts in conversation shape only. */
  envelope: number;
  directive: number;
  /** Tokens of text that are wanted, and of thinking that come with them. */
  maxTokens: number;
  thinking?: number;
  capacity: Pick<Capacity, "window" | "inputLimit" | "maxOutput">;
  /** Provider tokens per price. */
  ratio: number;
}

/** How many of the span's nodes go into the request, from the head, and how long the reply may be. */
export type Shape =
  | { shape: "conversation" | "transcript"; nodes: number; maxTokens: number }
  | { shape: "none" };

/** A reply shorter than this is no summary of anything that needs one. */
const LEAST_OUTPUT = 1_024;
/** Tokens around the transcript in its one message. */
const AROUND = 64;

/**
 * Conversation shape on the session's own route when the span fits the summarizer's window, else a transcript
 * of all of it, else of its oldest legal prefix that fits. The reply is fitted to the room that is left
 * (never one token over the window).
 */
export function fitShape(input: ShapeInput): Shape {
  const { nodes, preferred, sameRoute, sameDialect } = input;
  if (nodes.length === 0) return { shape: "none" };
  const talks = sameDialect && (preferred === "conversation" || (preferred === "auto" && sameRoute));
  const native = nodes.reduce((sum, node) => sum + node.native, input.envelope);
  const whole = talks ? outputFor(input, native, input.thinking ?? 0) : undefined;
  if (whole !== undefined) return { shape: "conversation", nodes: nodes.length, maxTokens: whole };
  let best: Shape = { shape: "none" };
  let price = AROUND;
  for (const [at, node] of nodes.entries()) {
    price += node.transcript;
    const maxTokens = outputFor(input, price, 0);
    if (maxTokens === undefined) break;
    if (node.legal || at === nodes.length - 1) best = { shape: "transcript", nodes: at + 1, maxTokens };
  }
  return best;
}

/** Tokens that the reply may have beside this input; undefined when too few are left. */
function outputFor(
  { directive, maxTokens, capacity, ratio }: ShapeInput,
  price: number,
  thinking: number,
): number | undefined {
  const { window = Number.POSITIVE_INFINITY, inputLimit = Number.POSITIVE_INFINITY, maxOutput } = capacity;
  const counted = Math.ceil((price + directive) * ratio);
  const taken = counted + Math.ceil(counted * 0.02) + 64;
  if (taken > inputLimit) return undefined;
  const room = Math.min(maxTokens, maxOutput ?? maxTokens, window - taken - thinking);
  return room >= Math.min(LEAST_OUTPUT, maxTokens, maxOutput ?? maxTokens) ? room : undefined;
}

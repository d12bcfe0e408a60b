/**
 * One step, decided purely: what to do after each thing that happens to a request on its way. A request may be sent again as long as no
 * client has seen a part of a reply; what a client has seen is never taken back.
 */
export interface StepState {
  phase: "calling" | "replying" | "closing" | "over";
  /** A client has seen that a reply began. */
  given: boolean;
  /** Thinking that is bound to another history was dropped once. */
  unbound: boolean;
  /** How often a failure that passes by itself may still be waited out. */
  retries: number;
}

export const newStep: StepState = { phase: "calling", given: false, unbound: false, retries: 0 };

/** What a refusal means for the step: too large, thinking bound to another history, over in a moment, or not ours to mend. */
export type Verdict = "overflow" | "binding" | "transient" | "other";

export type Signal =
  /** The provider refused before or inside the stream. */
  | { kind: "refused"; verdict: Verdict }
  /** One frame of the reply: see `providers/reply`. */
  | { kind: "frame"; meaning: "quiet" | "opening" | "content" | "terminal" | "garbage" }
  /** The stream ended, or the whole answer is here. `overflowed`: the reply is empty because the request did not fit. */
  | { kind: "ended"; usable: boolean; overflowed: boolean }
  /** Network, deadline or silence. `unreached`: no byte of an answer came. */
  | { kind: "broken"; unreached: boolean }
  /** Nobody wants the reply any more. */
  | { kind: "stopped" };

export type Action =
  /** Make the Surface smaller, then send again. */
  | "recover"
  /** Drop bound thinking, then send again. */
  | "unbind"
  /** Wait, then send the same again. */
  | "retry"
  /** The refusal is the client's answer. */
  | "refuse"
  /** The refusal, told inside the stream that a client reads. */
  | "tell"
  /** Keep the frame back until a reply is sure to come. */
  | "hold"
  /** Forward what was held and the frame. */
  | "pass"
  /** Keep the frame back until the reply is stored. */
  | "keep"
  /** Store the reply, then forward what was kept. */
  | "store"
  /** End the step without a reply. */
  | "break"
  | "abort"
  | "nothing";

export function nextAction(state: StepState, signal: Signal): { state: StepState; action: Action } {
  if (state.phase === "over") return { state, action: "nothing" };
  const over = (action: Action) => ({ state: { ...state, phase: "over" } as const, action });
  switch (signal.kind) {
    case "stopped":
      return over("abort");
    case "broken":
      return signal.unreached && !state.given && state.retries > 0 ? retried(state) : over("break");
    case "refused":
      return afterRefusal(state, signal.verdict);
    case "ended":
      if (signal.overflowed && !state.given)
        return { state: { ...state, phase: "calling" }, action: "recover" };
      return over(signal.usable ? "store" : "break");
    case "frame":
      return afterFrame(state, signal.meaning);
  }
}

function afterRefusal(state: StepState, verdict: Verdict): { state: StepState; action: Action } {
  const over: StepState = { ...state, phase: "over" };
  if (state.given) return { state: over, action: "tell" };
  const again: StepState = { ...state, phase: "calling" };
  if (verdict === "overflow") return { state: again, action: "recover" };
  if (verdict === "binding" && !state.unbound)
    return { state: { ...again, unbound: true }, action: "unbind" };
  if (verdict === "transient" && state.retries > 0) return retried(state);
  return { state: over, action: "refuse" };
}

function retried(state: StepState): { state: StepState; action: Action } {
  return { state: { ...state, phase: "calling", retries: state.retries - 1 }, action: "retry" };
}

function afterFrame(
  state: StepState,
  meaning: (Signal & { kind: "frame" })["meaning"],
): { state: StepState; action: Action } {
  if (meaning === "terminal" || state.phase === "closing")
    return { state: { ...state, phase: "closing" }, action: "keep" };
  if (meaning === "content") return { state: { ...state, phase: "replying", given: true }, action: "pass" };
  return { state: { ...state, phase: "replying" }, action: state.given ? "pass" : "hold" };
}

/**
 * Judges a provider's refusal: did the request not fit, and by how much? Order: explicit code, status, veto
 * words, the provider's own message, a bare status against our own estimate; and, apart from refusals, the
 * silent signs in a reply. Pure; never throws.
 */
import type { DialectName } from "../dialects/dialect.ts";
import {
  bindingWords,
  type OverflowSignature,
  outputCapWords,
  overflowCodes,
  overflowSignatures,
  quotaCodes,
  quotaWords,
  rateCodes,
  rateWords,
} from "./overflow-signatures.ts";
import type { Usage } from "./provider.ts";
import { readRefusal, type SaidRefusal } from "./refusal.ts";

/** A provider's refusal as the transport saw it. */
export interface Refused {
  /** HTTP status; absent when unknown, 200 for an error event inside a stream. */
  status?: number | undefined;
  /** Text, decoded JSON or a thrown value. */
  body?: unknown;
  /** No wording known so far needs it. */
  dialect?: DialectName | undefined;
  /** Our own estimate of the refused request, and the route's window, in tokens. */
  estimate?: number | undefined;
  window?: number | undefined;
}

/** An overflow in the provider's own numbers, as far as it stated them and they add up. Tokens. */
export interface Overflow {
  kind: "overflow";
  limit?: number;
  /** What the provider counted against the limit: input, plus the output cap where it counts that. */
  tokens?: number;
  inputTokens?: number;
  /** The input fits, only the output cap does not: lower the cap, leave the history alone. */
  maxTokensOnly?: boolean;
}

/** `binding`: kept thinking is bound to a history that has changed. `other`: not ours to recover from. */
export type RefusalClass =
  | Overflow
  | { kind: "rate-limit" }
  | { kind: "quota" }
  | { kind: "binding" }
  | { kind: "other" };

/** What a refusal means. A status known from the transport outranks one that the body states. */
export function classifyRefusal(refused: Refused): RefusalClass {
  const said = readRefusal(refused.body);
  const told = refused.status;
  const status = told === undefined || (told >= 200 && told < 300) ? said.status : told;
  if (neverOverflow(status)) return waiting(said, status) ?? { kind: "other" };
  if (said.codes.some((code) => overflowCodes.has(code))) return overflowOf(said);
  const shape = status === undefined || status === 400 || status === 413 || status === 422;
  if (shape && said.messages.some((message) => bindingWords.test(message))) {
    return { kind: "binding" };
  }
  const veto = waiting(said, status);
  if (veto !== undefined) return veto;
  if (!shape || said.messages.some((message) => outputCapWords.test(message))) return { kind: "other" };
  if (said.messages.some((message) => signatureOf(message) !== undefined)) return overflowOf(said);
  return bareStatus(status, said, refused) ? { kind: "overflow" } : { kind: "other" };
}

/** Too early, not allowed, or their own fault: never a matter of size, whatever the text says. */
function neverOverflow(status: number | undefined): boolean {
  return (
    status !== undefined &&
    (status === 401 || status === 402 || status === 403 || status === 429 || status >= 500)
  );
}

function waiting(said: SaidRefusal, status: number | undefined): RefusalClass | undefined {
  const spent =
    said.codes.some((code) => quotaCodes.has(code)) || said.messages.some((m) => quotaWords.test(m));
  if (spent || status === 402) return { kind: "quota" };
  const fast = said.codes.some((code) => rateCodes.has(code)) || said.messages.some((m) => rateWords.test(m));
  return fast || status === 429 ? { kind: "rate-limit" } : undefined;
}

/**
 * A size status without a word that we know counts only beside a large estimate: half the window for 413,
 * near it for 400.
 */
function bareStatus(status: number | undefined, said: SaidRefusal, refused: Refused): boolean {
  const { estimate, window } = refused;
  if (estimate === undefined || window === undefined) return false;
  if (status === 413) return estimate >= window / 2;
  return status === 400 && said.messages.length === 0 && said.codes.length === 0 && estimate >= 0.8 * window;
}

/** A label that SDKs and servers put before a message. */
const label = /^(?:error|api ?error|invalid_request_error|badrequesterror)\s*[:-]\s*/i;

function signatureOf(
  message: string,
): { signature: OverflowSignature; match: RegExpExecArray; text: string } | undefined {
  const text = message.replace(label, "");
  for (const signature of overflowSignatures) {
    const match = signature.pattern.exec(text);
    if (match !== null) return { signature, match, text };
  }
  return undefined;
}

function overflowOf(said: SaidRefusal): Overflow {
  for (const message of said.messages) {
    const numbers = numbersOf(message);
    if (numbers !== undefined) return numbers;
  }
  const { n_prompt_tokens: tokens, n_ctx: limit } = said.counts;
  if (tokens === undefined || limit === undefined) return { kind: "overflow" };
  return checked({ limit, input: tokens });
}

function numbersOf(message: string): Overflow | undefined {
  const found = signatureOf(message);
  if (found === undefined) return undefined;
  const { signature, match, text } = found;
  const tail = text.slice(match[0].length);
  const more = signature.rest?.map((pattern) => pattern.exec(tail)).find((result) => result !== null);
  const groups: Record<string, string | undefined> = { ...match.groups, ...more?.groups };
  const numbers: Numbers = {};
  for (const name of ["limit", "input", "functions", "output", "total"] as const) {
    const digits = groups[name];
    if (digits !== undefined) numbers[name] = Number(digits.replace(/[,_]/g, ""));
  }
  return checked(numbers);
}

type Numbers = { [name in "limit" | "input" | "functions" | "output" | "total"]?: number };

/**
 * Numbers that do not add up, or that would not be an overflow, are worth nothing: a wrong limit would be
 * learned.
 */
function checked(numbers: Numbers): Overflow {
  const { limit, functions = 0, output, total } = numbers;
  const input = numbers.input === undefined ? undefined : numbers.input + functions;
  const sum = input === undefined ? undefined : input + (output ?? 0);
  const tokens = total ?? sum;
  const plausible = Object.values(numbers).every((n) => Number.isSafeInteger(n) && n <= 100_000_000);
  const addsUp = total === undefined || sum === undefined || total === sum;
  const exceeds = limit === undefined || tokens === undefined || tokens > limit;
  if (!plausible || !addsUp || !exceeds || (limit ?? 256) < 256) return { kind: "overflow" };
  const capOnly = output !== undefined && input !== undefined && limit !== undefined && input < limit;
  return {
    kind: "overflow",
    ...(limit === undefined ? {} : { limit }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(capOnly ? { maxTokensOnly: true } : {}),
  };
}

/** A reply that came with status 200. `finish` is the provider's word or ours; tokens. */
export interface Replied {
  usage?: Usage | undefined;
  finish?: string | undefined;
  window?: number | undefined;
  outputTokens?: number | undefined;
}

export interface SilentOverflow {
  /**
   * `finish`: the provider said so; `over-window`: it took more than the window; `full`: the window ended
   * the reply.
   */
  sign: "finish" | "over-window" | "full";
  /** The reply is complete all the same: never run it again, compact before the next step. */
  answered: boolean;
  /** Input as the provider counted it, cache included. */
  inputTokens?: number;
}

const cutByLength: ReadonlySet<string> = new Set(["length", "max_tokens", "max_output_tokens"]);

/**
 * The signs of an overflow that no error tells of. Undefined when there is none; a length stop far below
 * the window is the output cap, not the window. Sources: Anthropic and z.ai
 * (`model_context_window_exceeded`), z.ai (usage beyond the window), Xiaomi MiMo and Qwen (length stop at
 * 99 % of the window).
 */
export function silentOverflow(replied: Replied): SilentOverflow | undefined {
  const { usage, finish = "", window } = replied;
  const output = replied.outputTokens ?? usage?.output;
  const input = usage === undefined ? undefined : usage.input + usage.cacheRead + usage.cacheWrite;
  const found = (sign: SilentOverflow["sign"]): SilentOverflow => ({
    sign,
    answered: sign === "over-window" && !cutByLength.has(finish) && output !== 0,
    ...(input === undefined ? {} : { inputTokens: input }),
  });
  if (finish === "model_context_window_exceeded") return found("finish");
  if (input === undefined || window === undefined) return undefined;
  if (input > window) return found("over-window");
  const ended = cutByLength.has(finish) || output === 0;
  return ended && input >= 0.99 * window ? found("full") : undefined;
}

/**
 * Judges a provider's refusal: did the request not fit, and by how much? Order: explicit code, status, veto
 * words, the provider's own message, a bare status against our own estimate; and, apart from refusals, the
 * silent signs in a reply. Pure; never throws.
 */
import type { DialectName } from "../dialects/dialect.ts";
import { causeOf, isByteLimit, type OtherCause } from "./look-alikes.ts";
import {
  bindingWords,
  minuteCeiling,
  outputCapWords,
  overflowCodes,
  quotaCodes,
  quotaWords,
  rateCodes,
  rateWords,
} from "./overflow-signatures.ts";
import { type OverflowSignature, overflowSignatures } from "./overflow-wordings.ts";
import { readRefusal, type SaidRefusal, withoutLabels } from "./refusal.ts";

export { type Replied, type SilentOverflow, silentOverflow } from "./silent-overflow.ts";

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
  /** Output cap of the refused request, where it had one: it tells the parts of a sum. */
  maxOutput?: number | undefined;
}

/** An overflow in the provider's own numbers, as far as it stated them and they add up. Tokens. */
export interface Overflow {
  kind: "overflow";
  limit?: number;
  /** `limit` is one of the input alone, not the window. */
  inputOnly?: true;
  /** What the provider counted against the limit: input, plus the output cap where it counts that. */
  tokens?: number;
  inputTokens?: number;
  /** The input fits, only the output cap does not: lower the cap, leave the history alone. */
  maxTokensOnly?: boolean;
  /** By how much it is too long, where that is all the provider says. */
  excess?: number;
}

/**
 * `binding`: kept thinking is bound to a history that has changed. `other`: no overflow, and `what` it is where
 * anyone can tell, with the `limit` that it names in its own unit. A rate limit's `ceiling` is what one request
 * may have at most: a longer one never passes, however long one waits.
 */
export type RefusalClass =
  | Overflow
  | { kind: "rate-limit"; ceiling?: number }
  | { kind: "quota" }
  | { kind: "binding" }
  | { kind: "other"; what?: OtherCause; limit?: number };

/** What a refusal means. A status known from the transport outranks one that the body states. */
export function classifyRefusal(refused: Refused): RefusalClass {
  const said = readRefusal(refused.body);
  const told = refused.status;
  const status = told === undefined || (told >= 200 && told < 300) ? said.status : told;
  const other = (): RefusalClass => ({ kind: "other", ...causeOf(said, status) });
  const overflow = (): Overflow => parted(overflowOf(said, status), refused);
  if (neverOverflow(status)) return waiting(said, status) ?? passedOn(status, overflow) ?? other();
  if (said.codes.some((code) => overflowCodes.has(code))) return overflow();
  const shape = status === undefined || status === 400 || status === 413 || status === 422;
  if (shape && said.messages.some((message) => bindingWords.test(message))) {
    return { kind: "binding" };
  }
  const veto = waiting(said, status);
  if (veto !== undefined) return veto;
  if (!shape || isByteLimit(said) || said.messages.some((message) => outputCapWords.test(message))) {
    return other();
  }
  if (said.messages.some((message) => signatureOf(message, status) !== undefined)) {
    return overflow();
  }
  return bareStatus(status, said, refused) ? { kind: "overflow" } : other();
}

/** Too early, not allowed, or their own fault: no matter of size, whatever the text says. */
function neverOverflow(status: number | undefined): boolean {
  return (
    status !== undefined &&
    (status === 401 || status === 402 || status === 403 || status === 429 || status >= 500)
  );
}

/**
 * A proxy that is at fault only because it passes a refusal on: the words behind it count if they name the
 * limit.
 */
function passedOn(status: number | undefined, overflow: () => Overflow): Overflow | undefined {
  if (status === undefined || status < 500) return undefined;
  const found = overflow();
  return found.limit === undefined ? undefined : found;
}

function waiting(said: SaidRefusal, status: number | undefined): RefusalClass | undefined {
  const spent =
    said.codes.some((code) => quotaCodes.has(code)) || said.messages.some((m) => quotaWords.test(m));
  if (spent || status === 402) return { kind: "quota" };
  const fast = said.codes.some((code) => rateCodes.has(code)) || said.messages.some((m) => rateWords.test(m));
  return fast || status === 429 ? { kind: "rate-limit", ...ceilingOf(said) } : undefined;
}

function ceilingOf(said: SaidRefusal): { ceiling?: number } {
  for (const message of said.messages) {
    const [, limit, requested] = minuteCeiling.exec(message)?.map(numberOf) ?? [];
    if (limit !== undefined && requested !== undefined && requested > limit) return { ceiling: limit };
  }
  return {};
}

function numberOf(digits: string): number {
  return Number(digits.replace(/[,_]/g, ""));
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

function signatureOf(
  message: string,
  status: number | undefined,
): { signature: OverflowSignature; match: RegExpExecArray; text: string } | undefined {
  // The words as they came are tried last: a label may itself be the verdict of a proxy.
  for (const text of [withoutLabels(message), message]) {
    for (const signature of overflowSignatures) {
      if (signature.status !== undefined && signature.status !== status) continue;
      const match = signature.pattern.exec(text);
      if (match !== null) return { signature, match, text };
    }
  }
  return undefined;
}

function overflowOf(said: SaidRefusal, status: number | undefined): Overflow {
  for (const message of said.messages) {
    const overflow = numbersOf(message, status);
    if (overflow !== undefined && Object.keys(overflow).length > 1) return overflow;
  }
  const { n_prompt_tokens: tokens, n_ctx: limit } = said.counts;
  if (tokens === undefined || limit === undefined) return { kind: "overflow" };
  return checked({ limit, input: tokens }, false);
}

/**
 * A sum without its parts is input and output cap together where that comes closer to our own estimate: then
 * what the input weighs is known, and whether a lower cap is all it takes.
 */
function parted(overflow: Overflow, { maxOutput, estimate }: Refused): Overflow {
  const { tokens, inputTokens, limit } = overflow;
  if (tokens === undefined || inputTokens !== undefined || maxOutput === undefined || estimate === undefined)
    return overflow;
  const input = tokens - maxOutput;
  if (input <= 0 || Math.abs(input - estimate) >= Math.abs(tokens - estimate)) return overflow;
  const capOnly = limit !== undefined && input < limit;
  return { ...overflow, inputTokens: input, ...(capOnly ? { maxTokensOnly: true } : {}) };
}

const numberNames = ["limit", "input", "functions", "output", "total", "excess"] as const;

function numbersOf(message: string, status: number | undefined): Overflow | undefined {
  const found = signatureOf(message, status);
  if (found === undefined) return undefined;
  const { signature, match, text } = found;
  const tail = text.slice(match[0].length);
  const more = signature.rest?.map((pattern) => pattern.exec(tail)).find((result) => result !== null);
  const groups: Record<string, string | undefined> = { ...match.groups, ...more?.groups };
  const numbers: Numbers = {};
  for (const name of numberNames) {
    const digits = groups[name];
    if (digits !== undefined) numbers[name] = numberOf(digits);
  }
  return checked(numbers, signature.inputOnly === true);
}

type Numbers = { [name in (typeof numberNames)[number]]?: number };

/**
 * Numbers that do not add up, or that would not be an overflow, are worth nothing: a wrong limit would be
 * learned.
 */
function checked(numbers: Numbers, inputOnly: boolean): Overflow {
  const { limit, functions = 0, output, total, excess } = numbers;
  const input = numbers.input === undefined ? undefined : numbers.input + functions;
  const sum = input === undefined ? undefined : input + (output ?? 0);
  const tokens = total ?? sum;
  const plausible = Object.values(numbers).every((n) => Number.isSafeInteger(n) && n <= 100_000_000);
  const addsUp = total === undefined || sum === undefined || total === sum;
  const exceeds = limit === undefined || tokens === undefined || tokens >= limit;
  if (!plausible || !addsUp || !exceeds || (limit ?? 256) < 256) return { kind: "overflow" };
  const capOnly = output !== undefined && input !== undefined && limit !== undefined && input < limit;
  return {
    kind: "overflow",
    ...(limit === undefined ? {} : { limit }),
    ...(limit !== undefined && inputOnly ? { inputOnly } : {}),
    ...(tokens === undefined ? {} : { tokens }),
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(capOnly ? { maxTokensOnly: true } : {}),
    ...(excess === undefined ? {} : { excess }),
  };
}

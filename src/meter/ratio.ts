/**
 * The route ratio: how many of a provider's own tokens one counted o200k token is.
 * A fold over (reported, counted) samples: a prior by model family, pulled by decayed sums of what was reported.
 * The arithmetic is addition, multiplication and division only: every engine folds a log to the same bits, and the audit
 * compares them.
 */

/** Decayed sums of the tokens that providers reported for appended content, and of the tokens counted for the same. */
export interface RatioState {
  readonly reported: number;
  readonly counted: number;
}

export const noSamples: RatioState = { reported: 0, counted: 0 };

/** Counted tokens that the prior weighs. */
const PRIOR_WEIGHT = 20_000;
/** What one counted token leaves of the past: 2 ** (-1 / 60,000), a half-life of 60,000 counted tokens. */
const DECAY = 0.99998844761372;
const LOWEST = 0.7;
const HIGHEST = 2;

const UNKNOWN_PRIOR = 1.15;
const families: readonly [name: RegExp, prior: number][] = [
  [/claude|(^|[./])anthropic[./]/, 1.25],
  [/deepseek/, 1.08],
  // `o\d`: o1, o3, o4-mini, and any model that says by its name that it counts in o200k.
  [/(^|[./])(openai[./]|gpt|chatgpt|codex|o\d)/, 1],
];

/** The ratio that a route (`provider/model`) starts from, by the family its name tells; 1.15 where it tells none. */
export function priorRatio(route: string): number {
  const name = route.toLowerCase();
  return families.find(([family]) => family.test(name))?.[1] ?? UNKNOWN_PRIOR;
}

/** Takes in one sample; a sample without positive, finite numbers on both sides changes nothing. */
export function foldRatio(state: RatioState, sample: RatioState): RatioState {
  if (!isPositive(sample.reported) || !isPositive(sample.counted)) return state;
  const kept = decayOver(Math.round(sample.counted));
  return {
    reported: state.reported * kept + sample.reported,
    counted: state.counted * kept + sample.counted,
  };
}

/** The ratio to multiply prices with: never under 0.7 or over 2 times the prior. */
export function ratioOf(state: RatioState, prior: number): number {
  const ratio = (state.reported + prior * PRIOR_WEIGHT) / (state.counted + PRIOR_WEIGHT);
  return Math.min(Math.max(ratio, LOWEST * prior), HIGHEST * prior);
}

function isPositive(value: number): boolean {
  return Number.isFinite(value) && value > 0;
}

/** DECAY to the power of `tokens`, by squaring. */
function decayOver(tokens: number): number {
  let kept = 1;
  let square = DECAY;
  for (let left = tokens; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) kept *= square;
    square *= square;
  }
  return kept;
}

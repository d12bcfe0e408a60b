/**
 * Where o200k's own splitting rule ends a piece of text; tokens never cross a piece.
 * The rule is published as a regular expression of seven alternatives (below, each beside its code). It is written out
 * because V8's regular expressions overflow their stack on one piece of a few million characters; this is one walk ahead.
 */

/** What a code point is to the rule. A mark is in both letter runs without being a letter; 0 is "not looked up yet". */
const UPPER = 1;
const LOWER = 2;
const MARK = 4;
const DIGIT = 8;
const SPACE = 16;
const NEWLINE = 32;
const OTHER = 64;

const CASELESS = UPPER | LOWER;
/** `[^\r\n\p{L}\p{N}]` holds spaces, marks and symbols; `[^\s\p{L}\p{N}]` only the latter two. */
const SYMBOL = MARK | OTHER;

const APOSTROPHE = 0x27;
const SLASH = 0x2f;
const BLANK = 0x20;
const CODE_POINTS = 0x110000;

function classify(point: number): number {
  const char = String.fromCodePoint(point);
  if (/[\r\n]/.test(char)) return NEWLINE | SPACE;
  if (/\s/u.test(char)) return SPACE;
  if (/\p{N}/u.test(char)) return DIGIT;
  if (/[\p{Lu}\p{Lt}]/u.test(char)) return UPPER;
  if (/\p{Ll}/u.test(char)) return LOWER;
  if (/[\p{Lm}\p{Lo}]/u.test(char)) return CASELESS;
  return /\p{M}/u.test(char) ? MARK | CASELESS : OTHER;
}

/** Is there a surrogate pair at unit `at`? */
export function isSurrogatePair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
}

/**
 * Answers a function that finds the end of the piece which begins at `from` (units; `from < text.length`).
 * It remembers the class of each code point it has met, in 1.1 MB.
 */
export function createPieceEnd(): (text: string, from: number) => number {
  const classes = new Uint8Array(CODE_POINTS);

  /** The class of the code point at `at`; 0 behind the end. */
  function classAt(text: string, at: number): number {
    if (at >= text.length) return 0;
    const unit = text.charCodeAt(at);
    const point = (unit & 0xfc00) === 0xd800 ? text.codePointAt(at)! : unit;
    if (classes[point] === 0) classes[point] = classify(point);
    return classes[point]!;
  }

  const after = (text: string, at: number): number => at + (isSurrogatePair(text, at) ? 2 : 1);

  /** The end of the run of code points from `at` on that have one of the classes. */
  function skip(text: string, at: number, mask: number): number {
    let end = at;
    while (classAt(text, end) & mask) end = after(text, end);
    return end;
  }

  /**
   * `[^\r\n\p{L}\p{N}]?[upper]*[lower]+suffix?` or, failing that, `[^\r\n\p{L}\p{N}]?[upper]+[lower]*suffix?`, where the
   * caseless letters and marks are in both sets; `from` when neither fits.
   */
  function wordEnd(text: string, from: number, first: number): number {
    // A mark may be the symbol in front too, to the same end: it is in both runs.
    const start = first === OTHER || first === SPACE ? after(text, from) : from;
    let lastCaseless = from;
    let end = start;
    for (let kind = classAt(text, end); kind & UPPER; kind = classAt(text, end)) {
      end = after(text, end);
      if (kind & LOWER) lastCaseless = end;
    }
    if (classAt(text, end) & LOWER) return suffixEnd(text, skip(text, end, LOWER));
    if (lastCaseless > from) return suffixEnd(text, lastCaseless);
    return end > start ? suffixEnd(text, end) : from;
  }

  /** ` ?[^\s\p{L}\p{N}]+[\r\n/]*`; `from` when it does not fit. */
  function symbolsEnd(text: string, from: number): number {
    const start = text.charCodeAt(from) === BLANK ? from + 1 : from;
    let end = skip(text, start, SYMBOL);
    if (end === start) return from;
    while (classAt(text, end) & NEWLINE || text.charCodeAt(end) === SLASH) end++;
    return end;
  }

  /** `\s*[\r\n]+`, `\s+(?!\S)` or `\s+`. */
  function spacesEnd(text: string, from: number): number {
    let lastNewline = from;
    let end = from;
    for (let kind = classAt(text, end); kind & SPACE; kind = classAt(text, end)) {
      end++;
      if (kind & NEWLINE) lastNewline = end;
    }
    if (lastNewline > from) return lastNewline;
    return end < text.length && end - from > 1 ? end - 1 : end;
  }

  /** `\p{N}{1,3}` */
  function digitsEnd(text: string, from: number): number {
    let end = from;
    for (let n = 0; n < 3 && classAt(text, end) & DIGIT; n++) end = after(text, end);
    return end;
  }

  return (text, from) => {
    const first = classAt(text, from);
    if (first & DIGIT) return digitsEnd(text, from);
    const word = wordEnd(text, from, first);
    if (word > from) return word;
    const symbols = symbolsEnd(text, from);
    return symbols > from ? symbols : spacesEnd(text, from);
  };
}

/** `('s|'t|'re|'ve|'m|'ll|'d)?`, in either case. */
function suffixEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== APOSTROPHE) return at;
  const one = text.charAt(at + 1).toLowerCase();
  if (one === "s" || one === "t" || one === "m" || one === "d") return at + 2;
  const two = one + text.charAt(at + 2).toLowerCase();
  return two === "re" || two === "ve" || two === "ll" ? at + 3 : at;
}

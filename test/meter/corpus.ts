/** Generated text of every kind the meter meets: the same seed gives the same text, here, in the tests and in the bench. */

export type Random = (below: number) => number;

/** A small generator of our own (xorshift), so that a corpus is the same on every run and in every runtime. */
export function seeded(seed: number): Random {
  let state = (seed * 2654435761 + 1) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)]!;
const times = (n: number, make: () => string): string => Array.from({ length: n }, make).join("");
const points = (...ranges: readonly [from: number, to: number][]) => {
  return (random: Random): string => {
    const [from, to] = pick(random, ranges);
    return String.fromCodePoint(from + random(to - from + 1));
  };
};

const english =
  "the a of to and in that it with for on is was not this be have from or had by but some what there we can out other were all your when use word how said each she which do their time will way about many then them would write like these her long make thing see him two has look more day could go come did number sound no most people my over know water than call first who may down side been now find any new work part take get place made live where after back little only round man year came show every good me give our under name very through just form sentence great think say help low line differ turn cause much mean before move right boy old too same tell does set three want air well also play small end put home read hand port large spell add even land here must big high such follow act why ask men change went light kind off need house picture try us again animal point mother world near build self earth father".split(
    " ",
  );
const terms = [
  "session",
  "compaction",
  "DurableObject",
  "throughput",
  "isn't",
  "we're",
  "they'll",
  "I've",
  "TOKENIZER",
];
const names = [
  "index",
  "value",
  "items",
  "parseNode",
  "HTTPServer",
  "user_id",
  "MAX_RETRIES",
  "camelCaseName",
  "$el",
];
const hangul = points([0xac00, 0xd7a3]);
const han = points([0x4e00, 0x9fff]);
const hex = (random: Random, n: number): string => times(n, () => "0123456789abcdef"[random(16)]!);

function words(random: Random, n: number): string {
  return Array.from({ length: n }, () => pick(random, random(12) === 0 ? terms : english)).join(" ");
}

/** Runs of a script's letters, 1 to 9 long, apart by blanks. */
const script = (...ranges: readonly [number, number][]) => {
  const letter = points(...ranges);
  return (random: Random) => `${times(1 + random(9), () => letter(random))}${random(9) === 0 ? ", " : " "}`;
};

/** A JSON value of the shape that tools answer with. */
function record(random: Random): object {
  return {
    id: random(1e9),
    path: `/srv/${pick(random, english)}/${pick(random, names)}.ts`,
    ok: random(2) === 0,
    score: random(10000) / 100,
    hash: hex(random, 12),
    tags: [pick(random, english), pick(random, terms)],
    note: null,
  };
}

const sentence = (random: Random): string => {
  const text = words(random, 4 + random(14));
  return `${text[0]!.toUpperCase()}${text.slice(1)}${pick(random, [".", ".", "?", "!", ";"])}${random(6) ? " " : "\n\n"}`;
};

const statement = (random: Random): string => {
  const [a, b] = [pick(random, names), pick(random, names)];
  return pick(random, [
    `const ${a} = await ${b}.get("${pick(random, english)}", { limit: ${random(500)} });\n`,
    `  if (${a}[${random(9)}] !== ${b}) {\n    throw new Error(\`bad \${${a}}\`);\n  }\n`,
    `export function ${a}(${b}: string[]): number {\n\treturn ${b}.length * ${random(100)};\n}\n\n`,
    `// ${words(random, 6)}\n`,
    `def ${a}(self, ${b}=None):\n    return [x for x in ${b} if x.${a} >= 0x${hex(random, 4)}]\n`,
  ]);
};

const logLine = (random: Random): string => {
  const stamp = `2026-0${1 + random(9)}-1${random(9)}T0${random(9)}:${10 + random(50)}:${10 + random(50)}.${100 + random(900)}Z`;
  return `${stamp} [${pick(random, ["INFO", "WARN", "ERROR"])}] req=${hex(random, 8)} ${words(random, 5)} took ${random(9000)}ms\n`;
};

/** How a kind's next stretch is made. */
type Stretch = (random: Random) => string;

/** What people and programs write: pieces are short. */
export const ordinary: Readonly<Record<string, Stretch>> = {
  prose: sentence,
  code: statement,
  json: (random) => `${JSON.stringify(record(random))}\n`,
  "json indented": (random) => `${JSON.stringify(record(random), null, 2)},\n`,
  logs: logLine,
  diff: (random) => `${pick(random, ["+", "-", " "])}${statement(random).split("\n")[0]}\n`,
  csv: (random) =>
    `${random(1e6)},${random(1e4) / 100},-${random(99)}.${random(999)},"${pick(random, english)}"\n`,
  listing: (random) =>
    `-rw-r--r-- 1 root root ${random(1e7)} Nov ${random(30)} ${pick(random, names)}.${pick(random, names)}\n`,
  markdown: (random) =>
    `## ${words(random, 3)}\n\n- [${pick(random, english)}](https://example.com/${hex(random, 6)}) **${words(random, 2)}**\n`,
  cyrillic: script([0x430, 0x44f]),
  greek: script([0x3b1, 0x3c9]),
  arabic: script([0x627, 0x64a]),
  hebrew: script([0x5d0, 0x5ea]),
  devanagari: script([0x905, 0x939], [0x93e, 0x94d]),
  vietnamese: script([0x61, 0x7a], [0x1ea0, 0x1ef9]),
  korean: script([0xac00, 0xd7a3]),
  "mixed case": (random) => `${times(1 + random(4), () => pick(random, names))}${random(3) ? "" : " "}`,
};

/** Text without blanks, encodings, odd characters. */
export const dense: Readonly<Record<string, Stretch>> = {
  base64: (random) => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[random(64)]!,
  hex: (random) => hex(random, 1),
  digits: (random) => `${random(10)}`,
  punctuation: (random) => "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"[random(32)]!,
  "ansi colours": (random) => `\u001b[${random(2)};3${random(8)}m${pick(random, english)}\u001b[0m`,
  "box table": (random) => pick(random, ["│ ", "────────", "┌┬┐\n", "├┼┤", " ", "═══"]),
  han,
  "han with stops": (random) =>
    `${times(2 + random(12), () => han(random))}${pick(random, ["，", "。", "、", "\n"])}`,
  kana: points([0x3041, 0x3096], [0x30a1, 0x30fa]),
  "kana and han": points([0x3041, 0x3096], [0x30a1, 0x30fa], [0x4e00, 0x9fff]),
  hangul,
  thai: points([0xe01, 0xe3a], [0xe40, 0xe4e]),
  khmer: points([0x1780, 0x17d3]),
  letters: points([0x61, 0x7a]),
  capitals: points([0x41, 0x5a]),
  "letters of both cases": points([0x61, 0x7a], [0x41, 0x5a], [0x400, 0x44f]),
  emoji: points([0x1f300, 0x1f64f]),
  "emoji joined": (random) => pick(random, ["👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "❤️", "🇩🇪", " "]),
  combining: (random) =>
    `${pick(random, ["e", "A", "o", "中", " "])}${times(random(4), () => points([0x300, 0x36f])(random))}`,
  marks: points([0x300, 0x36f]),
  controls: points([0, 0x1f], [0x7f, 0x9f]),
  whitespace: (random) =>
    pick(random, [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u2028", "\u3000"]),
  newlines: (random) => pick(random, ["\n", "\n\n", "\r\n", "\r", "/\n", " \n"]),
  // Without U+FEFF, which one of the oracles does not know.
  "any of the plane": points([0, 0xd7ff], [0xe000, 0xfefe], [0xff00, 0xffff]),
  astral: points([0x10000, 0x10ffff]),
  "astral letters": points([0x1d400, 0x1d7ff], [0x10400, 0x1044f]),
  "lone surrogates": points([0xd800, 0xdbff]),
  "surrogates anyhow": (random) => String.fromCharCode(0xd800 + random(0x800)),
};

/** One stretch over and over. */
export const repeats: Readonly<Record<string, Stretch>> = Object.fromEntries(
  ["a", "A", "0", "=", "-", " ", "\t", "\n", "中", "😀", "ab", "\ud800", "\u0301", "aB", " a"].map((text) => [
    `repeated ${JSON.stringify(text)}`,
    () => text,
  ]),
);

export const everyKind: Readonly<Record<string, Stretch>> = { ...ordinary, ...dense, ...repeats };

/** At least `units` UTF-16 units of a kind, cut to that length. */
export function generate(stretch: Stretch, units: number, seed: number): string {
  const random = seeded(seed);
  const parts: string[] = [];
  for (let length = 0; length < units; ) {
    const part = stretch(random);
    parts.push(part);
    length += part.length;
  }
  return parts.join("").slice(0, units);
}

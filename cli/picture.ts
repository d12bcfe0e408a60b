import type { PlayResult, StepRecord } from "./record.ts";

/** The context over time as a picture of characters: window, threshold, and a mark for each compaction. */

export interface Paper {
  /** Columns of the terminal. */
  width: number;
  colour: boolean;
}

const rows = 12;
const blocks = ["", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const listed = 10;
const ink = { bar: 36, window: 31, threshold: 33, mark: 32, faint: 2 } as const;

/** Lines of the picture, none wider than the paper where that is at least 30 columns. */
export function drawContext(result: PlayResult, paper: Paper): string[] {
  const { records, window } = result;
  if (records.length === 0) return ["(no request was made)"];
  const top = Math.max(window, ...records.map(({ tokens }) => tokens));
  const gutter = Math.max(number(top).length, "threshold".length);
  const columns = columnsOf(records, Math.max(10, Math.min(120, paper.width - gutter - 3)));
  const lines: string[] = [];
  for (let row = rows; row >= 1; row -= 1) {
    const level = lineAt(row, top, result);
    const cells = columns.map((column) => cellOf(column.tokens, row, top, level, paper));
    lines.push(`${labelOf(level, result, gutter)} │${cells.join("")}`.trimEnd());
  }
  lines.push(`${"0".padStart(gutter)} └${"─".repeat(columns.length)}`);
  const marks = columns.map(({ compactions }) => markOf(compactions)).join("");
  if (marks.trim() !== "") lines.push(`${" ".repeat(gutter)}  ${tint(marks.trimEnd(), ink.mark, paper)}`);
  const axis = cutTo(`step 1 to ${number(records.length)}, tokens of each request`, paper.width - gutter - 2);
  lines.push(`${" ".repeat(gutter)}  ${tint(axis, ink.faint, paper)}`);
  return [...lines, ...listCompactions(records, paper)];
}

interface Column {
  tokens: number;
  compactions: number;
}

/** One column per step, or per stretch of steps (its largest request) when there are more steps than room. */
function columnsOf(records: readonly StepRecord[], room: number): Column[] {
  const stretch = Math.ceil(records.length / room);
  const repeat = Math.max(1, Math.min(4, Math.floor(room / records.length)));
  const columns: Column[] = [];
  for (let from = 0; from < records.length; from += stretch) {
    const part = records.slice(from, from + stretch);
    const tokens = Math.max(...part.map((record) => record.tokens));
    columns.push({ tokens, compactions: part.filter(hasCompacted).length });
    for (let extra = 1; extra < repeat; extra += 1) columns.push({ tokens, compactions: 0 });
  }
  return columns;
}

export function hasCompacted({ compaction }: StepRecord): boolean {
  return compaction !== undefined && compaction.rungs.length > 0;
}

type Level = "window" | "threshold" | undefined;

/** The line that runs through a row. */
function lineAt(row: number, top: number, { window, threshold }: PlayResult): Level {
  const rowOf = (value: number) => Math.max(1, Math.ceil((value / top) * rows));
  if (row === rowOf(window)) return "window";
  return threshold !== undefined && row === rowOf(threshold) ? "threshold" : undefined;
}

function labelOf(level: Level, { window, threshold = 0 }: PlayResult, gutter: number): string {
  if (level === undefined) return " ".repeat(gutter);
  return number(level === "window" ? window : threshold).padStart(gutter);
}

function cellOf(tokens: number, row: number, top: number, level: Level, paper: Paper): string {
  const eighths = Math.round((tokens / top) * rows * 8) - (row - 1) * 8;
  if (eighths > 0) return tint(blocks[Math.min(8, eighths)] ?? "█", ink.bar, paper);
  if (row === 1) return tint(blocks[1], ink.bar, paper);
  if (level === "window") return tint("─", ink.window, paper);
  return level === "threshold" ? tint("╌", ink.threshold, paper) : " ";
}

function markOf(compactions: number): string {
  if (compactions === 0) return " ";
  if (compactions === 1) return "▲";
  return compactions < 10 ? String(compactions) : "+";
}

function listCompactions(records: readonly StepRecord[], paper: Paper): string[] {
  const compacted = records.filter(hasCompacted);
  const lines = compacted.slice(0, listed).map(({ index, compaction }) => {
    const { tokensBefore = 0, tokensAfter = 0, rungs = [], generation = 0 } = compaction ?? {};
    const sizes = `${number(tokensBefore)} -> ${number(tokensAfter)} tokens`;
    return cutTo(
      `▲ step ${index + 1}: ${sizes}, generation ${generation} (${rungs.join(", ")})`,
      paper.width,
    );
  });
  if (compacted.length > listed) lines.push(`  … and ${number(compacted.length - listed)} more`);
  return lines;
}

/** The text, or its beginning and an ellipsis. */
export function cutTo(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(1, width - 1))}…` : text;
}

/** An integer with commas between thousands, the same in every locale. */
export function number(value: number): string {
  return Math.round(value)
    .toString()
    .replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** The text in a colour of the terminal, on paper that takes colours. */
export function tint(text: string, code: number, { colour }: Paper): string {
  return colour && text !== "" ? `\u001b[${code}m${text}\u001b[0m` : text;
}

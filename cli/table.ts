import { number } from "./picture.ts";
import type { PlayResult } from "./record.ts";

/** The numbers of a replay as a table, or as a list where the terminal is too narrow for one. */

export interface Row {
  file: string;
  result: PlayResult;
}

type Sum = Pick<
  PlayResult,
  | "messages"
  | "calls"
  | "tokensIn"
  | "maxPressure"
  | "prunes"
  | "checkpoints"
  | "tokensSaved"
  | "illegalSurfaces"
  | "auditDrift"
>;

/** Titles stand on two lines, so that the table is narrow. */
const columns: readonly [title: readonly [string, string], key: keyof Sum][] = [
  [["", "messages"], "messages"],
  [["tool", "calls"], "calls"],
  [["tokens", "in"], "tokensIn"],
  [["highest", "pressure"], "maxPressure"],
  [["", "prunes"], "prunes"],
  [["", "checkpoints"], "checkpoints"],
  [["tokens", "saved"], "tokensSaved"],
  [["illegal", "Surfaces"], "illegalSurfaces"],
  [["", "drift"], "auditDrift"],
];

const shortestName = 12;

/** Lines of the table, with a line of totals when there is more than one file. */
export function drawTable(results: readonly Row[], width: number): string[] {
  const rows = results.map(({ file, result }) => ({ name: file, cells: cellsOf(result) }));
  if (results.length > 1) rows.push({ name: "all", cells: cellsOf(total(results)) });
  const widths = columns.map(([[over, under]], index) =>
    Math.max(over.length, under.length, ...rows.map(({ cells }) => cells[index]?.length ?? 0)),
  );
  const taken = widths.reduce((sum, column) => sum + column + 2, 0);
  const longest = Math.max("file".length, ...rows.map(({ name }) => name.length));
  if (width - taken < Math.min(longest, shortestName)) return drawList(rows);
  const nameWidth = Math.min(longest, width - taken);
  const line = (name: string, cells: readonly string[]) =>
    shorten(name, nameWidth).padEnd(nameWidth) +
    cells.map((cell, index) => `  ${cell.padStart(widths[index] ?? 0)}`).join("");
  const titles = (half: 0 | 1) => columns.map(([title]) => title[half]);
  const head = line("file", titles(1));
  return [
    line("", titles(0)),
    head,
    "─".repeat(head.length),
    ...rows.map(({ name, cells }) => line(name, cells)),
  ];
}

function drawList(rows: readonly { name: string; cells: readonly string[] }[]): string[] {
  const titles = columns.map(([title]) => title.join(" ").trim());
  const widest = Math.max(...titles.map(({ length }) => length));
  const cell = Math.max(...rows.flatMap(({ cells }) => cells.map(({ length }) => length)));
  return rows.flatMap(({ name, cells }) => [
    name,
    ...cells.map((text, index) => `  ${(titles[index] ?? "").padEnd(widest)}  ${text.padStart(cell)}`),
  ]);
}

function cellsOf(sum: Sum): string[] {
  return columns.map(([, key]) => number(sum[key]));
}

function total(results: readonly Row[]): Sum {
  const add = (key: keyof Sum) => results.reduce((sum, { result }) => sum + result[key], 0);
  return {
    messages: add("messages"),
    calls: add("calls"),
    tokensIn: add("tokensIn"),
    maxPressure: Math.max(...results.map(({ result }) => result.maxPressure)),
    prunes: add("prunes"),
    checkpoints: add("checkpoints"),
    tokensSaved: add("tokensSaved"),
    illegalSurfaces: add("illegalSurfaces"),
    auditDrift: add("auditDrift"),
  };
}

/** The end of a name tells files apart, so the beginning goes. */
function shorten(name: string, width: number): string {
  return name.length <= width ? name : `…${name.slice(name.length - width + 1)}`;
}

/** The second act as a picture of characters: two lines over steps, the window, and how each line ends. */
import { cutTo, number, type Paper, tint } from "../picture.ts";
import type { Half, SecondActResult } from "./second-act.ts";

const rows = 14;
const ink = { direct: 33, gateway: 36, window: 31, died: 31, finished: 32, faint: 2 } as const;

type Name = "direct" | "gateway";
const signs: Record<Name, string> = { direct: "●", gateway: "◆" };

/** A point of a line: its column, its row from 1 up, and whether the line ends there. */
interface Point {
  row: number;
  end?: "died" | "finished";
}

type Play = Omit<SecondActResult, "picture">;

/** Lines of the picture, none wider than the paper where that is at least 30 columns. */
export function drawSecondAct(play: Play, paper: Paper): string[] {
  const { window, direct, gateway } = play;
  const values = [window, ...pathOf(direct, window), ...pathOf(gateway, window)];
  // Room for the window's name above its line.
  const top = Math.max(...values) * 1.12;
  const gutter = Math.max(number(top).length, "window".length);
  const room = Math.max(10, Math.min(120, paper.width - gutter - 3));
  const steps = Math.max(pathOf(direct, window).length, pathOf(gateway, window).length, 1);
  const at = (half: Half | undefined) => pointsOf(half, { steps, room, top, window });
  const lines = { direct: at(direct), gateway: at(gateway) };
  const windowRow = rowOf(window, top);
  const width = Math.min(room, steps * Math.max(1, Math.min(4, Math.floor(room / steps))));
  const drawn: string[] = [];
  for (let row = rows; row >= 1; row -= 1) {
    const label = row === windowRow ? number(window) : row === windowRow + 1 ? "window" : "";
    const cells = Array.from({ length: width }, (_, column) =>
      cellOf(lines, { column, row, isWindow: row === windowRow, paper }),
    );
    drawn.push(`${label.padStart(gutter)} │${cells.join("")}`.trimEnd());
  }
  drawn.push(`${"0".padStart(gutter)} └${"─".repeat(width)}`);
  const axis = cutTo(`step 1 to ${number(steps)}, tokens of each request`, paper.width - gutter - 2);
  drawn.push(`${" ".repeat(gutter)}  ${tint(axis, ink.faint, paper)}`);
  return [...drawn, ...legendOf("direct", direct, paper), ...legendOf("gateway", gateway, paper)];
}

/** The sizes of a half's requests; the one that was refused is the last, at the window where no size was told. */
function pathOf(half: Half | undefined, window: number): number[] {
  if (half === undefined) return [];
  return half.died === undefined ? half.tokens : [...half.tokens, half.died.refusedTokens ?? window];
}

function rowOf(tokens: number, top: number): number {
  return Math.max(1, Math.ceil((tokens / top) * rows));
}

interface Frame {
  steps: number;
  room: number;
  top: number;
  window: number;
}

/** Points by column. More steps than columns: the largest request of a stretch stands for it. */
function pointsOf(half: Half | undefined, { steps, room, top, window }: Frame): Map<number, Point> {
  const points = new Map<number, Point>();
  const path = pathOf(half, window);
  const stretch = Math.ceil(steps / room);
  const repeat = Math.max(1, Math.min(4, Math.floor(room / steps)));
  const columns = Math.ceil(path.length / stretch);
  for (let column = 0; column < columns; column++) {
    const tokens = Math.max(...path.slice(column * stretch, (column + 1) * stretch));
    for (let extra = 0; extra < repeat; extra++)
      points.set(column * repeat + extra, { row: rowOf(tokens, top) });
  }
  const last = columns * repeat - 1;
  const ending = points.get(last);
  if (ending !== undefined && half?.died !== undefined) points.set(last, { ...ending, end: "died" });
  else if (ending !== undefined && half?.finished === true) points.set(last, { ...ending, end: "finished" });
  return points;
}

interface Cell {
  column: number;
  row: number;
  isWindow: boolean;
  paper: Paper;
}

function cellOf(lines: Record<Name, Map<number, Point>>, { column, row, isWindow, paper }: Cell): string {
  for (const name of ["direct", "gateway"] as const) {
    const point = lines[name].get(column);
    if (point?.row !== row) continue;
    if (point.end === "died") return tint("✗", ink.died, paper);
    return point.end === "finished" ? tint("✓", ink.finished, paper) : tint(signs[name], ink[name], paper);
  }
  return isWindow ? tint("─", ink.window, paper) : " ";
}

function legendOf(name: Name, half: Half | undefined, paper: Paper): string[] {
  if (half === undefined) return [];
  const who = name === "direct" ? "direct" : "through Plimsoll";
  const { died, tokens, answer, finished } = half;
  const sign = tint(signs[name], ink[name], paper);
  if (died !== undefined) {
    const why = died.code ?? (died.overflow ? "context overflow" : String(died.status ?? "error"));
    const words = cutTo(`  ${died.message}`, paper.width);
    return [
      `${sign} ${cutTo(`${who}: ✗ dies at step ${number(died.request)}, ${why}`, paper.width - 2)}`,
      words,
    ];
  }
  const largest = tokens.reduce((most, one) => Math.max(most, one), 0);
  const drops = tokens.filter((one, at) => one < (tokens[at - 1] ?? 0)).length;
  const end = finished ? `✓ ${answer}` : "✗ ended without its answer";
  return [
    `${sign} ${cutTo(`${who}: ${end}`, paper.width - 2)}`,
    cutTo(
      `  ${number(tokens.length)} requests, the largest ${number(largest)} tokens, made smaller ${number(drops)} times`,
      paper.width,
    ),
  ];
}

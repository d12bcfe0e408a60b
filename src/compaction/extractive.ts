/**
 * The built-in summarizer: a checkpoint's text from facts alone, without a model or a network. It is built to
 * fit its budget by exact count, and takes only what it needs of it: every token kept is a token that the
 * next steps do not have. Deterministic; what stays the same from generation to generation stands first.
 */
import { clipRequest, type Framed, type FrameLabel, frameCheckpoint, frameRoom } from "./checkpoint.ts";
import { clipTokens, oneLine } from "./clip.ts";
import type { CommandFact } from "./facts/deeds.ts";
import { filesOf } from "./facts/files.ts";
import type { PlanItem } from "./facts/plan.ts";
import type { RequestFact } from "./facts/requests.ts";
import { type Facts, firstRequest, newestRequest, type Words } from "./facts.ts";
import { fileList } from "./file-list.ts";

type Count = (text: string) => number;

export interface ExtractiveOptions {
  /** The frame around the text states the first and the newest request: they are left out here. */
  framed?: boolean;
}

/** Below this many tokens only the requests and where the work stands are told. */
const SMALL = 400;

/** Shares of the size, in the order in which they are served; what one leaves goes to those behind it. */
const shares = { state: 0.14, plan: 0.1, errors: 0.08, commands: 0.14, requests: 0.28, files: 0.26 } as const;
type Section = keyof typeof shares;

/** The order in which they stand: what changes least first. */
const order: readonly Section[] = ["requests", "files", "plan", "commands", "errors", "state"];

/**
 * The size that the text aims at: a quarter of the budget, at least 900 where there is room, at most 3,000
 * tokens.
 */
export function naturalSize(budget: number): number {
  return Math.min(budget, Math.max(900, Math.min(3_000, Math.floor(budget / 4))));
}

/**
 * The summary of these facts in at most `budget` tokens, by `count`; "" when there is nothing to tell or no
 * room for it.
 */
export function extractiveText(
  facts: Facts,
  budget: number,
  count: Count,
  options: ExtractiveOptions = {},
): string {
  const size = naturalSize(budget);
  const small = size < SMALL;
  const made = new Map<Section, string>();
  let room = size;
  let weights = 1;
  for (const section of Object.keys(shares) as Section[]) {
    const share = shares[section];
    const allowance = small ? smallShare(section, room) : Math.floor((room * share) / weights);
    weights = Math.max(share, weights - share);
    const text = sections[section](facts, allowance, count, options);
    if (text === "") continue;
    made.set(section, text);
    room -= count(`${text}\n\n`);
  }
  const text = order.flatMap((section) => made.get(section) ?? []).join("\n\n");
  return clipTokens(text, budget, count, () => "");
}

function smallShare(section: Section, room: number): number {
  if (section === "state") return Math.floor(room * 0.35);
  return section === "requests" ? room : 0;
}

type Render = (facts: Facts, max: number, count: Count, options: ExtractiveOptions) => string;

const sections: Record<Section, Render> = {
  requests: requestsText,
  files: filesText,
  plan: planText,
  commands: commandsText,
  errors: errorsText,
  state: stateText,
};

function requestsText(
  facts: Facts,
  max: number,
  count: Count,
  { framed = false }: ExtractiveOptions,
): string {
  const first = firstRequest(facts);
  const newest = newestRequest(facts);
  const others = facts.requests.filter((request) => request !== first && request !== newest);
  const stated: string[] = [];
  let room = max;
  const state = (label: string, request: RequestFact | undefined, part: number): void => {
    const head = `${label}\n`;
    const limit = Math.floor(room * part) - count(head) - 2;
    if (framed || request === undefined || limit < 8) return;
    stated.push(head + clipRequest(request, limit, count));
    room -= count(`${stated.at(-1)}\n`);
  };
  state(first === newest ? "## The user's request" : "## The user's first request", first, 0.5);
  if (first !== newest) state("## The user's newest request", newest, 0.7);
  const heading = framed ? "## Other requests of the user, oldest first" : "## Between them, oldest first";
  const entries = others.map((request) => `- ${indented(clipRequest(request, 80, count))}`);
  const list = listed(heading, entries, facts.omitted.requests, "earlier requests", room, count);
  const [beginning, ...end] = stated;
  return [beginning ?? "", list, ...end].filter((text) => text !== "").join("\n");
}

function filesText(facts: Facts, max: number, count: Count): string {
  const { text, left } = fileList(filesOf(facts.files), max - 12, count);
  if (text === "") return "";
  return `## Files\n${text}${leftOut(left + facts.omitted.files, "more files")}`;
}

const boxes: Record<PlanItem["state"], string> = { open: "[ ]", doing: "[>]", done: "[x]", dropped: "[-]" };

function planText(facts: Facts, max: number, count: Count): string {
  const { plan, planText: prose } = facts;
  const entries = plan.map(({ text, state }) => `${boxes[state]} ${text}`);
  const list = listed("## Task list", entries, facts.omitted.plan, "finished tasks", max, count);
  const room = max - count(list) - 12;
  const told =
    prose !== undefined && facts.requests.some(({ text: t }) => t.includes(prose.text.slice(0, 80)));
  if (prose === undefined || told || room < 24) return list;
  const text = clipRequest(prose, room, count);
  return [list, `## Plan that was accepted\n${text}`].filter((part) => part !== "").join("\n");
}

function commandsText(facts: Facts, max: number, count: Count): string {
  const entries = facts.commands.map((command) => `- ${command.line}${outcomeOf(command)}`);
  return listed("## What was run, oldest first", entries, facts.omitted.commands, "earlier ones", max, count);
}

/** An outcome that is not known is not told. */
function outcomeOf({ outcome, exit, times }: CommandFact): string {
  const code = exit === undefined || exit === 0 ? "" : ` (exit ${exit})`;
  const words = [
    outcome === "unknown" ? "" : `${outcome}${code}`,
    times === undefined ? "" : `${times} times`,
  ];
  const told = words.filter((word) => word !== "");
  return told.length === 0 ? "" : ` -> ${told.join(", ")}`;
}

function errorsText(facts: Facts, max: number, count: Count): string {
  const entries = facts.errors.map(({ about, text }) => `- ${oneLine(about, 80)}: ${text}`);
  return listed(
    "## Errors that no later success has answered",
    entries,
    facts.omitted.errors,
    "older ones",
    max,
    count,
  );
}

/** The summarizer sees no more than its span: what follows may well hold the answer. */
const PENDING = "(Up to the end of this span nothing was written after the newest request.)";

function stateText(facts: Facts, max: number, count: Count): string {
  const { latest, progress } = facts;
  const newest = newestRequest(facts);
  const open = newest !== undefined && newest.seq > (latest?.seq ?? 0);
  const pending = open ? `\n${PENDING}` : "";
  if (latest === undefined) return "";
  const heading = "## Where the work stands, in the assistant's last words";
  const fixed = count(heading) + count(pending) + 4;
  const said = clipRequest(latest, Math.floor((max - fixed) * 0.7), count);
  if (said.trim() === "") return "";
  const last = `${indented(said)}${pending}`;
  const room = max - fixed - count(last);
  const steps = listed(
    heading,
    distinct(progress.map(({ text }) => text)).flatMap((text) => (says(latest, text) ? [] : [`- ${text}`])),
    0,
    "",
    room + count(heading),
    count,
  );
  return `${steps === "" ? heading : steps}\n- ${last}`;
}

/** Each line once, at the place of its newest. */
function distinct(lines: readonly string[]): string[] {
  return lines.filter((line, at) => lines.lastIndexOf(line) === at);
}

/** Whether a line of the progress is the text itself, put on one line. */
function says({ text }: Words, line: string): boolean {
  const whole = oneLine(text, 1_024);
  return whole === line || (line.endsWith("…") && whole.startsWith(line.slice(0, -1)));
}

/** A heading and as many of the newest entries as fit, with a note of how many do not; "" when none fits. */
function listed(
  heading: string,
  entries: readonly string[],
  omitted: number,
  what: string,
  max: number,
  count: Count,
): string {
  let room = max - count(`${heading}\n`) - 8;
  let from = entries.length;
  while (from > 0) {
    const cost = count(`${entries[from - 1]}\n`);
    if (cost > room) break;
    room -= cost;
    from--;
  }
  if (from === entries.length) return "";
  const left = from + omitted;
  const note = left > 0 && what !== "" ? [`(${left} ${what} left out)`] : [];
  return [heading, ...note, ...entries.slice(from)].join("\n");
}

function leftOut(left: number, what: string): string {
  return left > 0 ? `\n(${left} ${what} left out)` : "";
}

/**
 * Lines behind the first are set in, so that nothing in them can pass for a heading or an entry of its own.
 */
function indented(text: string): string {
  return text.replaceAll(/\n\s{0,200}/g, "\n  ");
}

/**
 * A whole framed checkpoint without a model, at most `cap` tokens as long as the cap holds the frame's label.
 */
export function extractiveCheckpoint(input: {
  facts: Facts;
  cap: number;
  count: Count;
  label: FrameLabel;
}): Framed {
  const { facts, cap, count, label } = input;
  const first = firstRequest(facts);
  const newest = newestRequest(facts);
  const parts = {
    cap,
    count,
    label,
    ...(first === undefined ? {} : { firstRequest: first }),
    ...(newest === undefined ? {} : { newestRequest: newest }),
  };
  let room = frameRoom(parts);
  for (;;) {
    const framed = frameCheckpoint({ ...parts, text: extractiveText(facts, room, count, { framed: true }) });
    if (framed.tokens <= cap || room === 0) return framed;
    room = Math.max(0, room - (framed.tokens - cap));
  }
}

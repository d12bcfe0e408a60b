/**
 * The work of a loop, played from both sides: what the task says, what the model does next, what a tool
 * answers. The state of the work is the header of the newest tool result, so a history that was compacted in
 * front of it plays on. Pure: the same task gives the same texts and sizes in every run.
 */
import { createChance } from "../demo/chance.ts";
import { digest } from "./thinking.ts";

/** Where the work stands: `round` results are in, of `rounds`; `calls` of them go out at once. */
export interface Standing {
  task: string;
  round: number;
  rounds: number;
  calls: number;
}

/** Result sizes in bytes, drawn by weight. */
export type Sizes = readonly (readonly [weight: number, low: number, high: number])[];

/** Mostly short answers, some files, a few long outputs. */
export const defaultSizes: Sizes = [
  [6, 100, 600],
  [3, 1_500, 6_000],
  [1, 24_000, 30_000],
];

export const toolNames = ["read_file", "run", "grep"] as const;

/** The first user message of a loop. */
export function taskText({ task, rounds, calls }: Omit<Standing, "round">): string {
  return `task=${task} rounds=${rounds} calls=${calls}\nLook through the project until every round is done, then say DONE.`;
}

/** Reads a task's first message; other texts of a user are no task. */
export function readTask(text: string): Standing | undefined {
  const found = /^task=(\S+) rounds=(\d+) calls=(\d+)/.exec(text);
  if (found === null) return undefined;
  return { task: found[1] ?? "", round: 0, rounds: Number(found[2]), calls: Number(found[3]) };
}

/** Reads the header of a result, wherever pruning has left it. */
export function readResult(text: string): Standing | undefined {
  const found = /task=(\S+) round=(\d+)\/(\d+) calls=(\d+)/.exec(text);
  if (found === null) return undefined;
  const [, task = "", round, rounds, calls] = found;
  return { task, round: Number(round), rounds: Number(rounds), calls: Number(calls) };
}

export interface Move {
  text: string;
  calls: { name: string; args: string }[];
  thinking: string;
}

/** What the model does where the work stands like this. */
export function nextMove({ task, round, rounds, calls }: Standing): Move {
  const next = round + 1;
  if (round >= rounds) {
    return {
      text: `DONE ${task} after ${rounds} rounds`,
      calls: [],
      thinking: "Everything was looked at.",
    };
  }
  // Some replies say something before they call, some think without showing it, as models do.
  const text = next % 3 === 0 ? "" : `Round ${next} of ${rounds}: on to the next part of the project.`;
  const thinking = next % 5 === 0 ? "" : `Part ${next} comes after part ${round}; nothing was found so far.`;
  return {
    text,
    thinking,
    calls: Array.from({ length: calls }, (_, call) => ({
      name: toolNames[(next + call) % toolNames.length] ?? "run",
      args: spaced(
        { path: `src/part-${next}/file-${call}.ts`, task, round: next, rounds, calls, call },
        next,
      ),
    })),
  };
}

/** Models write their JSON with and without spaces. */
function spaced(args: object, round: number): string {
  const text = JSON.stringify(args);
  return round % 2 === 0 ? text : text.replaceAll('":', '": ').replaceAll(',"', ', "');
}

/** A client sends its whole history each time, and 32 MiB is all that a request may hold: 2,000 rounds of several calls must stay below. */
const severalShare = 0.5;

/** What a tool answers: the header, then lines that look like code, up to a size that the round decides. */
export function toolResult(args: unknown, sizes: Sizes = defaultSizes): string {
  const { task, round, rounds, calls, call, path } = args as Record<string, string | number>;
  const seed = Number.parseInt(
    Buffer.from(digest(`${task}/${round}/${call}`))
      .toString("hex")
      .slice(0, 8),
    16,
  );
  const chance = createChance(seed);
  const [, low, high] = chance.pick(sizes.flatMap((size) => Array.from({ length: size[0] }, () => size)));
  const size = chance.between(low, high) * (Number(calls) > 1 ? severalShare : 1);
  const lines = [`task=${task} round=${round}/${rounds} calls=${calls} call=${call} of ${path}`];
  for (let length = lines[0]?.length ?? 0; length < size; length += (lines.at(-1)?.length ?? 0) + 1) {
    const name = chance.pick(nouns);
    const verb = chance.pick(verbs);
    lines.push(
      `${lines.length}: ${verb} ${name}_${chance.between(1, 999)} in ${chance.pick(nouns)}(${chance.between(0, 65_535)});`,
    );
  }
  return lines.join("\n");
}

const nouns = [
  "buffer",
  "session",
  "reader",
  "window",
  "branch",
  "ledger",
  "queue",
  "anchor",
  "cargo",
  "draft",
];
const verbs = ["const", "await", "return", "check", "merge", "split", "count", "move", "close", "open"];

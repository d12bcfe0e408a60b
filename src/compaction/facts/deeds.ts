/** Commands with their outcomes, and the errors that still stand, each within a count and a byte budget. */
import { jsonBytes } from "../clip.ts";
import type { Outcome } from "./outcome.ts";

export interface CommandFact {
  seq: number;
  line: string;
  outcome: Outcome;
  exit?: number;
  /** How often it ran, when more than once. */
  times?: number;
}

export interface ErrorFact {
  seq: number;
  /** What failed: the command, or the tool and its file. */
  about: string;
  text: string;
}

const limits = {
  commands: { count: 24, bytes: 2_560 },
  errors: { count: 8, bytes: 1_536 },
} as const;

/** Errors that are held while folding, so that a success looks through few. */
const MAX_OPEN = 64;

/**
 * Folds what was done: one entry per command, one per failure, the newest last. A success takes its older
 * failure away.
 */
export class Deeds {
  readonly #commands = new Map<string, CommandFact>();
  readonly #errors = new Map<string, ErrorFact>();
  #forgotten = 0;

  constructor(commands: readonly CommandFact[], errors: readonly ErrorFact[]) {
    for (const command of commands) this.#commands.set(command.line, command);
    for (const error of errors) this.#errors.set(keyOf(error), error);
  }

  ran(command: CommandFact): void {
    const before = this.#commands.get(command.line);
    this.#commands.delete(command.line);
    const times = before === undefined ? 1 : (before.times ?? 1) + 1;
    this.#commands.set(command.line, times > 1 ? { ...command, times } : command);
  }

  failed(error: ErrorFact): void {
    const key = keyOf(error);
    this.#errors.delete(key);
    this.#errors.set(key, error);
    if (this.#errors.size <= MAX_OPEN) return;
    const [oldest] = this.#errors.keys();
    this.#errors.delete(oldest!);
    this.#forgotten++;
  }

  /** What had failed about this has gone well now. */
  succeeded(about: string): void {
    for (const [key, error] of this.#errors) if (error.about === about) this.#errors.delete(key);
  }

  close(): { commands: CommandFact[]; errors: ErrorFact[]; droppedCommands: number; droppedErrors: number } {
    const commands = newest(
      [...this.#commands.values()],
      limits.commands,
      ({ line }) => jsonBytes(line) + 64,
    );
    const errors = newest(
      [...this.#errors.values()],
      limits.errors,
      ({ about, text }) => jsonBytes(about) + jsonBytes(text) + 40,
    );
    return {
      commands,
      errors,
      droppedCommands: this.#commands.size - commands.length,
      droppedErrors: this.#forgotten + this.#errors.size - errors.length,
    };
  }
}

/** Errors are the same when they differ only in numbers: line counts, addresses, times. */
function keyOf({ text }: ErrorFact): string {
  return text.slice(0, 120).replaceAll(/\d+/g, "0");
}

function newest<T>(
  items: readonly T[],
  limit: { count: number; bytes: number },
  cost: (item: T) => number,
): T[] {
  let bytes = 0;
  let from = items.length;
  while (from > 0 && items.length - from < limit.count) {
    bytes += cost(items[from - 1]!);
    if (bytes > limit.bytes) break;
    from--;
  }
  return items.slice(from);
}

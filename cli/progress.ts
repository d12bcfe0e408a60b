import { number } from "./picture.ts";
import type { StepRecord } from "./record.ts";

/** Shows how far a replay is: one line that is written over on a terminal, a line per tenth anywhere else. */

export interface ProgressStream {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export interface Progress {
  /** Something is about to happen. */
  note(text: string): void;
  step(file: string, record: StepRecord, steps: number, window: number): void;
  /** Ends the line that is written over. */
  clear(): void;
}

export function createProgress(stream: ProgressStream): Progress {
  const live = stream.isTTY === true;
  let open = false;
  let tenth = 0;
  const clear = () => {
    if (open) stream.write("\r\u001b[K");
    open = false;
  };
  const overwrite = (text: string) => {
    const width = Math.max(20, (stream.columns ?? 80) - 1);
    stream.write(`\r\u001b[K${text.slice(0, width)}`);
    open = true;
  };
  return {
    clear,
    note(text) {
      if (live) overwrite(text);
      else stream.write(`${text}\n`);
    },
    step(file, record, steps, window) {
      const done = record.index + 1;
      if (done === 1) tenth = 0;
      const reached = Math.floor((done * 10) / steps);
      if (!live && reached <= tenth) return;
      tenth = reached;
      const size = `${number(record.tokens)} of ${number(window)} tokens`;
      const text = `${bar(done / steps)} ${file}: step ${done}/${steps}, ${size}, generation ${record.generation}`;
      if (live) overwrite(text);
      else stream.write(`${text}\n`);
    },
  };
}

function bar(share: number): string {
  const full = Math.round(Math.min(1, share) * 20);
  return `[${"#".repeat(full)}${".".repeat(20 - full)}]`;
}

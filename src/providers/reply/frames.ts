/**
 * Cuts a stream of server-sent events into whole frames without changing a byte: what comes out, put
 * together, is what went in. Pure; linear in the bytes, whatever the chunks are.
 */
import { createParser } from "eventsource-parser";

/** A frame may be this long, in bytes. */
export const maxFrameBytes = 16 * 1024 * 1024;

/** The provider sent a frame longer than `maxFrameBytes`. */
export class FrameTooLong extends RangeError {
  constructor() {
    super(`a frame is longer than ${maxFrameBytes} bytes`);
  }
}

const lf = 0x0a;
const cr = 0x0d;
/** A buffer that grew beyond this is given back with its frame. */
const keptBuffer = 65_536;

/**
 * A frame ends with the empty line behind its lines; empty lines before it belong to it. Comments are frames
 * too. Where a chunk ends between CR and LF the LF leads the next frame, which a parser passes over.
 */
export class FrameSplitter {
  #buffer = new Uint8Array(4096);
  #size = 0;
  /** The frame has a line that is not empty. */
  #begun = false;
  /** The current line has a byte. */
  #inLine = false;
  #afterCr = false;

  /**
   * The frames that this chunk completes. They may be views of the chunk.
   * @throws FrameTooLong
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let from = 0;
    for (let i = 0; i < chunk.length; ) {
      if (!this.#take(chunk[i++]!)) continue;
      // The LF of a CRLF belongs to the line that the CR has ended.
      if (chunk[i - 1] === cr && chunk[i] === lf) {
        i++;
        this.#afterCr = false;
      }
      frames.push(this.#cut(chunk.subarray(from, i)));
      from = i;
    }
    this.#keep(chunk.subarray(from));
    return frames;
  }

  /** What is left at the end of the body: a frame without its empty line, or nothing. */
  end(): Uint8Array[] {
    return this.#size === 0 ? [] : [this.#cut(new Uint8Array(0))];
  }

  /** Whether this byte ends the frame. */
  #take(byte: number): boolean {
    const second = byte === lf && this.#afterCr;
    this.#afterCr = byte === cr;
    if (second) return false;
    if (byte !== lf && byte !== cr) {
      this.#inLine = true;
      this.#begun = true;
      return false;
    }
    const empty = !this.#inLine;
    this.#inLine = false;
    return empty && this.#begun;
  }

  #cut(tail: Uint8Array): Uint8Array {
    this.#begun = false;
    if (this.#size === 0) {
      if (tail.length > maxFrameBytes) throw new FrameTooLong();
      return tail;
    }
    this.#keep(tail);
    const frame = this.#buffer.slice(0, this.#size);
    this.#size = 0;
    if (this.#buffer.length > keptBuffer) this.#buffer = new Uint8Array(4096);
    return frame;
  }

  /** Doubling keeps many small chunks linear. */
  #keep(bytes: Uint8Array): void {
    const size = this.#size + bytes.length;
    if (size > maxFrameBytes) throw new FrameTooLong();
    if (size > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(size, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.#size));
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#size);
    this.#size = size;
  }
}

export interface FrameEvent {
  event?: string;
  data: string;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** The event of a frame; `quiet` for one without data (a comment), `garbage` when it is not UTF-8. */
export function readFrame(frame: Uint8Array): FrameEvent | "quiet" | "garbage" {
  let text: string;
  try {
    text = decoder.decode(frame);
  } catch {
    return "garbage";
  }
  let found: FrameEvent | undefined;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      found ??= { ...(event === undefined ? {} : { event }), data };
    },
  });
  // Two more line ends close a frame that the end of the body has cut short.
  parser.feed(`${text}\n\n`);
  return found ?? "quiet";
}

/**
 * A shell command as simple commands of words: enough to see which program touches which file, no more. One
 * pass over at most 16,384 units, no expansion, and what it can not read it leaves out. Bodies of
 * here-documents are skipped.
 */

export interface SimpleCommand {
  /** Words with their quotes taken off; a word that expands something keeps its `$`. */
  words: string[];
  /** Targets of `>` and `>>`, sources of `<`. */
  writes: string[];
  reads: string[];
  /** A pipe follows: how it ended is not told by the whole. */
  piped: boolean;
}

const MAX_UNITS = 16_384;
const MAX_WORDS = 1_024;

export interface ShellText {
  commands: SimpleCommand[];
  /** The command without the bodies of its here-documents. */
  plain: string;
}

export function parseShell(command: string): ShellText {
  return new ShellReader(command.slice(0, MAX_UNITS)).read();
}

function noCommand(): SimpleCommand {
  return { words: [], writes: [], reads: [], piped: false };
}

class ShellReader {
  readonly #text: string;
  readonly #done: SimpleCommand[] = [];
  #now: SimpleCommand = noCommand();
  #at = 0;
  #words = 0;
  /** What the next word is, and the here-documents whose bodies start on the next line. */
  #next: "word" | "write" | "read" | "heredoc" = "word";
  #heredocs: string[] = [];
  #plain = "";
  #plainFrom = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): ShellText {
    while (this.#at < this.#text.length && this.#words < MAX_WORDS) this.#step();
    this.#close();
    return { commands: this.#done, plain: this.#plain + this.#text.slice(this.#plainFrom) };
  }

  #step(): void {
    const char = this.#text[this.#at]!;
    if (char === "\n") {
      this.#at++;
      this.#close();
      this.#skipHeredocs();
    } else if (char === "\\" && this.#text[this.#at + 1] === "\n") {
      this.#at += 2;
    } else if (char === " " || char === "\t" || char === "\r") {
      this.#at++;
    } else if (char === "#") {
      this.#skipLine();
    } else if (char === ">" || char === "<") {
      this.#redirect(char);
    } else if (";|&()`{}".includes(char)) {
      const twice = this.#text[this.#at + 1] === char;
      this.#at += twice ? 2 : 1;
      if (this.#text[this.#at] === ">" && char === "&") return;
      this.#now.piped = char === "|" && !twice;
      this.#close();
    } else {
      this.#word();
    }
  }

  #close(): void {
    const { words, writes, reads } = this.#now;
    if (words.length + writes.length + reads.length > 0) this.#done.push(this.#now);
    this.#now = noCommand();
    this.#next = "word";
  }

  #redirect(char: ">" | "<"): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    const sign = ["<<<", "<<-", "<<", ">>", ">|", ">&", "<&"].find((s) => rest.startsWith(s)) ?? char;
    this.#at += sign.length;
    if (sign === "<<<") return;
    this.#next = sign === "<<" || sign === "<<-" ? "heredoc" : char === ">" ? "write" : "read";
  }

  #word(): void {
    const word = this.#readWord();
    this.#words++;
    const follows = this.#text[this.#at];
    if (this.#next === "word" && (follows === ">" || follows === "<") && /^\d+$/.test(word)) return;
    if (this.#next === "word") this.#now.words.push(word);
    else if (this.#next === "heredoc") this.#heredocs.push(word);
    else if (!/^\d$|^-$/.test(word)) this.#now[this.#next === "write" ? "writes" : "reads"].push(word);
    this.#next = "word";
  }

  #readWord(): string {
    const parts: string[] = [];
    let from = this.#at;
    const flush = (): void => {
      if (this.#at > from) parts.push(this.#text.slice(from, this.#at));
    };
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (" \t\r\n;|&<>()`".includes(char)) break;
      if (char === "'" || char === '"' || char === "\\") {
        flush();
        parts.push(char === "\\" ? this.#escaped() : this.#quoted(char));
        from = this.#at;
      } else {
        this.#at++;
      }
    }
    flush();
    return parts.join("");
  }

  #escaped(): string {
    const char = this.#text[this.#at + 1] ?? "";
    this.#at = Math.min(this.#text.length, this.#at + 2);
    return char === "\n" ? "" : char;
  }

  /**
   * The inside of a quotation; an unclosed one runs to the end. In double quotes a backslash guards the next
   * unit.
   */
  #quoted(quote: string): string {
    const start = this.#at + 1;
    let end = start;
    while (end < this.#text.length && this.#text[end] !== quote) {
      end += quote === '"' && this.#text[end] === "\\" ? 2 : 1;
    }
    this.#at = Math.min(this.#text.length, end + 1);
    return this.#text.slice(start, end);
  }

  #skipLine(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  #skipHeredocs(): void {
    if (this.#heredocs.length === 0) return;
    this.#plain += this.#text.slice(this.#plainFrom, this.#at);
    for (const delimiter of this.#heredocs.splice(0)) {
      while (this.#at < this.#text.length) {
        const end = this.#text.indexOf("\n", this.#at);
        const stop = end < 0 ? this.#text.length : end;
        const line = this.#text.slice(this.#at, stop).trim();
        this.#at = Math.min(this.#text.length, stop + 1);
        if (line === delimiter) break;
      }
    }
    this.#plainFrom = this.#at;
  }
}

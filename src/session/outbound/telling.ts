/** Gathers what a step's model says, so that whoever looks on gets it a few times a second and not token by token. */

const EVERY_MS = 50;
const MOST_CHARACTERS = 4_096;

export class Telling {
  private readonly tell: (text: string) => void;
  private text = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tell: (text: string) => void) {
    this.tell = tell;
  }

  add(text: string): void {
    if (text === "") return;
    this.text += text;
    if (this.text.length >= MOST_CHARACTERS) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), EVERY_MS);
  }

  /** What is left goes out in front of the event that ends the step. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { text } = this;
    this.text = "";
    if (text !== "") this.tell(text);
  }
}

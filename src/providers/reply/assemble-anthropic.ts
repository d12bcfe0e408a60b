/** Assembles an Anthropic Messages stream, `message_start` to `message_stop`. */
import { pick, root, type Span } from "../../log/scanner.ts";
import { AnthropicBlock } from "./anthropic-block.ts";
import { countAt, ofKind, slice, textAt, valueAt, wordAt } from "./fields.ts";
import { judged, legalAnthropicMessage } from "./legal.ts";
import type { Meaning, Reply } from "./reply.ts";
import { decoded, errorOf, type Reading } from "./stream.ts";

const eventFields = ["type", "index", "message", "content_block", "delta", "usage"] as const;

export class AnthropicReading implements Reading {
  readonly #blocks = new Map<number, AnthropicBlock>();
  #usage: Record<string, unknown> | undefined;
  #model: string | undefined;
  #id: string | undefined;
  #finish: string | undefined;
  #stopped = false;
  #committed = false;

  take(data: Uint8Array, event: string | undefined): Meaning {
    const fields = pick(data, root(data), eventFields);
    const type = textAt(data, fields.type) ?? event;
    switch (type) {
      case "ping":
        return { kind: "quiet" };
      case "error":
        return errorOf(decoded(data));
      case "message_start":
        this.#start(data, ofKind(data, fields.message, "object"));
        break;
      case "content_block_start":
      case "content_block_delta": {
        const inner = type === "content_block_start" ? fields.content_block : fields.delta;
        if (!this.#block(data, countAt(data, fields.index) ?? 0, type, ofKind(data, inner, "object"))) {
          return { kind: "garbage" };
        }
        break;
      }
      case "message_stop":
        // Without a stop reason it is no end of a reply.
        if (!this.whole()) return { kind: "garbage" };
        this.#stopped = true;
        break;
      case "message_delta":
        this.#change(data, ofKind(data, fields.delta, "object"), fields.usage);
        break;
    }
    // Unknown events are passed over, as the API asks of its clients.
    return { kind: this.whole() ? "terminal" : this.#committed ? "content" : "opening" };
  }

  #start(data: Uint8Array, message: Span | undefined): void {
    if (message === undefined) return;
    const { id, model, usage } = pick(data, message.start, ["id", "model", "usage"]);
    this.#id ??= wordAt(data, id);
    this.#model ??= wordAt(data, model);
    this.#takeUsage(data, usage);
  }

  /** False for a delta of a block that never began, or an event without its object. */
  #block(data: Uint8Array, index: number, type: string, inner: Span | undefined): boolean {
    if (inner === undefined) return false;
    let block = this.#blocks.get(index);
    if (type === "content_block_start") {
      block = new AnthropicBlock(slice(data, inner));
      this.#blocks.set(index, block);
      this.#committed ||= block.speaks;
      return true;
    }
    block?.grow(data, inner);
    this.#committed = true;
    return block !== undefined;
  }

  #change(data: Uint8Array, delta: Span | undefined, usage: Span | undefined): void {
    if (delta !== undefined) {
      this.#finish = wordAt(data, pick(data, delta.start, ["stop_reason"]).stop_reason) ?? this.#finish;
    }
    this.#takeUsage(data, usage);
  }

  /** The numbers are cumulative and replace earlier ones; a null leaves them. */
  #takeUsage(data: Uint8Array, span: Span | undefined): void {
    const usage = ofKind(data, span, "object");
    if (usage === undefined) return;
    const told = Object.entries(valueAt(data, usage) as object).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
  }

  last(): boolean {
    return this.#stopped;
  }

  whole(): boolean {
    return this.#finish !== undefined;
  }

  reply(): Reply {
    const sorted = [...this.#blocks].sort(([a], [b]) => a - b);
    const message = legalAnthropicMessage(sorted.map(([, block]) => block.block()));
    return anthropicReply(message, {
      usage: this.#usage,
      finish: this.#finish,
      model: this.#model,
      id: this.#id,
    });
  }
}

/** The reply that holds this one message. */
export function anthropicReply(
  message: Uint8Array | undefined,
  told: { usage: unknown; finish: string | undefined; model: string | undefined; id: string | undefined },
): Reply {
  const { usage, finish, model, id } = told;
  const messages = message === undefined ? [] : [message];
  return judged("anthropic", {
    choices: [{ index: 0, messages, ...(finish === undefined ? {} : { finish }) }],
    usage,
    finish,
    ...(model === undefined ? {} : { model }),
    ...(id === undefined ? {} : { id }),
  });
}

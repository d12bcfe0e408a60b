/** Assembles a Chat Completions stream: `chat.completion.chunk` objects, then `[DONE]`. */
import { given } from "../../dialects/fields.ts";
import { type Fields, kindOf, pick, records, root, type Span } from "../../log/scanner.ts";
import { madeCallId } from "./chat-calls.ts";
import { ChatMessage } from "./chat-message.ts";
import { countAt, ofKind, valueAt, wordAt } from "./fields.ts";
import { judged } from "./legal.ts";
import type { Meaning, Reply, ReplyChoice } from "./reply.ts";
import { decoded, errorOf, type Reading } from "./stream.ts";

const choiceFields = ["index", "delta", "finish_reason", "error"] as const;
type ChoiceFields = Fields<(typeof choiceFields)[number]>;

interface Choice {
  message: ChatMessage;
  finish: string | undefined;
}

/** `expected`: how many choices were asked for; the terminal frames begin when that many have finished. */
export class ChatReading implements Reading {
  readonly #expected: number;
  readonly #choices = new Map<number, Choice>();
  #usage: unknown;
  #model: string | undefined;
  #id: string | undefined;
  #created: number | undefined;
  #committed = false;

  constructor(expected: number) {
    this.#expected = expected;
  }

  take(data: Uint8Array, event: string | undefined): Meaning {
    const fields = pick(data, root(data), ["id", "model", "created", "choices", "usage", "error"]);
    if (event === "error" || given(data, fields.error)) return errorOf(decoded(data));
    this.#id ??= wordAt(data, fields.id);
    this.#model ??= wordAt(data, fields.model);
    this.#created ??= countAt(data, fields.created);
    const usage = ofKind(data, fields.usage, "object");
    if (usage !== undefined) this.#usage = valueAt(data, usage);
    const list = ofKind(data, fields.choices, "array");
    let seen = 0;
    for (const choice of list === undefined ? [] : records(data, list.start, choiceFields)) {
      if (choice.fields === undefined) return { kind: "garbage" };
      // OpenRouter's way to break off: an error, or this finish reason where the error stands in the choice.
      const failed =
        given(data, choice.fields.error) || wordAt(data, choice.fields.finish_reason) === "error";
      if (failed) return errorOf(brokenChoice(data, choice.fields));
      this.#addChoice(data, choice.fields, seen++);
    }
    if (seen === 0 && usage !== undefined) {
      return { kind: this.#ended(this.#expected) ? "terminal" : "quiet", usageOnly: true };
    }
    return { kind: this.#ended(this.#expected) ? "terminal" : this.#committed ? "content" : "opening" };
  }

  #addChoice(data: Uint8Array, fields: ChoiceFields, place: number): void {
    const index = countAt(data, fields.index) ?? place;
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = { message: new ChatMessage(), finish: undefined };
      this.#choices.set(index, choice);
    }
    const delta = ofKind(data, fields.delta, "object");
    if (delta !== undefined && choice.message.add(data, delta)) this.#committed = true;
    choice.finish = wordAt(data, fields.finish_reason) ?? choice.finish;
  }

  /** Usage may come with the last content already; the finish reason alone ends a choice. */
  #ended(least: number): boolean {
    let ended = 0;
    for (const { finish } of this.#choices.values()) if (finish !== undefined) ended++;
    return ended >= Math.max(least, this.#choices.size);
  }

  /** Usage may still follow a finish reason. */
  last(): boolean {
    return false;
  }

  /** A server may give fewer choices than were asked for. */
  whole(): boolean {
    return this.#ended(1);
  }

  reply(): Reply {
    const sorted = [...this.#choices].sort(([a], [b]) => a - b);
    const choices = sorted.map(([index, { message, finish }]): ReplyChoice => {
      const bytes = message.message((call) => madeCallId(this.#id, index, call));
      return {
        index,
        messages: bytes === undefined ? [] : [bytes],
        ...(finish === undefined ? {} : { finish }),
      };
    });
    return judged("openai-chat", {
      choices,
      usage: this.#usage,
      // A choice that did not end leaves the whole reply without its end.
      finish: this.whole() ? choices[0]?.finish : undefined,
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#created === undefined ? {} : { created: this.#created }),
    });
  }
}

function brokenChoice(data: Uint8Array, fields: ChoiceFields): unknown {
  return { error: valueAt(data, errorSpan(data, fields.error)) ?? { message: "finish_reason: error" } };
}

function errorSpan(data: Uint8Array, span: Span | undefined): Span | undefined {
  return given(data, span) && kindOf(data, span.start) !== "boolean" ? span : undefined;
}

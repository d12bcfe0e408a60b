/** What may be said next on a branch: legal messages of a dialect, by the calls that are open at its head. */
import type { DialectName } from "../../src/dialects/dialect.ts";
import { textOf } from "../support/naive-messages.ts";
import type { NaiveNode } from "../support/naive-types.ts";
import { bytesOf, type Talk, talks, words } from "../support/talk.ts";
import type { Deed } from "./deeds.ts";

const sizes = [20, 120, 120, 400, 900, 2_500];

export class Speaker {
  readonly talk: Talk;
  private readonly dialect: DialectName;
  private serial = 0;

  constructor(dialect: DialectName) {
    this.dialect = dialect;
    this.talk = talks[dialect];
  }

  name(): string {
    return `n${++this.serial}`;
  }

  private text(deed: Deed, most = sizes.length): string {
    return words(this.name(), sizes[deed.size % most]!);
  }

  /** Messages that may follow `head`. With `request`, what a harness would send with a request. */
  batch(head: NaiveNode | undefined, deed: Deed, request: boolean): object[] {
    if (head === undefined) return [this.user(deed)];
    // Anthropic: a system message stands in front of a reply.
    if (head.role === "system" && this.dialect === "anthropic") return request ? [] : this.reply(deed);
    if (head.open.length > 0 && deed.a % 4 !== 0) return this.results(head.open, deed);
    if (request) return deed.b % 5 === 0 ? [] : [this.user(deed)];
    const imported = this.dialect === "anthropic" && (deed.bits & 128) !== 0 ? "imported" : undefined;
    const which = deed.b % 7;
    if (which === 0) return [this.user(deed), this.talk.system(this.name())];
    return which < 4 ? this.reply(deed, imported) : [this.user(deed)];
  }

  private user(deed: Deed): object {
    return this.talk.user(this.text(deed, 4), (deed.bits & 56) === 56);
  }

  /** A reply with up to three calls, some of it without a text; now and then it is thinking alone. */
  reply(deed: Deed, signature?: string): object[] {
    const count = [0, 1, 1, 2, 3][deed.b % 5]!;
    const calls = Array.from({ length: count }, () => `call_${++this.serial}`);
    const silent = (deed.bits & 1) === 0 && (count > 0 || (signature !== undefined && deed.b % 3 === 0));
    const text = silent ? "" : this.text(deed, 4);
    return this.talk.assistant({ text, calls, signature });
  }

  /** Results of all open calls or of some, in one message or one each. */
  private results(open: readonly string[], deed: Deed): object[] {
    const ids = (deed.bits & 3) === 0 ? open.slice(0, 1 + (deed.b % open.length)) : open;
    const how = {
      joined: (deed.bits & 4) !== 0,
      media: (deed.bits & 24) === 24,
      says: (deed.bits & 96) === 96,
    };
    return this.talk.results(ids, this.text(deed), how);
  }
}

export function raws(messages: readonly object[], { bits }: Deed): { bytes: Uint8Array; at: string }[] {
  return messages.map((message, index) => ({
    bytes: bytesOf(message, (bits & 2) !== 0),
    at: `messages[${index}]`,
  }));
}

/** Items of `POST /events`. */
export function items(
  messages: readonly object[],
  deed: Deed,
  more: readonly object[] = [],
): { bytes: Uint8Array; at: string }[] {
  const texts = raws(messages, deed).map(({ bytes }) => `{"type":"message","message":${textOf(bytes)}}`);
  return [...texts, ...more.map((item) => JSON.stringify(item))].map((text, index) => ({
    bytes: new TextEncoder().encode(text),
    at: `items[${index}]`,
  }));
}

/**
 * What the provider does with one decoded request: refuse it, or answer it. Knows no sockets. Everything is
 * linear in the request; a message is counted once.
 */
import type { WireDialect } from "../../src/dialects/wire.ts";
import { checkKey, faultOf, invalid, type Refusal, refusal } from "./checks.ts";
import { play, thinks } from "./fake-model.ts";
import { type Json, list, numberOf, objectOf, textOf } from "./json.ts";
import type { Ledger } from "./ledger.ts";
import { oddities } from "./oddities.ts";
import type { ProviderOptions } from "./provider-options.ts";
import { createStoredResponses } from "./stored-responses.ts";
import type { Move, Standing } from "./task.ts";
import { signatureFor } from "./thinking.ts";
import { createScale, type Scale, type Weighed } from "./weigh.ts";
import { bodyOf, type FakeReply } from "./wire.ts";

export type Answer =
  | { refused: Refusal }
  /** `bill` is called once, when the whole reply has left. */
  | { reply: FakeReply; bill(): void };

export interface Core {
  answer(dialect: WireDialect, headers: Headers, body: Json | undefined): Answer;
  /** Tokens of a request, or why it is not legal; the window does not matter. */
  count(
    dialect: WireDialect,
    headers: Headers,
    body: Json | undefined,
  ): { refused: Refusal } | { tokens: number };
}

interface Scene {
  dialect: WireDialect;
  body: Json;
  weighed: Weighed;
  cached: number;
  written: number;
  move: Move;
  window: number | undefined;
}

export function createCore(options: ProviderOptions, ledger: Ledger): Core {
  const scale = createScale(options.density);
  const stored = createStoredResponses();

  function check(
    dialect: WireDialect,
    headers: Headers,
    asked: Json | undefined,
    window: number | undefined,
  ): { refused: Refusal } | { body: Json; weighed: Weighed } {
    const resolved =
      asked !== undefined && dialect === "openai-responses" ? stored.resolve(asked) : { body: asked };
    if ("fault" in resolved) return { refused: invalid(dialect, resolved.fault) };
    const { body } = resolved;
    let weighed: Weighed | undefined;
    const weigh = (of: Json) => {
      weighed ??= scale.weigh(dialect, of);
      return weighed;
    };
    const { key, binding } = options;
    const odd = body === undefined ? undefined : oddities(dialect, headers, body, options);
    const early = checkKey(dialect, headers, key) ?? odd;
    const refused =
      early ?? faultOf(dialect, headers, body, { key, binding, window, count: (of) => weigh(of).tokens });
    if (refused !== undefined || body === undefined)
      return { refused: refused ?? refusal(dialect, 400, "", "") };
    return { body, weighed: weigh(body) };
  }

  return {
    answer(dialect, headers, asked) {
      const window = options.models?.[textOf(asked?.model)]?.window ?? options.window;
      const checked = check(dialect, headers, asked, window);
      if ("refused" in checked) return checked;
      const { body, weighed } = checked;
      const { move, standing } = play(weighed.messages, capOf(body));
      const ends = dialect === "anthropic" && options.cacheByMarks === true ? markedPlaces(body) : undefined;
      const cached = ledger.cached(weighed.chain, weighed.sums, ends);
      const written = ends === undefined ? 0 : Math.max(0, (weighed.sums[ends.at(-1) ?? 0] ?? 0) - cached);
      const reply = replyOf(options, scale, { dialect, body, weighed, cached, written, move, window });
      const digest = weighed.chain.at(-1) ?? "";
      return {
        reply,
        bill: () => {
          if (dialect === "openai-responses") stored.keep(asked ?? {}, bodyOf(dialect, reply) as Json);
          ledger.billed({
            digest,
            input: weighed.tokens,
            cached,
            output: reply.usage.output,
            ...workOf(standing, move, reply),
          });
        },
      };
    },
    count(dialect, headers, asked) {
      const filled = dialect === "anthropic" && asked !== undefined ? { max_tokens: 1, ...asked } : asked;
      const checked = check(dialect, headers, filled, undefined);
      return "refused" in checked ? checked : { tokens: checked.weighed.tokens };
    },
  };
}

function replyOf(options: ProviderOptions, scale: Scale, scene: Scene): FakeReply {
  const { dialect, body, weighed, cached, written, move, window } = scene;
  const thinking = thinks(dialect, body, options) ? move.thinking : undefined;
  const said = [move.text, thinking ?? "", ...move.calls.map(({ args }) => args)].join("\n");
  const output = scale.text(said);
  const left = window === undefined ? Number.POSITIVE_INFINITY : window - weighed.tokens;
  const room = Math.min(capOf(body), left);
  const whole = output <= room;
  const choices = dialect === "openai-chat" ? (numberOf(body.n) ?? 1) : 1;
  return {
    id: Buffer.from(weighed.chain.at(-1) ?? "", "base64url")
      .toString("hex")
      .slice(0, 20),
    text: whole ? move.text : move.text.slice(0, Math.max(1, room * 2)),
    calls: whole ? move.calls : [],
    thinking,
    signature:
      dialect === "anthropic" && thinking !== undefined
        ? signatureFor(body, body.messages as unknown[], thinking)
        : undefined,
    finish: finishOf(dialect, whole, move.calls.length > 0),
    model: textOf(body.model),
    usage: {
      input: weighed.tokens - cached - written,
      cacheRead: cached,
      cacheWrite: written,
      output: Math.min(output, room) * choices,
    },
    choices,
    withUsage: objectOf(body.stream_options)?.include_usage === true,
  };
}

/** Places of the chain that end in a cache mark: 0 is system and tools, n the n-th message. */
function markedPlaces(body: Json): number[] {
  const isMarked = (value: unknown) => JSON.stringify(value ?? null).includes('"cache_control"');
  const messages = list(body.messages);
  const places = isMarked([body.system, body.tools]) ? [0] : [];
  for (const [at, message] of messages.entries()) if (isMarked(message)) places.push(at + 1);
  // A mark at the top of the request stands for its last block.
  if (body.cache_control !== undefined && places.at(-1) !== messages.length) places.push(messages.length);
  return places;
}

function capOf(body: Json): number {
  const cap = body.max_completion_tokens ?? body.max_output_tokens ?? body.max_tokens;
  return numberOf(cap) ?? Number.POSITIVE_INFINITY;
}

function finishOf(dialect: WireDialect, whole: boolean, calls: boolean): string {
  if (dialect === "anthropic") return whole ? (calls ? "tool_use" : "end_turn") : "max_tokens";
  return whole ? (calls ? "tool_calls" : "stop") : "length";
}

function workOf(
  standing: Standing | undefined,
  move: Move,
  { text }: FakeReply,
): { round?: string; final?: string } {
  if (standing === undefined) return {};
  const round = `${standing.task}#${standing.round}`;
  // A last answer that was cut is none.
  return move.calls.length === 0 && text === move.text ? { round, final: text } : { round };
}

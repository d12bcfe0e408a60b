/** One summary call, planned and built: which shape, how much of the span, what body. Reads bodies; pure otherwise. */
import type { NativeMessage } from "../dialects/dialect.ts";
import { isLegalCut } from "../projections/pairing.ts";
import type { SurfaceItem } from "../projections/surface.ts";
import type { Capacity, Upstream } from "../providers/provider.ts";
import { fitShape, type Shape } from "./fit-shape.ts";
import type { Ground } from "./ground.ts";
import { directive } from "./summary-directive.ts";
import {
  conversationRequest,
  type RawEnvelope,
  thinkingBudget,
  transcriptRequest,
} from "./summary-request.ts";
import { transcriptOf } from "./summary-transcript.ts";

export interface SummaryModel {
  /** `provider/model` */
  route: string;
  upstream: Upstream;
  /** The session's own route and dialect: the conversation shape reuses the provider's cache. */
  sameRoute: boolean;
  capacity: Capacity;
  /** Provider tokens per o200k token. */
  ratio: number;
  envelope: RawEnvelope & { tokens: number };
}

export type CallShape = Exclude<Shape, { shape: "none" }>;

export interface SummaryBody {
  shape: CallShape["shape"];
  body: Uint8Array;
}

/**
 * @param room tokens that the text may have.
 * @param window a window lower than the known one, after the summarizer itself overflowed.
 */
export function planCall(
  ground: Ground,
  model: SummaryModel,
  items: readonly SurfaceItem[],
  room: number,
  window: number | undefined,
): CallShape | undefined {
  const { capacity, envelope, ratio, sameRoute, upstream } = model;
  const known =
    window === undefined ? capacity : { ...capacity, window: Math.min(window, capacity.window ?? window) };
  const shape = fitShape({
    preferred: ground.policy.summary.shape,
    sameRoute,
    sameDialect: upstream.dialect === ground.dialect.name && takesDirective(upstream.dialect, items),
    nodes: items.map((item, index) => ({
      native: item.weight.tokens,
      transcript: transcriptPrice(ground, item),
      legal: isLegalCut(items, index + 1),
    })),
    envelope: envelope.tokens,
    directive: ground.meter.text(directiveText(ground, items, room, undefined)).tokens,
    maxTokens: Math.max(1, Math.floor(room)),
    thinking: thinkingBudget(envelope.params),
    capacity: known,
    ratio,
  });
  return shape.shape === "none" ? undefined : shape;
}

/** Anthropic takes no user message, and so no directive, behind a system message (providers.md 1.3). */
function takesDirective(
  dialect: SummaryModel["upstream"]["dialect"],
  items: readonly SurfaceItem[],
): boolean {
  return dialect !== "anthropic" || items.at(-1)?.kind !== "system";
}

export function buildCall(
  ground: Ground,
  model: SummaryModel,
  items: readonly SurfaceItem[],
  call: CallShape,
  correction: string | undefined,
): SummaryBody {
  const { dialect, model: name } = model.upstream;
  const output = {
    maxTokens: call.maxTokens,
    ...(model.capacity.maxOutput === undefined ? {} : { maxOutput: model.capacity.maxOutput }),
  };
  const text = directiveText(ground, items, call.maxTokens, correction);
  if (call.shape === "conversation") {
    const messages = ground.dialect.render(
      items.map((item) => ({
        role: item.kind === "checkpoint" ? ("user" as const) : item.kind,
        bytes: spoken(ground, item),
        mend: item.mend,
      })),
    );
    const { envelope } = model;
    const body = conversationRequest({
      dialect,
      model: name,
      envelope,
      messages,
      directive: text,
      ...output,
    });
    return { shape: "conversation", body };
  }
  const messages = items.map((item) => shown(ground, item));
  const body = transcriptRequest({ dialect, model: name, messages, directive: text, ...output });
  return { shape: "transcript", body };
}

function spoken({ log, dialect, mixedThinking }: Ground, item: SurfaceItem): Uint8Array {
  const bytes = log.body(item.body);
  return (mixedThinking && item.thinking && dialect.withoutThinking(bytes)) || bytes;
}

/** Price of an item in a transcript, where tool outputs are capped. */
function transcriptPrice(ground: Ground, item: SurfaceItem): number {
  return ground.meter.text(transcriptOf(shown(ground, item))).tokens;
}

function shown(ground: Ground, item: SurfaceItem): NativeMessage {
  const bytes = ground.log.body(item.body);
  if (bytes.byteLength === 0) return { role: "assistant", parts: [], calls: [], results: [], mend: false };
  return ground.dialect.read(bytes, "node");
}

function directiveText(
  ground: Ground,
  items: readonly SurfaceItem[],
  tokens: number,
  correction: string | undefined,
): string {
  const { instructions } = ground.policy.summary;
  return directive({ instructions, previous: items[0]?.kind === "checkpoint", tokens, correction });
}

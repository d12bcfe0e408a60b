/**
 * JSON Schemas (2020-12) of what the native routes take and answer, for the OpenAPI document. What they
 * take is derived from the schemas that check it; members that stay raw bytes there are added here.
 */
import { z } from "zod";
import { dialectNames } from "../dialects/dialect.ts";
import { namePattern } from "../providers/route-name.ts";
import {
  appendSchema,
  branchSchema,
  configureSchema,
  overflowSchema,
  prepareSchema,
  stepSchema,
} from "../session/schemas.ts";

export type Schema = { readonly [key: string]: unknown };

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const array = (items: Schema): Schema => ({ type: "array", items });
/** An object; names that end in `?` are optional. */
export function object(properties: Record<string, Schema>, closed = false): Schema {
  const names = Object.keys(properties);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name.replace("?", ""), properties[name]])),
    required: names.filter((name) => !name.endsWith("?")),
    ...(closed ? { additionalProperties: false } : {}),
  };
}

const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const count: Schema = { type: "integer", minimum: 0 };
const whole: Schema = { type: "integer" };
const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const seq: Schema = { type: "integer", minimum: 0, description: "Place in the session's log." };
const open: Schema = { type: "object", additionalProperties: true };
export const message: Schema = {
  type: "object",
  description: "One message in the dialect of the branch.",
  ...open,
};
const name: Schema = { type: "string", pattern: namePattern.source };
const route: Schema = { type: "string", description: "provider/model" };
const span = object({ from: seq, to: seq, count, tokens: count });

/** The JSON Schema of a body, with the members that its own schema leaves raw. */
function taken(schema: z.ZodObject, raw: Record<string, Schema> = {}): Schema {
  const { $schema, properties, required, ...rest } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
  });
  const added = object(raw);
  return {
    ...rest,
    properties: { ...properties, ...(added.properties as object) },
    required: [...(required ?? []), ...(added.required as string[])],
  };
}

const usage = object({ input: count, cacheRead: count, cacheWrite: count, output: count, seq });
const pressure = object({
  tokens: count,
  source: { enum: ["usage", "estimate"] },
  envelope: count,
  surface: count,
  incoming: count,
  bytes: count,
  images: count,
});

/** Calls that were closed without a result, each with the seq of what closed it. */
const repaired = array(object({ call: text, seq }));

const compaction = object({
  id: text,
  trigger: { enum: ["pressure", "overflow", "manual"] },
  rungs: array(text),
  outcome: { enum: ["done", "failed"] },
  generation: count,
  tokensBefore: whole,
  tokensAfter: whole,
});

const kind = (type: string, rest: Record<string, Schema> = {}) =>
  object({ type: { const: type }, ...rest }, true);

const answered: Record<string, Schema> = {
  Problem: {
    ...object({ type: text, title: text, status: whole, code: text, detail: text, "at?": text }),
    description: "RFC 9457 problem details. `code` is stable; `at` is the place of the fault in the body.",
    additionalProperties: true,
  },
  Session: object({
    head: seq,
    generation: count,
    branch: name,
    dialect: { enum: [...dialectNames] },
    route: nullable(route),
    policy: open,
    pressure: ref("Pressure"),
    usage: nullable(ref("Usage")),
    running: array(object({ kind: text, id: text, branch: name, since: { type: "number" } })),
  }),
  Usage: usage,
  Pressure: pressure,
  PressureReport: object({
    usage: nullable(ref("Usage")),
    pressure: ref("Pressure"),
    shadow: object({ generation: count, shadowedTokens: whole, insertedTokens: whole }),
    budget: object({
      window: nullable(count),
      ceiling: nullable(count),
      threshold: nullable(count),
      source: { enum: ["config", "learned", "provider", "table", "unknown"] },
    }),
    contributors: array(object({ what: text, "seq?": seq, tokens: whole })),
  }),
  OpenedBranch: object({ branch: name, head: seq, generation: count }),
  Appended: object({ seqs: array(seq), head: seq, generation: count, pressure: ref("Pressure"), repaired }),
  Event: object({
    seq,
    type: text,
    at: { type: "number", description: "Milliseconds since 1970." },
    branch: name,
    "step?": seq,
    "parent?": seq,
    "price?": count,
    body: {},
  }),
  Prepared: object({
    prepareId: text,
    seqs: array(seq),
    system: {},
    tools: {},
    messages: array(message),
    maxOutput: nullable(count),
    generation: count,
    pressure: ref("Pressure"),
    compaction: nullable(ref("Compaction")),
    repaired,
  }),
  Enqueue: { type: "object", properties: { message, text }, description: "Either of the two." },
  Enqueued: object({ seq, branch: name, waiting: count }),
  Stepped: object({
    stepId: text,
    seqs: array(seq),
    replySeqs: array(seq),
    reply: array(message),
    head: seq,
    generation: count,
    maxOutput: nullable(count),
    finish: nullable(text),
    model: nullable(text),
    usage: {},
    pressure: ref("Pressure"),
    compaction: nullable(ref("Compaction")),
    repaired,
  }),
  Compaction: compaction,
  OverflowAnswer: {
    oneOf: [
      object({
        action: { const: "retry" },
        messages: array(message),
        maxOutput: nullable(count),
        generation: count,
      }),
      object({ action: { const: "none" }, reason: text }),
    ],
  },
  Compacted: object({
    compactionId: text,
    commandId: text,
    summarySeq: seq,
    shadowed: object({ items: count, tokens: whole }),
    generation: count,
  }),
  Plan: object({ outcome: text, span: nullable(span), prunes: array(seq), retained: {} }),
  Audit: object({
    ok: flag,
    seq,
    branches: {},
    drift: array(object({ what: text, branch: text, stored: {}, recomputed: {} })),
    "cursor?": {},
  }),
};

/** Made on demand: deriving them takes some milliseconds that no isolate should start with. */
export const schemasOf = (): Record<string, Schema> => ({
  ...answered,
  Settings: taken(configureSchema),
  BranchOpening: taken(branchSchema),
  Append: taken(appendSchema, {
    items: array({ oneOf: [kind("message", { message }), kind("usage", { usage: open }), kind("aborted")] }),
  }),
  StepRequest: taken(stepSchema, {
    "system?": {},
    "tools?": {},
    "params?": {},
    "messages?": array(message),
  }),
  Prepare: taken(prepareSchema, { "system?": {}, "tools?": {}, "params?": {}, messages: array(message) }),
  OverflowReport: taken(overflowSchema),
});

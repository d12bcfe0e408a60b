/** The envelope of a request: system, tools, parameters; kept by content, never as nodes. */
import { createHash } from "node:crypto";
import { Refusal } from "../failure.ts";
import type { EventLog } from "../log/event-log.ts";
import { concat, utf8Bytes } from "../log/json-edit.ts";
import { decode, kindOf, pick, root } from "../log/scanner.ts";
import type { Meter } from "../meter/price.ts";

export const envelopeFields = ["system", "tools", "params"] as const;
export type EnvelopeField = (typeof envelopeFields)[number];

/** Raw JSON of each field; absent: nothing. */
export type EnvelopeParts = { [F in EnvelopeField]?: Uint8Array };

export interface Envelope {
  hash: string;
  tokens: number;
  bytes: number;
  body: Uint8Array;
  parts: EnvelopeParts;
}

/** Larger envelopes are no system prompts and tool lists but mistakes. */
const MAX_BYTES = 8 * 1024 * 1024;

export const emptyEnvelope: Envelope = { hash: "", tokens: 0, bytes: 0, body: new Uint8Array(0), parts: {} };

export function storedEnvelope(log: Pick<EventLog, "envelope">, hash: string): Envelope {
  if (hash === "") return emptyEnvelope;
  const row = log.envelope(hash);
  if (row === undefined) throw new TypeError("envelope is not in the log");
  const spans = pick(row.body, root(row.body), envelopeFields);
  const parts: EnvelopeParts = {};
  for (const field of envelopeFields) {
    const span = spans[field];
    if (span !== undefined) parts[field] = row.body.subarray(span.start, span.end);
  }
  return { hash, tokens: row.price, bytes: row.body.byteLength, body: row.body, parts };
}

/** What an envelope weighs, without a look at its fields. */
export function envelopeWeight(
  log: Pick<EventLog, "envelope">,
  hash: string,
): { tokens: number; bytes: number } {
  if (hash === "") return { tokens: 0, bytes: 0 };
  const row = log.envelope(hash);
  if (row === undefined) throw new TypeError("envelope is not in the log");
  return { tokens: row.price, bytes: row.body.byteLength };
}

/** The branch's envelope with the given fields: an absent one keeps what was, `null` clears it. */
export function nextEnvelope(
  log: Pick<EventLog, "envelope">,
  meter: Meter,
  hash: string,
  given: EnvelopeParts,
): Envelope {
  const before = storedEnvelope(log, hash);
  const parts: EnvelopeParts = { ...before.parts };
  for (const field of envelopeFields) {
    const raw = given[field];
    if (raw === undefined) continue;
    checkField(field, raw);
    if (kindOf(raw, 0) === "null") delete parts[field];
    else parts[field] = raw;
  }
  return sameParts(parts, before.parts) ? before : buildEnvelope(meter, parts);
}

function checkField(field: EnvelopeField, raw: Uint8Array): void {
  const kind = kindOf(raw, 0);
  const fine = { system: ["string", "array"], tools: ["array"], params: ["object"] }[field];
  if (kind === "null" || fine.includes(kind)) return;
  throw new Refusal("bad-request", `Must be ${fine.join(" or ")} or null.`, { at: field });
}

/** Whether what stands in front of the messages is the same: system and tools. Parameters do not count. */
export function samePrefix(a: Envelope, b: Envelope): boolean {
  return sameParts(a.parts, b.parts, ["system", "tools"]);
}

function sameParts(
  a: EnvelopeParts,
  b: EnvelopeParts,
  fields: readonly EnvelopeField[] = envelopeFields,
): boolean {
  return fields.every((field) => {
    const [x, y] = [a[field], b[field]];
    if (x === undefined || y === undefined) return x === y;
    return x.byteLength === y.byteLength && x.every((byte, index) => byte === y[index]);
  });
}

function buildEnvelope(meter: Meter, parts: EnvelopeParts): Envelope {
  const fields = envelopeFields.filter((field) => parts[field] !== undefined);
  if (fields.length === 0) return emptyEnvelope;
  const body = concat([
    utf8Bytes("{"),
    ...fields.flatMap((field, n) => [utf8Bytes(`${n > 0 ? "," : ""}"${field}":`), parts[field]!]),
    utf8Bytes("}"),
  ]);
  if (body.byteLength > MAX_BYTES)
    throw new Refusal("too-large", "System, tools and parameters are over 8 MiB.", { at: "tools" });
  const system = parts.system && textsOf(decode(parts.system, 0, parts.system.byteLength));
  const tools = parts.tools && JSON.stringify(decode(parts.tools, 0, parts.tools.byteLength));
  return {
    hash: createHash("sha256").update(body).digest("hex"),
    tokens: meter.envelope({ ...(system && { system }), ...(tools !== undefined && { tools }) }),
    bytes: body.byteLength,
    body,
    parts,
  };
}

/** The texts of a system prompt: a string, text blocks, or system messages. */
function textsOf(system: unknown): string[] {
  if (typeof system === "string") return [system];
  if (Array.isArray(system)) return system.flatMap(textsOf);
  if (typeof system !== "object" || system === null) return [];
  const { text: own, content } = system as { text?: unknown; content?: unknown };
  return [...(typeof own === "string" ? [own] : []), ...(content === undefined ? [] : textsOf(content))];
}

/** Rows of the SQLite form of the log, and what they stand for. Pure. */
import type { Branch, Claim, View } from "./event-log.ts";
import type { EventRow, EventType } from "./events.ts";

export const EVENT_COLUMNS = `seq, type, at, branch, step, meta, size, price, bytes, images, flags,
  parent, jump, depth, cum, cum_bytes, cum_images, open, turn, anchor, key, own, context`;

export interface EventRecord extends Record<string, SqlStorageValue> {
  seq: number;
  type: string;
  at: number;
  branch: number;
  step: number;
  meta: string | null;
  size: number;
  price: number | null;
  bytes: number | null;
  images: number | null;
  flags: number | null;
  parent: number | null;
  jump: number | null;
  depth: number | null;
  cum: number | null;
  cum_bytes: number | null;
  cum_images: number | null;
  open: string | null;
  turn: number | null;
  anchor: number | null;
  key: string | null;
  own: string | null;
  context: number | null;
}

/** Bits of `flags`. */
const SAMPLED = 1;
const MEND = 2;
const THINKING = 4;

/** The values of `EVENT_COLUMNS`, in that order. @param meta its JSON. */
export function columnsOf(row: EventRow, meta: string): SqlStorageValue[] {
  const { node } = row;
  const flags = (row.sampled ? SAMPLED : 0) | (row.mend ? MEND : 0) | (row.thinking ? THINKING : 0);
  return [
    ...[row.seq, row.type, row.at, row.branch, row.step, meta === "{}" ? null : meta, row.size],
    ...[row.price, row.bytes, row.images, flags],
    ...[node?.parent ?? null, node?.jump ?? null, node?.depth ?? null],
    ...[node?.cum.tokens ?? null, node?.cum.bytes ?? null, node?.cum.images ?? null],
    node && node.open.length > 0 ? JSON.stringify(node.open) : null,
    node ? Number(node.turn) : null,
    node?.anchor ?? null,
    ...[node?.key ?? null, node?.own ?? null, node?.context ?? null],
  ];
}

export function eventOf(r: EventRecord): EventRow {
  const flags = r.flags ?? 0;
  return {
    seq: r.seq,
    type: r.type as EventType,
    at: r.at,
    branch: r.branch,
    step: r.step,
    meta: r.meta === null ? {} : (JSON.parse(r.meta) as unknown),
    size: r.size,
    price: r.price ?? 0,
    bytes: r.bytes ?? 0,
    images: r.images ?? 0,
    sampled: (flags & SAMPLED) !== 0,
    mend: (flags & MEND) !== 0,
    thinking: (flags & THINKING) !== 0,
    node:
      r.depth === null
        ? null
        : {
            parent: r.parent!,
            jump: r.jump!,
            depth: r.depth,
            cum: { tokens: r.cum!, bytes: r.cum_bytes!, images: r.cum_images! },
            open: r.open === null ? [] : (JSON.parse(r.open) as string[]),
            turn: r.turn === 1,
            anchor: r.anchor!,
            ...(r.key !== null && { key: r.key }),
            ...(r.own !== null && { own: r.own }),
            ...(r.context !== null && { context: r.context }),
          },
  };
}

export interface BranchRecord extends Record<string, SqlStorageValue> {
  id: number;
  name: string;
  from_seq: number;
  head: number;
  view: number;
  gen: number;
  envelope: string;
  anchor: number;
  route: string;
  steps: number;
  step: number;
  deadline: number;
  sent: number;
  resends: number;
  claim: string;
  tip: number;
  dialect: string;
  request: string | null;
}

export function branchOf({ from_seq, deadline, request, ...rest }: BranchRecord): Branch {
  const known = request === null ? null : (JSON.parse(request) as Branch["request"]);
  return { ...rest, from: from_seq, stepDeadline: deadline, request: known };
}

export interface ViewRecord extends Record<string, SqlStorageValue> {
  branch: number;
  seq: number;
  gen: number;
  base: number;
  kind: View["kind"];
  compaction: string;
  upto: number;
  upto_depth: number;
  checkpoint: number;
  delta: number;
  delta_bytes: number;
  delta_images: number;
  forms: string;
}

export function viewOfRecord({
  upto_depth,
  delta,
  delta_bytes,
  delta_images,
  forms,
  ...rest
}: ViewRecord): View {
  return {
    ...rest,
    uptoDepth: upto_depth,
    delta: { tokens: delta, bytes: delta_bytes, images: delta_images },
    forms: JSON.parse(forms) as View["forms"],
  };
}

export interface ClaimRecord extends Record<string, SqlStorageValue> {
  id: string;
  branch: number;
  seq: number;
  kind: Claim["trigger"];
  epoch: string;
  deadline: number;
}

/** The pieces of one body as one. */
/** What a row is written from. */
export type Value = SqlStorageValue | Uint8Array;

/** Bytes that the values take in a row; never less than they do. */
export function sizeOf(values: readonly Value[]): number {
  let size = 0;
  for (const value of values) {
    if (typeof value === "string") size += value.length > 65_536 ? utf8Length(value) : 3 * value.length;
    else size += value === null || typeof value === "number" ? 9 : value.byteLength;
  }
  return size;
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

/** The bytes in parts of `most`, the first one of at most `room`; one part where there are none. */
export function split(bytes: Uint8Array, most: number, room = most): Uint8Array[] {
  const parts = [bytes.subarray(0, Math.min(most, room))];
  for (let at = parts[0]!.byteLength; at < bytes.byteLength; at += most) {
    parts.push(bytes.subarray(at, at + most));
  }
  return parts;
}

export function join(chunks: readonly ArrayBuffer[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(new Uint8Array(chunk), at);
    at += chunk.byteLength;
  }
  return whole;
}

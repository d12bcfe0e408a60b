/**
 * The inbox: user messages that were posted while nobody could answer, or by an application that has no loop of its own. A step claims
 * them in order; they stay in the inbox until the provider has taken them.
 */
import { z } from "zod";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { NewEvent } from "../log/events.ts";
import { metaOf } from "../log/events.ts";
import { utf8Bytes } from "../log/json-edit.ts";
import { inboxKey } from "../projections/fold-branch.ts";
import { findNode } from "../projections/tree.ts";
import { appendEvents } from "../projections/write.ts";
import type { Core } from "./core.ts";
import type { Raw } from "./ingest.ts";
import type { Json } from "./render.ts";

export const enqueueSchema = z.strictObject({ text: z.string().min(1).optional() });

/** A waiting message lives in one row of the log, beside its other columns. */
const MAX_BYTES = 1_048_576;
/** More than anybody reads in one step. */
const MAX_WAITING = 256;

/** Seqs of the messages that wait on a branch, oldest first. */
export function waiting(core: Core, branch: number): number[] {
  return (core.log.state(inboxKey(branch)) as number[] | undefined) ?? [];
}

/**
 * Those that a step with this batch takes along. None behind a system message of Anthropic's: only a reply may follow it, and the step
 * that comes after has room for them.
 */
export function claimable(core: Core, branch: Branch, batch: readonly Raw[]): number[] {
  const dialect = core.dialect(branch);
  const last = batch.at(-1);
  const system =
    last === undefined
      ? findNode(core.log, branch.head)?.type === "message/system"
      : dialect.read(last.bytes, last.at).role === "system";
  return system && dialect.name === "anthropic" ? [] : waiting(core, branch.id);
}

export function waitingRaws(core: Core, seqs: readonly number[]): Raw[] {
  return seqs.map((seq) => ({
    bytes: utf8Bytes(metaOf(core.log.event(seq)!, "inbox/enqueued").message),
    at: `inbox[${seq}]`,
  }));
}

/** `POST /messages`: a typed user message, as the dialect's own message or as text. */
export function enqueue(
  core: Core,
  name: string | null,
  given: { message?: Uint8Array | undefined; text?: string | undefined },
  remember: (answer: Json) => void,
): Json {
  const branch = core.branch(name);
  const dialect = core.dialect(branch);
  if ((given.message === undefined) === (given.text === undefined)) {
    throw new Refusal("bad-request", "Give either a message or a text.", { at: "message" });
  }
  const bytes = given.message ?? dialect.userText(given.text!);
  const at = given.message === undefined ? "text" : "message";
  if (bytes.byteLength > MAX_BYTES)
    throw new Refusal("too-large", "A waiting message is at most 1 MiB.", { at });
  if (dialect.read(bytes, at).role !== "user") {
    throw new Refusal("bad-message", "Only user messages wait in the inbox.", { at });
  }
  if (waiting(core, branch.id).length >= MAX_WAITING) {
    throw new Refusal("busy", "The inbox is full; run a step first.");
  }
  return core.log.transaction(() => {
    const message = new TextDecoder().decode(bytes);
    const [row] = appendEvents(core.log, [
      { type: "inbox/enqueued", at: core.parts.now(), branch: branch.id, meta: { message } },
    ]);
    const answer: Json = { seq: row!.seq, branch: branch.name, waiting: waiting(core, branch.id).length };
    remember(answer);
    return answer;
  });
}

export function claimed(core: Core, branch: number, seqs: readonly number[]): NewEvent[] {
  if (seqs.length === 0) return [];
  return [{ type: "inbox/claimed", at: core.parts.now(), branch, meta: { seqs: [...seqs] } }];
}

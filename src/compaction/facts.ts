/**
 * What code takes out of a span and must not be lost: requests, files, commands, errors, the task list, where
 * the work stands. Facts fold from generation to generation outside any prose, so a hundredth checkpoint
 * still holds the first request.
 *
 * A fact never gains authority: a request comes only from a user message that holds no tool result, and what
 * assistants and tools said stays under their own headings. Free of wording for the model: `extractive.ts`
 * writes the text.
 *
 * Bounded however long the session is: at most 32 KiB as JSON. The caps, in bytes of JSON: newest request
 * 8,192 (2,048 tokens of English, the most that a frame states), first 4,096, the others 2,816 together;
 * files 8,192 (and 256); commands 2,560 (24); errors 1,536 (8); task list 1,792 (48); plan text, last words
 * and progress about 1,024 each. What goes is counted in `omitted`.
 */
import type { NativeMessage } from "../dialects/dialect.ts";
import { jsonBytes, oneLine } from "./clip.ts";
import { type CallFacts, callFacts } from "./facts/calls.ts";
import { type CommandFact, Deeds, type ErrorFact } from "./facts/deeds.ts";
import { FileLedger, type FileTree } from "./facts/files.ts";
import { type ResultFacts, resultFacts } from "./facts/outcome.ts";
import { boundedPlan, changedPlan, type PlanItem, type PlanText, planText } from "./facts/plan.ts";
import { foldRequests, type RequestFact } from "./facts/requests.ts";
import { type StoredText, storedText } from "./facts/stored-text.ts";

/**
 * A node of the span in its original form, never pruned; checkpoints are left out: their facts come as
 * `previous`.
 */
export interface SpanNode {
  seq: number;
  message: NativeMessage;
}

/** Something that the assistant wrote. */
export interface Words extends StoredText {
  seq: number;
}

export interface Omitted {
  requests: number;
  files: number;
  commands: number;
  errors: number;
  plan: number;
}

/** Plain JSON. Every list has its newest entry last. */
export interface Facts {
  version: 1;
  /** The first entry is the session's first user message. */
  requests: RequestFact[];
  files: FileTree;
  commands: CommandFact[];
  errors: ErrorFact[];
  plan: PlanItem[];
  planText?: PlanText;
  /** The assistant's last text, and one line of each that came shortly before it. */
  latest?: Words;
  progress: Words[];
  omitted: Omitted;
}

const LATEST_BYTES = 1_024;
const PROGRESS = { count: 6, units: 140, bytes: 1_024 };

export const noFacts: Facts = {
  version: 1,
  requests: [],
  files: {},
  commands: [],
  errors: [],
  plan: [],
  progress: [],
  omitted: { requests: 0, files: 0, commands: 0, errors: 0, plan: 0 },
};

/**
 * The facts of everything up to the end of the span. `previous` holds those of the checkpoint that the span
 * begins with, if any; the span's nodes are oldest first. Linear in the span; never throws on what a message
 * holds.
 */
export function foldFacts(previous: Facts | undefined, span: readonly SpanNode[]): Facts {
  const fold = new Fold(previous ?? noFacts);
  for (const node of span) fold.read(node);
  return fold.close();
}

interface OpenCall {
  name: string;
  facts: CallFacts;
}

class Fold {
  readonly #before: Facts;
  readonly #typed: { seq: number; text: string }[] = [];
  readonly #files: FileLedger;
  readonly #deeds: Deeds;
  /** Calls without a result yet; a reused id names the newest. */
  readonly #open = new Map<string, OpenCall & { seq: number }>();
  #plan: PlanItem[];
  #planText: PlanText | undefined;
  #latest: Words | undefined;
  #progress: Words[];

  constructor(before: Facts) {
    this.#before = before;
    this.#files = new FileLedger(before.files);
    this.#deeds = new Deeds(before.commands, before.errors);
    this.#plan = before.plan;
    this.#planText = before.planText;
    this.#latest = before.latest;
    this.#progress = before.progress;
  }

  read({ seq, message }: SpanNode): void {
    const text = message.parts
      .flatMap((part) => (part.type === "text" && part.text.trim() !== "" ? [part.text] : []))
      .join("\n");
    if (message.role === "user" && text !== "") this.#typed.push({ seq, text });
    if (message.role === "assistant" && text !== "") this.#says(seq, text);
    for (const part of message.parts) {
      if (part.type === "call") {
        this.#open.set(part.id, { seq, name: part.name, facts: callFacts(part.name, part.args) });
      } else if (part.type === "result") {
        const call = this.#open.get(part.call);
        if (call === undefined) continue;
        this.#open.delete(part.call);
        this.#settle(call, resultFacts(part.content, part.error), firstText(part.content));
      }
    }
  }

  close(): Facts {
    for (const call of this.#open.values()) this.#settle(call, { outcome: "unknown", error: "" }, "");
    const { requests, dropped } = foldRequests(this.#before.requests, this.#typed);
    const files = this.#files.close();
    const { commands, errors, droppedCommands, droppedErrors } = this.#deeds.close();
    const plan = boundedPlan(this.#plan);
    const { omitted } = this.#before;
    return {
      version: 1,
      requests,
      files: files.tree,
      commands,
      errors,
      plan: plan.plan,
      ...(this.#planText === undefined ? {} : { planText: this.#planText }),
      ...(this.#latest === undefined ? {} : { latest: this.#latest }),
      progress: this.#progress,
      omitted: {
        requests: omitted.requests + dropped,
        files: omitted.files + files.dropped,
        commands: omitted.commands + droppedCommands,
        errors: omitted.errors + droppedErrors,
        plan: omitted.plan + plan.dropped,
      },
    };
  }

  #says(seq: number, text: string): void {
    const before = this.#latest;
    if (before !== undefined) {
      const line = { seq: before.seq, text: oneLine(before.text, PROGRESS.units) };
      const lines = [...this.#progress, line].slice(-PROGRESS.count);
      while (lines.reduce((sum, { text: t }) => sum + jsonBytes(t) + 24, 0) > PROGRESS.bytes) lines.shift();
      this.#progress = lines;
    }
    this.#latest = { seq, ...storedText({ text }, LATEST_BYTES) };
  }

  /** Enters a call with what came of it. What failed touched no file for certain, so it counts as a look. */
  #settle(
    { seq, name, facts }: OpenCall & { seq: number },
    { outcome, exit, error }: ResultFacts,
    given: string,
  ): void {
    const failed = outcome === "failed";
    const isCommand = facts.line !== undefined;
    for (const touch of facts.touches) {
      const made = touch.operation === "written" && /\bcreated\b/i.test(given.slice(0, 160));
      const operation = failed && !isCommand ? "searched" : made ? "created" : touch.operation;
      this.#files.touch({ path: touch.path, operation }, seq);
    }
    const about = oneLine(facts.line ?? `${name} ${facts.touches[0]?.path ?? ""}`, 160);
    if (facts.line !== undefined) {
      const known = outcome === "ok" && facts.piped ? "unknown" : outcome;
      this.#deeds.ran({ seq, line: facts.line, outcome: known, ...(exit === undefined ? {} : { exit }) });
    }
    if (failed && error !== "") this.#deeds.failed({ seq, about, text: error });
    if (outcome === "ok" && !facts.piped) this.#deeds.succeeded(about);
    if (facts.plan === undefined || failed) return;
    if (facts.plan.kind === "text") this.#planText = planText(seq, facts.plan.text);
    else this.#plan = changedPlan(this.#plan, facts.plan, given);
  }
}

function firstText(content: readonly { type: string; text?: string }[]): string {
  return content.find((part) => part.type === "text")?.text?.slice(0, 512) ?? "";
}

/** The session's first user message. */
export function firstRequest(facts: Facts): RequestFact | undefined {
  return facts.requests[0];
}

/** The newest typed request; a message of the harness's own only when there is no other. */
export function newestRequest(facts: Facts): RequestFact | undefined {
  return facts.requests.findLast((request) => request.noise === undefined) ?? facts.requests.at(-1);
}

/**
 * Runtime context: a text that an application gives with each request (mode, working directory, open files) and
 * that changes while the system prompt may not. It is sent as a message of its own, once per change: a snapshot
 * stays on the Surface until a checkpoint shadows it, and then the next request carries it again. What is computed
 * here must be computed after pressure handling, on the Surface that the request really has. Pure.
 */
import { createHash } from "node:crypto";
import type { Dialect } from "../dialects/dialect.ts";
import type { Meter } from "../meter/price.ts";
import { type Weighed, weighMessage } from "./weigh.ts";

/** What the application gives: one text, or named sections in their order. Blank says that none is active. */
export type RuntimeContext = string | readonly { name: string; text: string }[];

/** A `context/runtime` node. `key` tells which text it shows; "" is the notice that none is active. */
export interface LoggedContext {
  seq: number;
  depth: number;
  key: string;
}

/** What the model has been told on a path. */
export interface ContextHistory {
  /** The newest that still stands on the Surface. */
  shown: LoggedContext | undefined;
  /** The newest of all: a checkpoint that shadows it may repeat it. */
  last: LoggedContext | undefined;
}

/**
 * What to append: a text under its key, or the bytes of an earlier node once more.
 * A key is 22 characters of base64url, or "" for the notice.
 */
export type Emission = { key: string; text: string } | { again: LoggedContext };

/** @param onPath the context nodes on the path of the head, newest first. */
export function contextHistory(
  onPath: Iterable<LoggedContext>,
  isShown: (node: LoggedContext) => boolean,
): ContextHistory {
  let last: LoggedContext | undefined;
  for (const node of onPath) {
    last ??= node;
    if (isShown(node)) return { shown: node, last };
  }
  return { shown: undefined, last };
}

/** The same path behind a checkpoint that shadows all of it: what a compaction has to leave room for. */
export function shadowed({ last }: ContextHistory): ContextHistory {
  return { shown: undefined, last };
}

/**
 * What the next request has to tell; undefined for nothing.
 * @param given the application's candidate; null that none is active, undefined that it says nothing: then what
 * was told last stays in force.
 */
export function nextContext(
  given: RuntimeContext | null | undefined,
  { shown, last }: ContextHistory,
): Emission | undefined {
  if (given === undefined) {
    const standing = shown === undefined && last !== undefined && last.key !== "";
    return standing ? { again: last } : undefined;
  }
  const text = given === null ? "" : textOf(given);
  if (text !== "") {
    const key = keyOf(text);
    return shown?.key === key ? undefined : { key, text: framed(text) };
  }
  // A notice that was summarized away has done its work: whoever wrote the summary had read it.
  const told = shown ?? last;
  return told === undefined || told.key === "" ? undefined : { key: "", text: notice };
}

/** The message as the log takes it and as pressure counts it before it is appended. It starts no turn. */
export function weighContext(dialect: Dialect, meter: Meter, text: string): Weighed {
  return { ...weighMessage(dialect, meter, dialect.userText(text), "runtimeContext"), turn: false };
}

/**
 * The entering batch with the context in front of what the user says, never between a call and its result.
 * Undefined while calls stay open: then no request can go out that could carry it.
 * @param open calls that are open at the head; each item tells those that are open behind it.
 */
export function placeContext<T extends { open: readonly string[] }>(
  open: readonly string[],
  batch: readonly T[],
  context: T,
): T[] | undefined {
  const closing = open.length === 0 ? 0 : batch.findIndex((item) => item.open.length === 0) + 1;
  if (open.length > 0 && closing === 0) return undefined;
  return [...batch.slice(0, closing), context, ...batch.slice(closing)];
}

const TAG = "runtime-context";

const notice = `<${TAG} active="none">\nNo runtime context is active. All earlier runtime context is void, also where a summary repeats it.\n</${TAG}>`;

/** Stable bytes: an equal text gives an equal message. Earlier snapshots stay as they are; the newest wins. */
function framed(text: string): string {
  return [
    `<${TAG}>`,
    "State of the application, not a message of the user. It replaces all earlier runtime context.",
    "",
    text.replaceAll(tags, "‹"),
    `</${TAG}>`,
  ].join("\n");
}

/** Whatever looks like the frame's own tags. */
const tags = new RegExp(`<(?=\\s{0,8}/?\\s{0,8}${TAG}(?![\\w-]))`, "gi");

function textOf(given: RuntimeContext): string {
  if (typeof given === "string") return given.trim();
  return given
    .filter((section) => section.text.trim() !== "")
    .map((section) => `## ${section.name.replaceAll(/\s+/g, " ").trim()}\n${section.text.trim()}`)
    .join("\n\n");
}

function keyOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

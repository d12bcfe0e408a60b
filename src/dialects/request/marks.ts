/**
 * Where the client's own cache marks stand (Anthropic). Messages that are rendered from the log have none, so
 * that marks are kept as positions.
 */
import { contains } from "../../log/json-edit.ts";
import { elements, kindOf, pick, records, type Span } from "../../log/scanner.ts";
import { given, optionalString } from "../fields.ts";
import { systemEnd, toolsEnd } from "./put-marks.ts";
import type { GatewayRequest } from "./read.ts";

/** A mark's raw value, and how long what it marks is kept: a client that says nothing gets five minutes. */
export interface Mark {
  control: Uint8Array;
  ttl: "5m" | "1h";
}

/** On a block of a message; `path` are indexes of blocks from the content inwards, absent: its last block. */
export interface MessageMark extends Mark {
  /** Index among the request's messages, those in the known prefix counted. */
  message: number;
  path?: readonly number[];
}

export interface ClientMarks {
  /** By index of the tool and of the system block. */
  tools: readonly (Mark & { index: number })[];
  system: readonly (Mark & { index: number })[];
  messages: readonly MessageMark[];
  /** The member of the request itself: the provider marks the last block. It takes one of the four. */
  automatic: Mark | undefined;
  /** Whether the end of tools and of system has no mark and can take one. */
  open: { tools: boolean; system: boolean };
}

const nowhere: ClientMarks = {
  tools: [],
  system: [],
  messages: [],
  automatic: undefined,
  open: { tools: false, system: false },
};

/** The client's own marks; none in the OpenAI dialects. */
export function cacheMarks(request: GatewayRequest): ClientMarks {
  if (request.dialect !== "anthropic") return nowhere;
  const { body, fields } = request;
  return {
    tools: listMarks(body, fields.get("tools")),
    system: listMarks(body, fields.get("system")),
    messages: messageMarks(request),
    automatic: markAt(body, fields.get("cache_control")),
    open: {
      tools: toolsEnd(body, fields.get("tools")) !== undefined,
      system: systemEnd(body, fields.get("system")) !== undefined,
    },
  };
}

/** Every message of the list that is no envelope, those of the known prefix included. */
export function allMessages(request: GatewayRequest): Span[] {
  if (request.skipped === 0) return [...request.messages];
  return [...elements(request.body, request.list.start)].slice(request.system.length);
}

function markAt(bytes: Uint8Array, span: Span | undefined): Mark | undefined {
  if (!given(bytes, span)) return undefined;
  const isObject = kindOf(bytes, span.start) === "object";
  const ttl = isObject ? optionalString(bytes, pick(bytes, span.start, ["ttl"]).ttl) : undefined;
  return { control: bytes.subarray(span.start, span.end), ttl: ttl === "1h" ? "1h" : "5m" };
}

function listMarks(bytes: Uint8Array, list: Span | undefined): (Mark & { index: number })[] {
  if (list === undefined || kindOf(bytes, list.start) !== "array") return [];
  const marks: (Mark & { index: number })[] = [];
  let index = 0;
  for (const { fields } of records(bytes, list.start, ["cache_control"])) {
    const mark = markAt(bytes, fields?.cache_control);
    if (mark !== undefined) marks.push({ ...mark, index });
    index++;
  }
  return marks;
}

/** A mark is spelled out, or its name is written with an escape for an ASCII letter. */
function mayHoldMarks(bytes: Uint8Array): boolean {
  return contains(bytes, "cache_control") || contains(bytes, "\\u00");
}

function messageMarks(request: GatewayRequest): MessageMark[] {
  const { body, list, messages, skipped, prefix } = request;
  // The prefix is long and seldom holds a mark: only one that may is walked for its messages.
  const inPrefix = prefix !== undefined && mayHoldMarks(body.subarray(list.start, prefix.bytes));
  const spans = inPrefix ? allMessages(request) : messages;
  const from = inPrefix ? 0 : skipped;
  return spans.flatMap(({ start, end }, n) => {
    if (!mayHoldMarks(body.subarray(start, end))) return [];
    const { content } = pick(body, start, ["content"]);
    return blockMarks(body, content, []).map((mark) => ({ ...mark, message: from + n }));
  });
}

/** Marks on the blocks of a content and on those of the results among them. */
function blockMarks(
  bytes: Uint8Array,
  content: Span | undefined,
  above: readonly number[],
): Omit<MessageMark, "message">[] {
  if (content === undefined || kindOf(bytes, content.start) !== "array") return [];
  const marks: Omit<MessageMark, "message">[] = [];
  let index = 0;
  let last: Mark | undefined;
  for (const { fields } of records(bytes, content.start, ["cache_control", "content"])) {
    if (above.length === 0 && fields?.content !== undefined) {
      for (const inner of blockMarks(bytes, fields.content, [index])) marks.push(inner);
    }
    last = markAt(bytes, fields?.cache_control);
    if (last !== undefined) marks.push({ ...last, path: [...above, index] });
    index++;
  }
  // The last block may come to stand elsewhere: the log's message can have thinking that the client dropped.
  if (last !== undefined && above.length === 0) marks[marks.length - 1] = last;
  return marks;
}

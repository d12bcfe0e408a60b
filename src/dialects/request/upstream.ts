/**
 * The body that goes upstream: the client's own bytes with a few members edited in place. Edits are gathered
 * as ranges and made in one copy.
 */
import { Defect } from "../../failure.ts";
import { applyEdits, type Edit, jsonString, memberAddition, utf8Bytes } from "../../log/json-edit.ts";
import { kindOf, type Member, pick, type Span } from "../../log/scanner.ts";
import { given } from "../fields.ts";
import { allMessages } from "./marks.ts";
import type { MarkPlan } from "./plan-marks.ts";
import { messageMark, systemMark, toolsMark } from "./put-marks.ts";
import { type GatewayRequest, outputKeys, wholeNumber } from "./read.ts";

export interface UpstreamChange {
  /** The model as its provider spells it. */
  model: string;
  /** Native messages as raw JSON that take the place of the client's; undefined: the list stays as it is. */
  messages: readonly Uint8Array[] | undefined;
  /** Lowers the client's own bound to this. One that has none gets it only with `addMaxOutput`. */
  maxOutput?: number;
  addMaxOutput?: boolean;
  /** Ask for the usage chunk of a streamed chat. */
  includeUsage?: boolean;
  /** Added where the client has none (OpenAI dialects). */
  promptCacheKey?: string;
  /** Takes `previous_response_id` out, because the messages hold what it stood for. */
  withoutPrevious?: boolean;
  /** Anthropic alone: the provider drops thinking that is bound to another history, instead of refusing it. */
  dropsBoundThinking?: boolean;
  /** Takes `thinking` out (Anthropic alone): without it a tool loop may go on from a reply that shows none. */
  withoutThinking?: boolean;
  /** Anthropic alone. Indexes are those of the list that goes out. */
  cacheMarks?: MarkPlan;
}

/** Members are added at the end of the body. Whatever the change does not name stays byte for byte. */
export function upstreamBody(request: GatewayRequest, change: UpstreamChange): Uint8Array {
  const { body, fields } = request;
  const edits = listEdits(request, change); // may be long, so that the others join it
  const added: [string, Uint8Array][] = [];
  const put = (key: string, value: Uint8Array): void => {
    const old = fields.get(key);
    if (old === undefined) added.push([key, value]);
    else edits.push({ start: old.start, end: old.end, bytes: value });
  };
  if (change.model !== request.model) put("model", jsonString(change.model));
  if (change.maxOutput !== undefined) {
    const value = utf8Bytes(String(change.maxOutput));
    for (const key of outputTargets(request, change.maxOutput, change.addMaxOutput === true)) put(key, value);
  }
  if (change.includeUsage === true && request.dialect === "openai-chat" && request.stream) {
    const options = fields.get("stream_options");
    if (!given(body, options)) put("stream_options", utf8Bytes('{"include_usage":true}'));
    else if (!request.includeUsage) edits.push(...usageEdit(body, options));
  }
  if (change.promptCacheKey !== undefined && request.dialect !== "anthropic") {
    if (!given(body, fields.get("prompt_cache_key")))
      put("prompt_cache_key", jsonString(change.promptCacheKey));
  }
  const gone = [
    ...(change.withoutPrevious === true ? ["previous_response_id"] : []),
    ...(change.withoutThinking === true && request.dialect === "anthropic" ? ["thinking"] : []),
  ];
  for (const key of gone) edits.push(...removal([...fields.values()], key));
  if (change.dropsBoundThinking === true && change.withoutThinking !== true) {
    edits.push(...dropBlockEdit(body, fields.get("thinking")));
  }
  if (change.cacheMarks !== undefined && request.dialect === "anthropic") {
    const { tools, system } = change.cacheMarks;
    if (tools !== undefined) edits.push(...toolsMark(body, fields.get("tools"), tools));
    if (system !== undefined) edits.push(...systemMark(body, fields.get("system"), system));
  }
  edits.push(...additions(body, fields, added));
  return applyEdits(body, edits);
}

/** Puts the given messages behind the envelope's, whose bytes stay, or marks the client's own in their places. */
function listEdits(request: GatewayRequest, { messages, cacheMarks }: UpstreamChange): Edit[] {
  const { body, list, system, isText, dialect } = request;
  const marks = dialect === "anthropic" ? (cacheMarks?.messages ?? []) : [];
  if (messages === undefined) {
    if (marks.length === 0) return [];
    const spans = allMessages(request);
    return marks.flatMap((mark) => {
      const at = spans[mark.message];
      return at === undefined ? [] : messageMark(body, at.start, mark);
    });
  }
  if (list.end === list.start) throw new Defect("messages were given for a request that has no list");
  const marked = [...messages];
  for (const mark of marks) {
    const old = marked[mark.message];
    if (old !== undefined) marked[mark.message] = applyEdits(old, messageMark(old, 0, mark));
  }
  const from = isText ? list.start : (system.at(-1)?.end ?? list.start + 1);
  const to = isText ? list.end : list.end - 1;
  const comma = utf8Bytes(",");
  const pieces = marked.flatMap((raw, i) => (i === 0 && system.length === 0 ? [raw] : [comma, raw]));
  if (isText) {
    pieces.unshift(utf8Bytes("["));
    pieces.push(utf8Bytes("]"));
  }
  // One edit takes the old messages out; the new ones follow as pieces of the one copy at the end.
  return [
    { start: from, end: to, bytes: new Uint8Array(0) },
    ...pieces.map((bytes) => ({ start: to, end: to, bytes })),
  ];
}

/** The members that get the bound: those of the client's that are above it, else, if asked, the dialect's own. */
function outputTargets({ body, dialect, fields }: GatewayRequest, max: number, add: boolean): string[] {
  const keys: readonly string[] = outputKeys[dialect];
  const own = keys.filter((key) => given(body, fields.get(key)));
  if (own.length === 0) return add ? keys.slice(0, 1) : [];
  return own.filter((key) => (wholeNumber(body, fields.get(key)) ?? 0) > max);
}

function usageEdit(body: Uint8Array, options: Span): Edit[] {
  if (kindOf(body, options.start) !== "object") return []; // the provider's to refuse
  const old = pick(body, options.start, ["include_usage"]).include_usage;
  const yes = utf8Bytes("true");
  return [
    old === undefined ? memberAddition(body, options.start, "include_usage", yes) : { ...old, bytes: yes },
  ];
}

/** What the client says about it itself stays. */
function dropBlockEdit(body: Uint8Array, thinking: Span | undefined): Edit[] {
  if (thinking === undefined || kindOf(body, thinking.start) !== "object") return [];
  if (pick(body, thinking.start, ["block_binding"]).block_binding !== undefined) return [];
  const control = utf8Bytes('{"prefix_mismatch_behavior":"drop_block"}');
  return [memberAddition(body, thinking.start, "block_binding", control)];
}

/** Takes one member out, with one comma. */
function removal(members: readonly Member[], key: string): Edit[] {
  const index = members.findIndex((member) => member.key === key);
  const gone = members[index];
  if (gone === undefined) return [];
  const bytes = new Uint8Array(0);
  const before = members[index - 1];
  if (before !== undefined) return [{ start: before.end, end: gone.end, bytes }];
  return [{ start: gone.keyStart, end: members[1]?.keyStart ?? gone.end, bytes }];
}

/** New members behind the last one. */
function additions(
  body: Uint8Array,
  fields: ReadonlyMap<string, Member>,
  added: readonly [string, Uint8Array][],
): Edit[] {
  const last = [...fields.values()].at(-1);
  const at = last === undefined ? body.lastIndexOf(0x7d) : last.end;
  return added.flatMap(([key, value], i) => {
    const comma = i > 0 || last !== undefined ? "," : "";
    return [
      { start: at, end: at, bytes: utf8Bytes(`${comma}${JSON.stringify(key)}:`) },
      { start: at, end: at, bytes: value },
    ];
  });
}

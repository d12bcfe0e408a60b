/** Messages of any dialect as entries that no dialect owns: what a conversation says, calls and gets back. Pure. */
import { decode } from "../log/scanner.ts";
import { type Media, mediaAddresses, mediaOfPart } from "./convert-media.ts";
import type { ContentPart, DialectName, Part } from "./dialect.ts";
import { dialectOf } from "./registry.ts";

export type Piece = { type: "text"; text: string } | Media;
export type Call = Extract<Part, { type: "call" }>;

export interface Result {
  call: string;
  content: Piece[];
  error: boolean;
}

export type Entry =
  | { role: "user" | "system"; says: Piece[] }
  | { role: "assistant"; says: Piece[]; calls: Call[] }
  | { role: "results"; results: Result[] };

/**
 * Thinking is left out: it is worth something to the provider that made it, and to no other. Items of one
 * reply become one entry, and so do results that stand in a row.
 */
export function entriesOf(from: DialectName, messages: readonly Uint8Array[]): Entry[] {
  const entries: Entry[] = [];
  for (const bytes of messages) {
    for (const entry of readEntries(from, bytes)) {
      const last = entries.at(-1);
      if (last?.role === "results" && entry.role === "results") last.results.push(...entry.results);
      else if (last?.role === "assistant" && entry.role === "assistant" && joins(from, last)) {
        last.says.push(...entry.says);
        last.calls.push(...entry.calls);
      } else entries.push(entry);
    }
  }
  return entries;
}

/** Calls wait for their results alone, whatever the source let stand between them. */
function joins(from: DialectName, last: Extract<Entry, { role: "assistant" }>): boolean {
  return from === "openai-responses" || last.calls.length > 0;
}

function readEntries(from: DialectName, bytes: Uint8Array): Entry[] {
  const { role, parts } = dialectOf(from).read(bytes, "message");
  const addresses = mediaAddresses(decode(bytes, 0, bytes.length));
  const count = parts
    .flatMap((part) => (part.type === "result" ? part.content : [part]))
    .filter(isMedia).length;
  let at = 0;
  // Where the two do not match, nobody can tell which address belongs to which part.
  const address = () => (addresses.length === count ? addresses[at++] : undefined);
  const piece = (part: ContentPart): Piece =>
    part.type === "text" ? { type: "text", text: part.text } : mediaOfPart(part, address());

  const says: Piece[] = [];
  const calls: Call[] = [];
  const results: Result[] = [];
  for (const part of parts) {
    if (part.type === "call") calls.push(part);
    else if (part.type === "result") {
      results.push({ call: part.call, content: part.content.map(piece), error: part.error });
    } else if (part.type !== "thinking") says.push(piece(part));
  }
  if (role === "assistant") return says.length + calls.length > 0 ? [{ role, says, calls }] : [];
  const said: Entry[] = says.length > 0 ? [{ role: role === "system" ? "system" : "user", says }] : [];
  return results.length > 0 ? [{ role: "results", results }, ...said] : said;
}

function isMedia(part: Part): boolean {
  return part.type === "media";
}

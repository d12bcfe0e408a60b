/**
 * A span as text, for a summarizer that is not given the conversation itself. What users and assistants wrote
 * is whole; what tools were given and gave back is capped, media are notes, thinking is left out.
 */
import type { ContentPart, NativeMessage, Part } from "../dialects/dialect.ts";
import { clipCodePoints } from "./clip.ts";

/** Code points of one tool output, and of one call's arguments: what a tool is given is tool text too. */
export const TOOL_TEXT = 2_000;

/** The messages, each in an element of its own; nothing inside can close one. */
export function renderTranscript(messages: readonly NativeMessage[]): string {
  return ["<transcript>", ...messages.map(transcriptOf).filter((text) => text !== ""), "</transcript>"].join(
    "\n",
  );
}

/** One message of a transcript, "" when nothing of it is shown. A lone one serves to price it. */
export function transcriptOf({ role, parts }: NativeMessage): string {
  const lines = parts.map(lineOf).filter((line) => line !== "");
  return lines.length === 0 ? "" : `<message from="${role}">\n${lines.join("\n")}\n</message>`;
}

function lineOf(part: Part): string {
  switch (part.type) {
    case "text":
      return harmless(part.text);
    case "media":
      return note(part.note);
    case "thinking":
      return "";
    case "call":
      return `[calls ${harmless(part.name)}: ${harmless(clipped(part.args))}]`;
    case "result":
      return `[${part.error ? "failed" : "result"}]\n${clipped(contentText(part.content))}`;
  }
}

function contentText(content: readonly ContentPart[]): string {
  return content.map((part) => (part.type === "text" ? harmless(part.text) : note(part.note))).join("\n");
}

function note(label: string): string {
  return `[${label.slice(0, 64).replaceAll(/[^\w./+-]/g, "_")} left out]`;
}

function clipped(text: string): string {
  return clipCodePoints(text, TOOL_TEXT, (left) => `\n[… ${left} characters left out …]`);
}

/** The transcript's own tags inside a text lose their `<`. */
function harmless(text: string): string {
  return text.replaceAll(/<(?=\/?(?:transcript|message)\b)/gi, "‹");
}

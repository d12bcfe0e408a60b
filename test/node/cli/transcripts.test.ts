import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { importTranscript } from "../../../cli/import/detect.ts";
import { formatNames, type Session } from "../../../cli/import/session.ts";
import { violations } from "../../../src/dialects/legal.ts";
import { dialectOf } from "../../../src/dialects/registry.ts";

/** The real transcripts, where they are: each is imported whole, in a legal order, without losing a text of the user. */

const folder = new URL("../../../../shared/transcripts/", import.meta.url);
const here = existsSync(new URL("MANIFEST.tsv", folder));

interface Known {
  file: string;
  format: string;
  messages: number;
  calls: number;
  results: number;
  notes: string;
}

function manifest(): Known[] {
  const [head = "", ...rows] = readFileSync(new URL("MANIFEST.tsv", folder), "utf8").trim().split("\n");
  const names = head.split("\t");
  return rows.map((row) => {
    const cells = row.split("\t");
    const cell = (name: string) => cells[names.indexOf(name)] ?? "";
    return {
      file: cell("file"),
      format: cell("format"),
      messages: Number(cell("messages")),
      calls: Number(cell("tool_calls")),
      results: Number(cell("tool_results")),
      notes: cell("notes"),
    };
  });
}

const playable = here
  ? manifest().filter(
      ({ file, format }) =>
        formatNames.some((name) => name === format) && (format !== "openai-chat" || file.includes("miniswe")),
    )
  : [];

function count(session: Session) {
  const results = session.messages.flatMap(
    ({ json }) => dialectOf(session.dialect).read(Buffer.from(json), "m").results,
  );
  return { calls: session.messages.reduce((sum, { calls }) => sum + calls, 0), results: results.length };
}

/** Counted calls and results that an importer leaves out on purpose, by what it says about them. */
function leftOut({ skipped }: Session) {
  const { "aborted-call": aborted = 0, "before-first-user": early = 0, "resumed-copy": copies = 0 } = skipped;
  return aborted + early + copies;
}

/** Texts that a user typed, by a reading of the file that knows nothing of the importer's order or merging. */
function typedTexts(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    let value: Record<string, unknown> | null;
    try {
      value = JSON.parse(line);
    } catch {
      return [];
    }
    const message = value?.message as { role?: string; content?: unknown } | undefined;
    if (value?.isSidechain === true || value?.isCompactSummary === true || message?.role !== "user")
      return [];
    if (typeof message.content === "string") return [message.content];
    if (!Array.isArray(message.content)) return [];
    return message.content.flatMap((block) => (block?.type === "text" ? [String(block.text)] : []));
  });
}

describe.skipIf(!here)("the transcripts", () => {
  it("are the ones that the manifest names", () => {
    expect(playable.length).toBeGreaterThan(20);
  });

  it.each(playable)(
    "$file is imported whole and in a legal order",
    ({ file, format, calls, results, notes }) => {
      const text = readFileSync(new URL(file, folder), "utf8");
      const session = importTranscript(text);
      expect(session.format).toBe(format);

      const { messages, dialect } = session;
      const played = count(session);
      expect(played.calls).toBeLessThanOrEqual(calls);
      expect(played.calls + leftOut(session)).toBeGreaterThanOrEqual(calls);
      if (!/fixture|resume|unparsable/.test(notes) && leftOut(session) === 0) {
        expect(played).toEqual({ calls, results });
      }

      const kept = messages.map(({ json }) => JSON.parse(json));
      const texts = new Set(
        kept.flatMap(({ role, content }) => {
          if (role !== "user") return [];
          return typeof content === "string"
            ? [content]
            : content.map((block: { text?: string }) => block.text);
        }),
      );
      const typed = format === "openai-chat" ? [] : typedTexts(text).filter((words) => words.trim() !== "");
      expect(typed.filter((words) => !texts.has(words))).toEqual([]);

      // Calls without a result stay open for the server to close: nothing else may be wrong.
      const bytes = messages.map(({ json }) => new Uint8Array(Buffer.from(json)));
      const items = bytes.map((raw) => ({ ...dialectOf(dialect).read(raw, "m"), bytes: raw }));
      const rules = violations(dialect, dialectOf(dialect).render(items)).map(({ rule }) => rule);
      const allowed = messages.length === 0 ? ["no-messages"] : ["call-without-result"];
      expect(rules.filter((rule) => !allowed.includes(rule))).toEqual([]);
    },
  );

  it("of the other formats are refused, not misread", () => {
    const others = manifest().filter(({ format }) => !formatNames.some((name) => name === format));
    expect(others.length).toBeGreaterThan(10);
    for (const { file } of others) {
      const text = readFileSync(new URL(file, folder), "utf8");
      expect(() => importTranscript(text), file).toThrow("no known transcript format");
    }
  });
});

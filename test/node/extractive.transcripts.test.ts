import { describe, expect, it } from "vitest";
import { count, type Played, play } from "../../bench/extractive.ts";
import { listedPaths } from "../../bench/path-recall.ts";
import { readTranscripts, transcriptsExist } from "../../bench/transcript-reader.ts";
import { readFrame } from "../../src/compaction/checkpoint.ts";
import { extractiveCheckpoint, extractiveText } from "../../src/compaction/extractive.ts";
import { filesOf } from "../../src/compaction/facts/files.ts";
import { type Facts, foldFacts } from "../../src/compaction/facts.ts";

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Sessions are played whole, on a machine that others may use too. */
const PATIENCE = { timeout: 60_000 };

describe.skipIf(!transcriptsExist())(
  "the built-in summary on the transcripts (skipped without ../shared/transcripts)",
  PATIENCE,
  () => {
    const transcripts = transcriptsExist() ? readTranscripts() : [];

    it("[C76] reads some", () => {
      expect(transcripts.length).toBeGreaterThan(18);
    });

    it.each([
      [16_000, 0.85],
      [32_000, 0.95],
      [128_000, 0.95],
    ])("[C76] at a window of %i keeps the first request, most paths, and to its caps", (window, bar) => {
      const played = transcripts.flatMap((transcript) => play(transcript, window) ?? []);
      expect(played.length).toBeGreaterThan(4);
      expect(played.filter((p) => !p.first200).map((p) => p.file)).toEqual([]);
      expect(played.filter((p) => !p.newestStated).map((p) => p.file)).toEqual([]);
      for (const p of played) {
        expect(
          p.frames.filter((tokens, at) => tokens > p.caps[at]!),
          p.file,
        ).toEqual([]);
      }
      const share = (
        kind: "named" | "used",
        part: "spanKept" | "surface",
        whole: "spanPaths" | "paths",
      ): number => sum(played.map((p: Played) => p[kind][part])) / sum(played.map((p) => p[kind][whole]));
      // reference/baseline.md: peers' summaries keep 42 to 75 % of these.
      expect(share("named", "surface", "paths")).toBeGreaterThan(bar);
      expect(share("named", "spanKept", "spanPaths")).toBeGreaterThan(bar);
      expect(share("used", "surface", "paths")).toBeGreaterThan(bar - 0.1);
      expect(Math.max(...played.map((p) => p.factsBytes))).toBeLessThanOrEqual(32_768);
    });

    it("[C76] invents no path: each one listed stands in the facts, and each of these in the span", () => {
      for (const { file, nodes } of transcripts) {
        const facts = foldFacts(undefined, nodes);
        const known = new Set(filesOf(facts.files).map(({ path }) => path));
        const listed = listedPaths(extractiveText(facts, 12_000, count));
        const unknown = listed.filter(
          (path) => !known.has(path) && ![...known].some((one) => path.endsWith(`/${one}`)),
        );
        expect(unknown, file).toEqual([]);
        const args = nodes
          .flatMap(({ message }) => message.parts.map((part) => (part.type === "call" ? part.args : "")))
          .join("\n");
        const strange = [...known].filter((path) => !args.includes(path.slice(path.lastIndexOf("/") + 1)));
        expect(strange, file).toEqual([]);
      }
    });

    it("[C45] folds a session in pieces to bounded facts whose requests, commands and errors are whole facts", () => {
      for (const { file, nodes } of transcripts) {
        let facts: Facts | undefined;
        for (let at = 0; at < nodes.length; at += 40) facts = foldFacts(facts, nodes.slice(at, at + 40));
        expect(bytes(facts), file).toBeLessThanOrEqual(32_768);
        expect(facts!.requests[0]?.seq, file).toBe(nodes.find(({ message }) => message.role === "user")?.seq);
        expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
      }
    });

    it("[C74] frames every session's whole facts within any cap, and gives the parts back", () => {
      for (const { file, nodes } of transcripts) {
        const facts = foldFacts(undefined, nodes);
        for (const cap of [256, 1_000, 7_000]) {
          const label = { by: "extractive", from: 1, to: nodes.length, messages: nodes.length };
          const framed = extractiveCheckpoint({ facts, cap, count, label });
          expect(framed.tokens, file).toBeLessThanOrEqual(cap);
          expect(readFrame(framed.text)?.label, file).toEqual(label);
        }
      }
    });
  },
);

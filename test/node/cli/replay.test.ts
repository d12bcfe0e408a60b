import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { demoSession } from "../../../cli/demo/session.ts";
import { importTranscript } from "../../../cli/import/detect.ts";
import { createOracle } from "../../../cli/oracle.ts";
import { FakeApi, type Sins } from "./fake-api.ts";
import { ccAssistant, ccUser, lines, text } from "./samples.ts";

const command = fileURLToPath(new URL("../../../cli/replay.ts", import.meta.url));
const demo = fileURLToPath(new URL("../../../cli/demo-session.jsonl", import.meta.url));
let folder = "";
let server: Server | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "replay-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function replay(...args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [command, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}

/** A fake for each session, behind a real port. */
async function serve(sins: Sins = {}): Promise<string> {
  const sessions = new Map<string, FakeApi>();
  const own = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const path = request.url ?? "";
      const id = path.split(/[/?]/)[3] ?? "";
      const api = sessions.get(id) ?? new FakeApi(createOracle("anthropic"), sins);
      sessions.set(id, api);
      const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks).toString() };
      const answer = await api.request(request.method ?? "", path, body);
      response.writeHead(answer.status).end(answer.body);
    });
  });
  server = own;
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
}

const small = lines(
  ccUser("go"),
  ccAssistant("m1", [text("hi")]),
  ccUser("and on"),
  ccAssistant("m2", [text("done")]),
);
const keys =
  "file, format, messages, steps, skipped, repaired, window, maxPressure, generation, prunes, checkpoints, tokensIn, " +
  "tokensSaved, irreducible, illegalSurfaces, overWindow, auditDrift, ms";

describe("the replay command", () => {
  it("prints one line of JSON per file with the keys that are promised, and nothing else on standard output", async () => {
    const url = await serve();
    const a = file("a.jsonl", small);
    const ended = await replay(a, demo, "--window", "16k", "--json", "--url", url);
    expect(ended.code).toBe(0);
    const rows = ended.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows.map((row) => Object.keys(row).join(", "))).toEqual([keys, keys]);
    expect(rows[0]).toMatchObject({
      file: a,
      format: "claude-code",
      messages: 4,
      steps: 2,
      skipped: 0,
      window: 16_000,
    });
    expect(rows[1]).toMatchObject({
      file: demo,
      steps: 49,
      repaired: 1,
      skipped: 2,
      overWindow: 0,
      auditDrift: 0,
    });
    expect(ended.err).toMatch(/step 49\/49/);
  });

  it("plays the demo without a file, in its small window, and ends with picture and table", async () => {
    const ended = await replay("--url", await serve());
    expect(ended.code).toBe(0);
    expect(ended.out).toMatch(/window 16,000, threshold 12,800/);
    expect(ended.out).toMatch(/│.*[▁▂▃▄▅▆▇█]/);
    expect(ended.out.match(/^▲ step/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(ended.out).toMatch(/file +messages +calls +in +pressure/);
    expect(ended.out).not.toContain(String.fromCharCode(27));
  });

  it("exits with 1, and says why, when a check fails", async () => {
    const ended = await replay(
      demo,
      "--window",
      "16k",
      "--json",
      "--url",
      await serve({ drift: true, forget: 60 }),
    );
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.out)).toMatchObject({ auditDrift: 1 });
    expect(ended.err).toContain("posted messages are not in the log");
    expect(ended.err).toContain("the audit found drift");
  });

  it("exits with 1 when the server refuses a step", async () => {
    const ended = await replay(demo, "--json", "--url", await serve({ brokenStep: 3 }));
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("POST /prepare answered 400 (bad-message)");
  });

  it("names files that it can not read or does not know, plays the others, and exits with 2", async () => {
    const broken = file("broken.jsonl", `// a note\n${small}\n{"type":"user",`);
    const unknown = file("unknown.txt", "just text");
    const missing = join(folder, "missing.jsonl");
    const ended = await replay(missing, unknown, folder, broken, "--json", "--url", await serve());
    expect(ended.code).toBe(2);
    expect(ended.out.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(ended.out)).toMatchObject({ file: broken, messages: 4, skipped: 2 });
    expect(ended.err).toContain(`${missing}: there is no such file`);
    expect(ended.err).toContain(`${unknown}: no known transcript format`);
    expect(ended.err).toContain(`${folder}: this is a directory`);
    expect(ended.err).toContain(`${broken}:1: skipped: not one JSON value`);
    expect(ended.err).toContain(`${broken}:6: skipped: not one JSON value`);
  });

  it("explains itself, and refuses arguments that it does not know, without starting anything", async () => {
    const help = await replay("--help");
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toContain("--window N");
    const wrong = await replay("--windows", "5");
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(wrong.err).toContain("--windows");
  });
});

describe("the demo session", () => {
  it("is what its script makes", async () => {
    const { readFileSync } = await import("node:fs");
    expect(readFileSync(demo, "utf8")).toBe(demoSession());
  });

  it("is a session with requests, parallel calls, long results, errors and an open call", () => {
    const session = importTranscript(demoSession());
    const all = session.messages.map(({ json }) => json);
    expect(session.messages.length).toBeGreaterThanOrEqual(120);
    expect(session.messages.filter(({ kind }) => kind === "user").length).toBeGreaterThanOrEqual(6);
    expect(session.messages.filter(({ calls }) => calls > 1).length).toBeGreaterThan(10);
    expect(all.filter((json) => json.length > 9_000).length).toBeGreaterThanOrEqual(3);
    expect(all.filter((json) => json.includes('"is_error":true')).length).toBeGreaterThan(4);
    const calls = session.messages.reduce((sum, message) => sum + message.calls, 0);
    expect(calls - session.messages.filter(({ kind }) => kind === "results").length).toBe(1);
  });
});

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type Arguments, readArguments, usage } from "./arguments.ts";
import { type Client, httpClient } from "./client.ts";
import { importTranscript } from "./import/detect.ts";
import { type Session, skippedTotal } from "./import/session.ts";
import { drawContext, number } from "./picture.ts";
import { playSession } from "./play.ts";
import { createProgress, type Progress } from "./progress.ts";
import type { PlayResult } from "./record.ts";
import { type Server, startServer } from "./server.ts";
import { drawTable, type Row } from "./table.ts";

/** The replay command: reads transcripts, plays them against a server, shows what came of it. */

const demoFile = fileURLToPath(new URL("demo-session.jsonl", import.meta.url));
const demoWindow = 16_000;
const defaultWindow = 128_000;
const shownFaults = 20;
const exits = { good: 0, failed: 1, unreadable: 2 } as const;
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** A server that is started when the first file needs it. */
interface Harbour {
  client(): Promise<Client>;
  close(): Promise<void>;
}

async function main(argv: readonly string[]): Promise<number> {
  let asked: Arguments;
  try {
    asked = readArguments(argv);
  } catch (error) {
    process.stderr.write(`replay: ${sentence(error)}\n\n${usage}`);
    return exits.unreadable;
  }
  if (asked.help) {
    process.stdout.write(usage);
    return exits.good;
  }
  const progress = createProgress(process.stderr);
  const harbour = openHarbour(asked, progress);
  closeOnSignals(harbour);
  try {
    return await playAll(asked, harbour, progress);
  } finally {
    await harbour.close();
  }
}

/** The first signal ends the server in good order, the second one at once. */
function closeOnSignals(harbour: Harbour): void {
  let signalled = false;
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (signalled) process.exit(code);
      signalled = true;
      void harbour.close().finally(() => process.exit(code));
    });
  }
}

function openHarbour({ url }: Arguments, progress: Progress): Harbour {
  let server: Promise<Server> | undefined;
  const token = process.env.PLIMSOLL_TOKEN;
  return {
    async client() {
      if (url !== undefined) return httpClient(url, token === undefined ? {} : { token });
      if (server === undefined) progress.note("starting the Worker …");
      server ??= startServer();
      return httpClient((await server).url);
    },
    async close() {
      const running = await server?.catch(() => undefined);
      await running?.stop();
    },
  };
}

async function playAll(asked: Arguments, harbour: Harbour, progress: Progress): Promise<number> {
  const rows: Row[] = [];
  let unreadable = 0;
  let failed = 0;
  for (const file of asked.files.length > 0 ? asked.files : [demoFile]) {
    const session = await readSession(file, asked, progress);
    if (session === undefined) {
      unreadable += 1;
      continue;
    }
    const row = await playFile(file, session, asked, harbour, progress);
    if (row === undefined || row.result.faults.length > 0) failed += 1;
    if (row === undefined) continue;
    rows.push(row);
    if (asked.json) process.stdout.write(`${JSON.stringify(summaryOf(file, session, row.result))}\n`);
    else show(row, session);
  }
  if (!asked.json && rows.length > 0) {
    process.stdout.write(`${drawTable(rows, paperWidth()).join("\n")}\n`);
  }
  if (failed > 0) return exits.failed;
  return unreadable > 0 ? exits.unreadable : exits.good;
}

/** The session in a file; undefined, with a word about it, when there is none. */
async function readSession(file: string, asked: Arguments, progress: Progress): Promise<Session | undefined> {
  let session: Session;
  try {
    session = importTranscript(await readFile(file, "utf8"), asked.format);
  } catch (error) {
    progress.clear();
    process.stderr.write(`replay: ${file}: ${sentence(error)}\n`);
    return undefined;
  }
  progress.clear();
  for (const { line, why } of session.broken) process.stderr.write(`${file}:${line}: skipped: ${why}\n`);
  const skipped = Object.entries(session.skipped).map(([reason, times]) => `${reason} ${times}`);
  const counts = `${session.format}, ${session.messages.length} messages`;
  process.stderr.write(`${file}: ${counts}; skipped: ${skipped.join(", ") || "nothing"}\n`);
  return session;
}

async function playFile(
  file: string,
  session: Session,
  asked: Arguments,
  harbour: Harbour,
  progress: Progress,
): Promise<Row | undefined> {
  const window = asked.window ?? (file === demoFile ? demoWindow : defaultWindow);
  const name = basename(file);
  try {
    const client = await harbour.client();
    const result = await playSession(session, client, {
      window,
      sessionId: sessionIdOf(name),
      onStep: (record, steps) => progress.step(name, record, steps, window),
    });
    progress.clear();
    for (const fault of shortened(result.faults)) process.stderr.write(`replay: ${file}: ${fault}\n`);
    return { file: name, result };
  } catch (error) {
    progress.clear();
    process.stderr.write(`replay: ${file}: ${sentence(error)}\n`);
    return undefined;
  }
}

function shortened(faults: readonly string[]): string[] {
  const more = faults.length - shownFaults;
  return more > 0 ? [...faults.slice(0, shownFaults), `and ${more} more`] : [...faults];
}

/** Unique, so that a session on a server that stays is never continued by another run. */
function sessionIdOf(name: string): string {
  const slug = name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 80);
  return `replay-${slug}-${randomUUID().slice(0, 8)}`;
}

/** The keys of a `--json` line. */
function summaryOf(file: string, session: Session, result: PlayResult) {
  return {
    file,
    format: session.format,
    messages: result.messages,
    steps: result.steps,
    skipped: skippedTotal(session),
    repaired: result.repaired,
    window: result.window,
    maxPressure: result.maxPressure,
    generation: result.generation,
    prunes: result.prunes,
    checkpoints: result.checkpoints,
    tokensIn: result.tokensIn,
    tokensSaved: result.tokensSaved,
    irreducible: result.irreducible,
    illegalSurfaces: result.illegalSurfaces,
    overWindow: result.overWindow,
    auditDrift: result.auditDrift,
    ms: result.ms,
  };
}

function show({ file, result }: Row, session: Session): void {
  const colour = process.stdout.isTTY && process.env.NO_COLOR === undefined;
  const { messages, steps, window, threshold, repaired, irreducible } = result;
  const bounds = `window ${number(window)}, threshold ${threshold === undefined ? "unknown" : number(threshold)}`;
  const lines = [
    "",
    `${file} (${session.format}): ${number(messages)} messages, ${number(steps)} requests, ${bounds}`,
    "",
    ...drawContext(result, { width: paperWidth(), colour }),
    "",
  ];
  if (repaired > 0) lines.push(`calls without a result, closed by the server: ${number(repaired)}`, "");
  if (irreducible > 0) lines.push(`steps that could not be made to fit: ${number(irreducible)}`, "");
  process.stdout.write(`${lines.join("\n")}\n`);
}

function paperWidth(): number {
  return process.stdout.columns ?? 120;
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EISDIR") return "this is a directory";
  if (code === "EACCES") return "the file may not be read";
  return error instanceof SyntaxError ? "the text is not valid JSON" : error.message;
}

process.exitCode = await main(process.argv.slice(2));

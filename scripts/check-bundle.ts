/**
 * Bundles the Worker as a deployment would, without deploying, and fails when the upload is over its limit.
 * Then starts it once and prints how long that took: a figure to watch, never a verdict, since it depends
 * on the machine.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { startServer } from "../cli/server.ts";

/** Bytes of the upload after gzip. */
const LIMIT = 1_500_000;
const OUT = "dist/worker";

function bundle(): { name: string; bytes: number; gzip: number }[] {
  rmSync(OUT, { recursive: true, force: true });
  const run = spawnSync("wrangler", ["deploy", "--dry-run", "--outdir", OUT], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (run.status !== 0) throw new Error(`the Worker does not bundle:\n${run.stdout}\n${run.stderr}`);
  const uploaded = readdirSync(OUT).filter((name) => !/\.(map|md)$/.test(name));
  return uploaded.map((name) => {
    const body = readFileSync(join(OUT, name));
    return { name, bytes: body.length, gzip: gzipSync(body, { level: 9 }).length };
  });
}

async function startup(): Promise<{ ready: number; answer: number }> {
  const began = performance.now();
  const server = await startServer();
  try {
    const ready = performance.now() - began;
    const response = await fetch(`${server.url}/healthz`);
    if (!response.ok) throw new Error(`the Worker answers ${response.status} at /healthz`);
    await response.arrayBuffer();
    return { ready, answer: performance.now() - began - ready };
  } finally {
    await server.stop();
  }
}

const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

const files = bundle();
for (const { name, bytes, gzip } of files) console.log(`${name}: ${kB(bytes)}, gzip ${kB(gzip)}`);
const total = files.reduce((sum, { gzip }) => sum + gzip, 0);
console.log(`upload: gzip ${kB(total)} of ${kB(LIMIT)}`);
if (total > LIMIT) {
  console.error("The upload is over its limit.");
  process.exitCode = 1;
} else {
  const { ready, answer } = await startup();
  console.log(`startup: ready after ${ready.toFixed(0)} ms, then an answer in ${answer.toFixed(0)} ms`);
}

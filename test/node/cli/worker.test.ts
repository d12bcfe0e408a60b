import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** The whole command with the real Worker, as `npm run demo` runs it. */

const command = fileURLToPath(new URL("../../../cli/replay.ts", import.meta.url));
const patience = 180_000;
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "worker-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(...args: string[]) {
  const child = spawn(process.execPath, [command, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: folder },
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    said.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    said.err += chunk;
  });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, said, code };
}

describe("the demo", () => {
  it("starts the Worker by itself, shows at least two compactions, ends well and leaves nothing behind", {
    timeout: patience,
  }, async () => {
    const { said, code } = start();
    expect([await code, said.err.match(/^replay: .*/m)?.[0]]).toEqual([0, undefined]);
    expect(said.out.match(/^▲ step/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(said.out).toMatch(/^demo-session\.jsonl +\d+/m);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("ends the Worker and deletes its data when it is interrupted", { timeout: patience }, async () => {
    const { child, said, code } = start();
    while (!said.err.includes("step 5/") && child.exitCode === null) await sleep(20);
    child.kill("SIGINT");
    expect(await code).toBe(130);
    expect(readdirSync(folder)).toEqual([]);
  });
});

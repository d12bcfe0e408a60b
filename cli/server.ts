import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Runs the Worker on this machine: one `wrangler dev` in a process group of its own, which never outlives this process. */

const root = fileURLToPath(new URL("..", import.meta.url));
const startTimeout = 120_000;
const stopTimeout = 10_000;

export interface ServerOptions {
  /** Directory of the database; a temporary one, deleted at the end, when absent. */
  persistTo?: string;
  /** A free one when absent. */
  port?: number;
  /** Variables of the Worker besides `DEV_OPEN`. */
  vars?: Readonly<Record<string, string>>;
}

export interface Server {
  url: string;
  port: number;
  /** Ends it in good order, and deletes what was temporary. */
  stop(): Promise<void>;
  /** Kills the whole group at once, as a power cut would. A database given by `persistTo` stays. */
  kill(): Promise<void>;
}

/** Starts the Worker and waits until it answers. @throws Error with its last words when it does not. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const scratch = await mkdtemp(join(tmpdir(), "plimsoll-"));
  const port = options.port ?? (await freePort());
  const vars = Object.entries({ DEV_OPEN: "1", ...options.vars });
  const child = spawn(
    process.execPath,
    [
      join(root, "node_modules", "wrangler", "bin", "wrangler.js"),
      "dev",
      ...["--port", String(port), "--ip", "127.0.0.1", "--inspector-port", String(await freePort())],
      ...vars.flatMap(([name, value]) => ["--var", `${name}:${value}`]),
      ...["--persist-to", options.persistTo ?? join(scratch, "state")],
      ...["--log-level", "warn", "--show-interactive-dev-session", "false"],
    ],
    { cwd: root, detached: true, stdio: ["ignore", "pipe", "pipe"], env: quietEnvironment(scratch) },
  );
  const said = lastWords(child);
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const onExit = () => {
    signalGroup(child, "SIGKILL");
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once("exit", onExit);
  const end = async (signal: NodeJS.Signals) => {
    signalGroup(child, signal);
    await Promise.race([gone, sleep(stopTimeout, undefined, { ref: false })]);
    process.removeListener("exit", onExit);
    onExit();
  };
  const url = `http://127.0.0.1:${port}`;
  if (!(await answers(url, child, said))) {
    await end("SIGKILL");
    throw new Error(`the Worker did not start:\n${said().trim() || "(it said nothing)"}`);
  }
  return { url, port, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

/** No colours, no telemetry, no network, nothing written outside of the scratch directory. */
function quietEnvironment(scratch: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    NO_COLOR: "1",
    FORCE_COLOR: "0",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_HIDE_BANNER: "true",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_LOG_PATH: join(scratch, "logs"),
    XDG_CONFIG_HOME: join(scratch, "config"),
  };
}

/** Keeps the end of what the child prints, for an error message. */
function lastWords(child: ChildProcess): () => string {
  let text = "";
  const keep = (chunk: Buffer) => {
    text = (text + chunk.toString("utf8")).slice(-4_000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => text;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone already.
  }
}

/** Whether the Worker came up. After a failed build it would wait for an edit for ever. */
async function answers(url: string, child: ChildProcess, said: () => string): Promise<boolean> {
  const deadline = performance.now() + startTimeout;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null || said().includes("Build failed")) return false;
    try {
      const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      if (response.ok) return true;
    } catch {
      // Not listening yet.
    }
    await sleep(100);
  }
  return false;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === "object") resolve(address.port);
        else reject(new Error("no free port"));
      });
    });
  });
}

/** The strict provider in a process of its own, so that neither its counting nor the agents' wait for the other. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ProviderStats } from "./provider-options.ts";

export interface ProviderProcess {
  /** Base URL of all three dialects. */
  base: string;
  stats(): Promise<ProviderStats>;
  close(): Promise<void>;
}

/** @param args as `provider-main.ts` takes them. @throws Error when it does not listen. */
export async function spawnProvider(args: readonly string[]): Promise<ProviderProcess> {
  const main = fileURLToPath(new URL("./provider-main.ts", import.meta.url));
  const paths = ["--openai-path", "/v1", "--anthropic-path", "/v1"];
  const child = spawn(process.execPath, [main, ...paths, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const onExit = () => void child.kill("SIGKILL");
  process.once("exit", onExit);
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve)),
    gone.then(() => undefined),
  ]);
  if (line === undefined) throw new Error("the provider did not start");
  const { url } = JSON.parse(line) as { url: string };
  return {
    base: `${url}/v1`,
    stats: async () => (await (await fetch(`${url}/stats`)).json()) as ProviderStats,
    async close() {
      process.removeListener("exit", onExit);
      child.kill("SIGTERM");
      await gone;
    },
  };
}

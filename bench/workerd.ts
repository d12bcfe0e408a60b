/** Starts the Worker of bench.toml in this machine's workerd and speaks to its bench routes. */
import { fileURLToPath } from "node:url";
import { unstable_startWorker } from "wrangler";

export interface BenchWorker {
  /** One bench route with its parameters; its JSON. @throws Error with what the Worker said. */
  ask<T>(path: string, parameters: Readonly<Record<string, string | number>>): Promise<T>;
  stop(): Promise<void>;
}

export async function startBenchWorker(): Promise<BenchWorker> {
  // Keeps a run without network quiet: the emulated request metadata would be fetched.
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
  // Each statement of an object would be told to a local trace collector, which costs more than the statement.
  process.env.X_LOCAL_OBSERVABILITY = "false";
  const worker = await unstable_startWorker({
    config: fileURLToPath(new URL("bench.toml", import.meta.url)),
    dev: { server: { port: 0 }, inspector: false, watch: false, logLevel: "error", persist: false },
  });
  const origin = await worker.url;
  return {
    async ask<T>(path: string, parameters: Readonly<Record<string, string | number>>): Promise<T> {
      const url = new URL(path, origin);
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, String(value));
      const response = await fetch(url);
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${text}`);
      return JSON.parse(text) as T;
    },
    stop: () => worker.dispose(),
  };
}

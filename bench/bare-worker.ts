/** The bundled Worker in a bare workerd, as a deployment runs it: without the proxies that `wrangler dev` puts in front. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name: string) => join(root, "node_modules", ".bin", name);

export interface BareWorker {
  url: string;
  stop(): void;
}

/** @param vars variables of the Worker. */
export function startBareWorker(port: number, vars: Readonly<Record<string, string>>): BareWorker {
  const home = mkdtempSync(join(tmpdir(), "plimsoll-bare-"));
  const built = spawnSync(bin("wrangler"), ["deploy", "--dry-run", "--outdir", join(home, "bundle")], {
    cwd: root,
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(`the Worker does not bundle:\n${built.stderr}`);
  mkdirSync(join(home, "data"));
  for (const name of readdirSync(join(home, "bundle"))) cpSync(join(home, "bundle", name), join(home, name));
  const file = join(home, "config.capnp");
  writeFileSync(file, configOf(home, port, vars));
  const child: ChildProcess = spawn(bin("workerd"), ["serve", "--experimental", file], { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      child.kill("SIGKILL");
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function configOf(home: string, port: number, vars: Readonly<Record<string, string>>): string {
  const modules = readdirSync(join(home, "bundle"))
    .filter((name) => /\.(js|bin)$/.test(name))
    .sort((a, b) => Number(b.endsWith(".js")) - Number(a.endsWith(".js")))
    .map((name) => `(name = "${name}", ${name.endsWith(".js") ? "esModule" : "data"} = embed "${name}")`);
  const bindings = Object.entries(vars).map(
    ([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`,
  );
  const settings = readFileSync(join(root, "wrangler.toml"), "utf8");
  const date = /compatibility_date = "([^"]+)"/.exec(settings)?.[1] ?? "";
  const flags = /compatibility_flags = (\[[^\]]*\])/.exec(settings)?.[1] ?? "[]";
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "disk", disk = (path = "${join(home, "data")}", writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [${modules.join(", ")}],
  compatibilityDate = "${date}",
  compatibilityFlags = ${flags},
  bindings = [(name = "SESSIONS", durableObjectNamespace = "SessionObject"), ${bindings.join(", ")}],
  durableObjectNamespaces = [(className = "SessionObject", uniqueKey = "sessions", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
);
`;
}

/**
 * The demo, in two acts. First a long recorded session is played through the Worker by the native API. Then an agent loop with the vendor's
 * own client runs into a small window, direct and through Plimsoll; between the two only its base URL changes.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { runSecondAct, type SecondActResult } from "./demo/second-act.ts";
import { startProvider } from "./loop/provider.ts";
import { startServer } from "./server.ts";

const window = 32_000;
const model = "strict-1";

async function secondAct(): Promise<SecondActResult> {
  const provider = await startProvider({ window });
  const vars = {
    PROVIDERS: JSON.stringify({ openai: { baseUrl: provider.openai, dialects: ["openai-chat"] } }),
    ROUTES: JSON.stringify({ [`openai/${model}`]: { window } }),
  };
  const server = await startServer({ vars });
  try {
    const colour = process.stdout.isTTY && process.env.NO_COLOR === undefined;
    return await runSecondAct({
      direct: { url: provider.openai, model },
      gateway: { url: `${server.url}/openai/v1`, model },
      window,
      paper: { width: process.stdout.columns ?? 120, colour },
    });
  } finally {
    await server.stop();
    await provider.close();
  }
}

/** Whether the act went as it is told: direct it overflows, through Plimsoll it ends well. */
function wentWell({ direct, gateway }: SecondActResult): boolean {
  return direct.died?.overflow === true && gateway?.finished === true;
}

const replay = fileURLToPath(new URL("replay.ts", import.meta.url));
const first = spawnSync(process.execPath, [replay, ...process.argv.slice(2)], { stdio: "inherit" });
if (first.status !== 0) process.exit(first.status ?? 1);
process.stdout.write("\nThe same agent, direct and through Plimsoll\n\n");
const played = await secondAct();
process.stdout.write(`${played.picture.join("\n")}\n`);
if (!wentWell(played)) process.exitCode = 1;

import { parseArgs } from "node:util";
import { type FormatName, formatNames } from "./import/session.ts";

/** What the replay command was asked to do. */
export interface Arguments {
  files: string[];
  /** Undefined: the default for the input. */
  window: number | undefined;
  format: FormatName | undefined;
  url: string | undefined;
  json: boolean;
  help: boolean;
}

export const usage = `Replays recorded agent sessions through Plimsoll, as harness and provider, and checks every answer.

  npm run replay -- FILE… [--window N] [--format F] [--url U] [--json]

  FILE        a session of Claude Code, mini-swe-agent or pi; without one, a bundled demo session
  --window N  window of the route in tokens, e.g. 32000 or 32k (128k; 16k for the demo)
  --format F  ${formatNames.join(", ")}; told from the file when absent
  --url U     a running server; without it one is started, and deleted with its data at the end.
              PLIMSOLL_TOKEN is sent as its bearer token
  --json      one line of JSON per file on standard output, no picture

Exit code: 0 all good, 1 a check failed, 2 wrong arguments or a file that can not be read.
`;

/** @throws Error with a sentence for a person. */
export function readArguments(argv: readonly string[]): Arguments {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      window: { type: "string" },
      format: { type: "string" },
      url: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return {
    files: positionals,
    window: values.window === undefined ? undefined : windowOf(values.window),
    format: values.format === undefined ? undefined : formatOf(values.format),
    url: values.url === undefined ? undefined : urlOf(values.url),
    json: values.json,
    help: values.help,
  };
}

const smallestWindow = 1_000;

function windowOf(text: string): number {
  const match = /^(\d{1,9})(k?)$/i.exec(text);
  const tokens = Number(match?.[1]) * (match?.[2] === "" ? 1 : 1_000);
  if (tokens >= smallestWindow) return tokens;
  throw new Error(`--window takes a number of tokens from ${smallestWindow} on, e.g. 32000 or 32k`);
}

function formatOf(text: string): FormatName {
  const format = formatNames.find((name) => name === text);
  if (format !== undefined) return format;
  throw new Error(`--format takes ${formatNames.join(", ")}`);
}

function urlOf(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new Error("--url takes an http or https address");
}

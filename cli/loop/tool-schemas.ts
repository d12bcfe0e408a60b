/** The tools of the loops in each client's words. */
import { toolNames } from "./task.ts";

export const toolSchema = {
  type: "object" as const,
  properties: {
    path: { type: "string" },
    task: { type: "string" },
    round: { type: "number" },
    rounds: { type: "number" },
    calls: { type: "number" },
    call: { type: "number" },
  },
  required: ["path"],
};

const about: Record<(typeof toolNames)[number], string> = {
  read_file: "Reads a file of the project.",
  run: "Runs a command in the project and answers its output.",
  grep: "Searches the project for a pattern.",
};

export const tools = toolNames.map((name) => ({ name, description: about[name] }));

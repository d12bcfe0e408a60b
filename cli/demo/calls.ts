import { numbered } from "./project.ts";
import type { Call } from "./recorder.ts";

/** The tools of the demo session, each as one call with its result. */

export const read = (path: string, text: string): Call => ({
  tool: "Read",
  input: { file_path: path },
  result: numbered(text),
});

export const run = (command: string, result: string, failed = false): Call => ({
  tool: "Bash",
  input: { command },
  result,
  failed,
});

export const search = (pattern: string, result: string): Call => ({
  tool: "Grep",
  input: { pattern, path: "." },
  result,
});

export const write = (path: string, content: string): Call => ({
  tool: "Write",
  input: { file_path: path, content },
  result: `File created: ${path}`,
});

export const edit = (path: string, before: string, after: string): Call => ({
  tool: "Edit",
  input: { file_path: path, old_string: before, new_string: after },
  result: `The file ${path} has been updated.`,
});

/** An edit that the tool refuses. */
export const failedEdit = (path: string, before: string, after: string, reason: string): Call => ({
  ...edit(path, before, after),
  result: reason,
  failed: true,
});
